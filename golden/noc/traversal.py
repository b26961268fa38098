"""Worst-case traversal of a mesh of wormhole routers, for static routes.

For packet-level round robin, FIFOs of finite depth, and routes whose channel dependencies have no
cycle; for packets of any lengths, senders that pause, and receivers that stall. The paper gives no
such bound: it rules concurrent packets out with TDMA. The derivation is in docs/noc.md, "What the
traversal bound is made of"; the names here are those used there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar, cast

from cyclebound.golden.noc.deadlock import find_deadlock
from cyclebound.golden.noc.routes import Channel, Mesh, Route, channels, check_route
from cyclebound.golden.parameters import check_integer

__all__ = ["Stream", "Traversal"]

T = TypeVar("T")
Group = frozenset[str]  # streams that enter a channel by one input: one packet, of any of them


@dataclass(frozen=True)
class Stream:
    """A flow for this bound.

    Raises `TypeError` for a number that is no integer, `ValueError` for a packet without a flit,
    pauses below 0, and a shortest packet that is longer than the longest.

    Attributes
    ----------
    route : Route
        Its tiles.
    flits, least_flits : int
        Of its longest and shortest packet; the shortest is as long as the longest by default.
    pauses : int
        Most cycles, in sum over a packet, in which its sender has begun it and offers no flit.
        Between packets a sender may pause for as long as it likes.
    """

    route: Route
    flits: int
    least_flits: int | None = None
    pauses: int = 0

    def __post_init__(self) -> None:
        check_integer("flits of a stream", self.flits, 1)
        check_integer("least flits of a stream", self.least, 1)
        check_integer("pauses of a stream", self.pauses, 0)
        if self.least > self.flits:
            raise ValueError(f"least flits of a stream must be at most {self.flits}, its flits, "
                             f"not {self.least}")

    @property
    def least(self) -> int:
        return self.flits if self.least_flits is None else self.least_flits

    @property
    def longest(self) -> int:
        """Cycles of a channel that its longest packet takes: flits and pauses."""
        return self.flits + self.pauses


@dataclass(frozen=True)
class _FlitSequence:
    """Flits that leave a FIFO one after the other.

    First ``unknown`` flits of any streams, which end with the last flit of a packet; then whole
    packets, so many of each group, in any order; then the first ``part`` flits of ``last``, if
    there is one. ``cut`` flits at the end of all this do not belong to the run. With ``mixed``,
    packets among the unknown flits may be anywhere among the whole ones.
    """

    unknown: int
    whole: tuple[tuple[Group, int], ...] = ()
    last: str | None = None
    part: int = 0
    cut: int = 0
    mixed: bool = False


class Traversal:
    """The bound for each of some streams against all the others.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    streams : mapping
        Streams by name; each has its route.
    delta, depth : int
        delta_R and FIFO depth of the routers.
    stalls : int
        Most cycles for which a receiver does not take a flit that is on offer to it.

    Raises
    ------
    ValueError
        For a route that is none, for routes that can deadlock, for FIFOs of fewer than
        ``delta`` + 1 places, or for a negative number of stalls.
    """

    def __init__(self, mesh: Mesh, streams: Mapping[str, Stream], *, delta: int,
                 depth: int, stalls: int = 0) -> None:
        for name, value, lowest in (("delta", delta, 1), ("depth", depth, delta + 1),
                                    ("stalls", stalls, 0)):
            if value < lowest:
                raise ValueError(f"{name} must be at least {lowest}, not {value}")
        for stream in streams.values():
            check_route(mesh, stream.route)
        ring = find_deadlock({name: stream.route for name, stream in streams.items()})
        if ring is not None:
            raise ValueError(f"channel dependencies must have no cycle, but {ring}")
        self._streams, self._delta, self._depth = streams, delta, depth
        self._drain = stalls + 1  # cycles that a flit takes that leaves the network
        self._paths = {name: channels(stream.route) for name, stream in streams.items()}
        self._place = {name: {channel: place for place, channel in enumerate(path)}
                       for name, path in self._paths.items()}
        self._users: dict[Channel, list[str]] = {}      # by channel: the streams that use it,
        self._onward: dict[Channel, set[Channel]] = {}  # the channels after its FIFO,
        inputs: dict[Channel, dict[Channel, set[str]]] = {}  # and the flows from each
        for name, path in self._paths.items():
            for channel in path:
                self._users.setdefault(channel, []).append(name)
            for before, channel in pairwise(path):
                self._onward.setdefault(before, set()).add(channel)
                inputs.setdefault(channel, {}).setdefault(before, set()).add(name)
        self._inputs: dict[Channel, dict[Channel, Group]] = {
            channel: {before: frozenset(names) for before, names in sources.items()}
            for channel, sources in inputs.items()}
        self._known: dict[tuple, object] = {}

    def _once(self, what: Callable[..., T], *key: object) -> T:
        if (what.__name__, *key) not in self._known:
            self._known[what.__name__, *key] = what(*key)
        return cast(T, self._known[what.__name__, *key])

    def _longest(self, group: Group) -> int:
        return max(self._streams[name].longest for name in group)

    def _others(self, before: Channel, channel: Channel) -> list[Group]:
        """Who enters a channel by its other inputs."""
        return [group for entrance, group in self._inputs[channel].items() if entrance != before]

    # How long a run takes

    def _run(self, channel: Channel, run: _FlitSequence) -> int:
        """Cycles in which a run leaves FIFO(channel), from when the flit before it left."""
        if run.last is not None and run.part <= 0:
            run = _FlitSequence(run.unknown, run.whole, None, 0, -run.part, run.mixed)
        return self._once(self._slowest, channel, run)

    def _slowest(self, channel: Channel, run: _FlitSequence) -> int:
        count = (run.unknown + run.part - run.cut
                 + sum(number * self._longest(group) for group, number in run.whole))
        if count <= 0:
            return 0
        if len(self._onward[channel]) > 1:
            return max(count, self._apart(channel, run))
        [following] = self._onward[channel]
        users = [self._streams[name] for name in self._users[channel]]
        headers = max(0, run.unknown // min(user.least for user in users)
                      + sum(number for _, number in run.whole) + (run.last is not None)
                      - run.cut // max(user.longest for user in users))
        among = dict(run.whole)
        for group in self._others(channel, following) if headers else ():
            among[group] = among.get(group, 0) + headers
            count += headers * self._longest(group)
        mixed = run.mixed or run.unknown >= min(user.least for user in users)
        return self._queued(following, count, _FlitSequence(
            run.unknown, tuple(among.items()), run.last, run.part, run.cut, mixed))

    def _queued(self, channel: Channel, count: int, run: _FlitSequence) -> int:
        """So many flits into a channel: a cycle each, or FIFO(channel) stops the last of them."""
        if channel not in self._onward:
            return count * self._drain
        lag = self._depth + 1
        cut, part = (run.cut + lag, 0) if run.last is None else (run.cut, run.part - lag)
        return max(count, self._run(channel, _FlitSequence(
            run.unknown + lag, run.whole, run.last, part, cut, run.mixed)))

    def _apart(self, channel: Channel, run: _FlitSequence) -> int:
        """Delay by packets on several routes, each taken at its worst."""
        delay = self._any(channel, run.unknown) + sum(
            number * self._packet(channel, group) for group, number in run.whole)
        if run.last is not None:
            return delay + self._begun(run.last, channel, run.part)
        return delay - self._saved(channel, run)

    def _packet(self, channel: Channel, group: Group) -> int:
        """A whole packet of a group leaves FIFO(channel)."""
        return max(self._begun(name, channel, self._streams[name].longest) for name in group)

    def _begun(self, name: str, channel: Channel, flits: int) -> int:
        """The first flits of a packet leave FIFO(channel)."""
        return self._once(self._first, name, channel, flits)

    def _first(self, name: str, channel: Channel, flits: int) -> int:
        following = self._paths[name][self._place[name][channel] + 1]
        among: dict[Group, int] = {}
        for group in self._others(channel, following):
            among[group] = among.get(group, 0) + 1
        count = flits + sum(number * self._longest(group) for group, number in among.items())
        return self._queued(following, count, _FlitSequence(0, tuple(among.items()), name, flits))

    def _rest(self, name: str, channel: Channel, first: int, flits: int) -> int:
        """So many flits of a packet leave FIFO(channel), beginning with number ``first``, which is
        not its header."""
        return self._once(self._later, name, channel, first, flits)

    def _later(self, name: str, channel: Channel, first: int, flits: int) -> int:
        path, lag = self._paths[name], self._depth + 1
        following = path[self._place[name][channel] + 1]
        if following not in self._onward:
            return flits * self._drain
        first -= lag
        if first > 0:
            return max(flits, self._rest(name, following, first, flits))
        return max(flits, self._run(following, _FlitSequence(-first, (), name, first + flits)))

    def _any(self, channel: Channel, flits: int, cut: int = 0) -> int:
        """So many flits of any streams leave FIFO(channel), but the last ``cut`` of them; they end
        with a packet's last one."""
        return self._once(self._unlucky, channel, flits, cut) if flits > cut else 0

    def _unlucky(self, channel: Channel, flits: int, cut: int) -> int:
        worst = 0
        for name in self._users[channel]:
            stream, place = self._streams[name], self._place[name][channel]
            for length in range(stream.least, min(stream.flits, flits) + 1):
                worst = max(worst, self._any(channel, flits - length, cut - length)
                            if length <= cut else self._any(channel, flits - length)
                            + self._begun(name, channel, length - cut))
            # Of longer ones, no header is met on the path: all are as the shortest of those.
            far = flits + (len(self._paths[name]) - place) * (self._depth + 1)
            least = max(stream.least, flits + 1)
            for length in range(least, min(stream.flits, max(far, least)) + 1):
                worst = max(worst, self._rest(name, channel, length - flits, flits - cut))
        return worst

    def _saved(self, channel: Channel, run: _FlitSequence) -> int:
        """The least time saved by the flits that are cut off, which do not leave."""
        if not run.cut:
            return 0
        all_unknown = self._any(channel, run.unknown)
        if not run.whole:
            return all_unknown - self._any(channel, run.unknown, run.cut)
        members = [(self._packet(channel, group), name, self._streams[name])
                   for group, _ in run.whole for name in group]
        exhausted = sum(number * min(self._streams[name].least + self._streams[name].pauses
                                     for name in group)
                        for group, number in run.whole) <= run.cut
        either = run.mixed or exhausted
        least: dict[int, int] = {}

        def saved(cut: int) -> int:
            if cut <= 0:
                return 0
            if cut not in least:
                choices = [cost - self._begun(name, channel, stream.longest - cut)
                           for cost, name, stream in members if stream.longest > cut]
                choices += [cost + saved(cut - length - stream.pauses)
                            for cost, name, stream in members
                            for length in range(stream.least, stream.flits + 1)
                            if length + stream.pauses <= cut]
                if either:
                    choices.append(all_unknown - self._any(channel, run.unknown, cut))
                    choices += [all_unknown - self._any(channel, run.unknown - gone)
                                + saved(cut - gone) for gone in range(1, min(cut, run.unknown + 1))]
                least[cut] = min(choices)
            return least[cut]
        return max(run.cut, saved(run.cut))

    # The bound

    def _flows(self, channel: Channel) -> bool:
        """No flit ever stops in FIFO(channel): no other packets join its path after it."""
        return all(len(self._inputs[following]) == 1
                   and (self._once(self._flows, following) if following in self._onward
                        else self._drain == 1)
                   for following in self._onward[channel])

    def _passes(self, name: str, channel: Channel, before: int, unstopped: int) -> int:
        """Cycles until a header leaves FIFO(channel), with at most ``before`` flits before it."""
        if self._once(self._flows, channel):
            return unstopped
        return max(unstopped, *(
            self._run(channel, _FlitSequence(flits, (), name, 1)) + before - flits - 1
            for flits in range(before + 1)))

    def heads(self, name: str) -> list[int]:
        """A header's cycles in each FIFO on its path, from when it left the one before.

        In the first one, from when it was taken there. Raises `ValueError` for an unknown stream.
        """
        if name not in self._streams:
            raise ValueError(f"stream must be one of {', '.join(self._streams)}, not {name!r}")
        first_channel, *path = self._paths[name]
        return [self._passes(name, first_channel, self._depth - 1, self._delta),
                *(self._passes(name, channel, self._depth, self._delta + 1)
                  for channel in path[:-1])]

    def bound(self, name: str) -> int:
        """Cycles from a header's acceptance at its source to its last flit's delivery.

        Both included. Raises `ValueError` for an unknown stream.
        """
        heads, stream = self.heads(name), self._streams[name]
        return sum(heads) + stream.flits * self._drain + stream.pauses + 1
