"""Worst-case traversal of a mesh of wormhole routers, for static routes.

For packet-level round robin, FIFOs of finite depth, and routes whose channel dependencies have no
cycle. The paper gives no such bound: it rules concurrent packets out with TDMA.

Derivation. FIFO(c) is the one that channel c feeds; a packet asks for the next channel while its
header is the head of FIFO(c), and is granted it in the cycle in which the header leaves. All times
in cycles; d is the FIFOs' depth, F_g the flits of a packet of flow g.

*Flits.* Let x_i(n) be the cycle in which flit n of a packet leaves the i-th FIFO from some place on
its way, the header being flit 0. A flit behind the header leaves as soon as it may:

    x_i(n) = max(x_i(n - 1) + 1, x_(i-1)(n) + delta + 1, x_(i+1)(n - d - 1) + 1)

The last term is back-pressure: between two heads there are d + 1 places, and the cycle in which a
flit leaves, one before it can move. A flit with a negative number is one of the packet before. The
longest path through these terms tells what the header's stops do to the flits behind: going back i
FIFOs takes i cycles, and i (d + 1) flits which take a cycle each otherwise. (Going forth and back
again gains nothing, since d is at least delta + 1.) So a stop of the header costs those behind it
no more than itself, and i FIFOs further on i d cycles less, and nothing from where
i (d + 1) > F_g. In front of the header the flits are those of the packet before it.

What is known of the header from where the tail is, is taken from the same terms: a packet whose
last flit has left a FIFO has its header beyond as many FIFOs further on as cannot hold it.

*Quantities.* For a flow g and a channel c = c_1 that it uses, with c_2, c_3, ... behind it:

- ``wait(b, c)``: from being the head of FIFO(b) to being granted c. Each other input has one packet
  before; the packet from b that went before has left FIFO(b), but may still be in the way:

      wait(b, c) = sum over other inputs of max (F_h + body(h, c)) + max over b of behind(k, c)

- ``stops(g, i, j)``: what g's header costs by its stops in FIFO(c_i) to FIFO(c_j), or by the packet
  that is in front of it in FIFO(c_(j+1)); 0 beyond the last FIFO. The greatest of 0 and

      (move(g, c_i) - d) + ... + (move(g, c_m) - d)                        for m from i to j
      (move(g, c_i) - d) + ... + (move(g, c_j) - d) + backlog(c_(j+1))

- ``body(g, c)``: from the grant of c to the next that is possible are F_g cycles and these:
  stops(g, 1, floor(F_g / (d + 1))).
- ``behind(g, c)``: the same, counted from the tail having left for c. The header has been granted
  all of c_1 to c_(m+1) by then, with m = floor((F_g - 1) / (d + 1)), and F_g - m d - 1 cycles ago:
  stops(g, 1 + m, floor(F_g / (d + 1))).
- ``rest(g, c)``: cycles in which none of a packet's flits leaves FIFO(c), from when the next header
  is granted c. If it fits there, F_g <= d, it may still have to wait: wait(c, c_2) + body(g, c_2).
  If not, its header has been granted c_2 to c_(m+1), with m = floor(F_g / (d + 1)):
  stops(g, 1 + m, 1 + floor((F_g - 1) / (d + 1))).
- ``backlog(c)``: in FIFO(c) there are d flits at most, so ceil(d / F_min) packets, each of which
  costs its rest: backlog(c) = ceil(d / F_min) max rest(h, c).
- ``move(g, c)``: from the grant of c to the grant of the next channel. If no packet ever stops in
  FIFO(c) (wait and body are 0 for all of them), the header is its head delta + 1 cycles later. Else
  the d flits in front of it leave first, one in each cycle but for those of the backlog:

      move(g, c) = wait(c, c_2) + (delta + 1, or d + backlog(c))

All of these are the greatest over all lengths of a flow's packets.

*The bound.* Channels depend on those behind them only, so with acyclic dependencies the recursion
ends. The header is taken into FIFO(in) with d - 1 flits before it at most; it is the head delta
cycles later, or max(delta, d - 1 + backlog(in)), of ceil((d - 1) / F_min) packets, if they ever
stop there. From the last grant on, a flit is delivered in each cycle, the first in the next one:

    head(in) + wait(in, c_1) + sum of the moves + F_g + 1
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from cyclebound.golden.noc.deadlock import find_deadlock
from cyclebound.golden.noc.routes import Channel, Mesh, Port, Route, channels, check_route

__all__ = ["Stream", "Traversal"]


@dataclass(frozen=True)
class Stream:
    """A flow for this bound: its route, and the flits of its longest and shortest packet."""

    route: Route
    flits: int
    least_flits: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("flits", self.flits), ("least flits", self.least)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} of a stream must be an integer, not {value!r}")
            if value < 1:
                raise ValueError(f"{name} of a stream must be at least 1, not {value}")
        if self.least > self.flits:
            raise ValueError(f"least flits of a stream must be at most {self.flits}, its flits, "
                             f"not {self.least}")

    @property
    def least(self) -> int:
        return self.flits if self.least_flits is None else self.least_flits


class Traversal:
    """The bound for each of some streams against all the others, each sending without a pause.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    streams : mapping
        Streams by name; each has its route.
    delta, depth : int
        delta_R and FIFO depth of the routers.

    Raises
    ------
    ValueError
        For a route that is none, or for routes that can deadlock.
    """

    def __init__(self, mesh: Mesh, streams: Mapping[str, Stream], *, delta: int,
                 depth: int) -> None:
        for each in streams.values():
            check_route(mesh, each.route)
        ring = find_deadlock({name: each.route for name, each in streams.items()})
        if ring is not None:
            raise ValueError(f"channel dependencies must have no cycle, but {ring}")
        self._streams, self._delta, self._depth = streams, delta, depth
        self._ways = {name: channels(each.route) for name, each in streams.items()}
        self._known: dict[tuple, int] = {}

    @cached_property
    def _users(self) -> dict[Channel, dict[Channel, list[str]]]:
        """By channel and the channel before it: the streams that go from the one to the other."""
        found: dict[Channel, dict[Channel, list[str]]] = {}
        for name, way in self._ways.items():
            for before, channel in pairwise(way):
                found.setdefault(channel, {}).setdefault(before, []).append(name)
        return found

    @cached_property
    def _through(self) -> dict[Channel, list[str]]:
        """By channel: the streams that use it."""
        return {channel: sorted({name for names in self._users[channel].values()
                                 for name in names}) if channel in self._users else
                [name for name, way in self._ways.items() if way[0] == channel]
                for way in self._ways.values() for channel in way}

    def _once(self, what: Callable[..., int], *key: object) -> int:
        if (what.__name__, *key) not in self._known:
            self._known[what.__name__, *key] = what(*key)
        return self._known[what.__name__, *key]

    def _wait(self, before: Channel, channel: Channel) -> int:
        users = self._users[channel]
        others = sum(max(self._once(self._service, name, channel) for name in names)
                     for entrance, names in users.items() if entrance != before)
        return others + max(self._once(self._behind, name, channel) for name in users[before])

    def _worst(self, name: str, of: Callable[[int], int]) -> int:
        """The greatest over all lengths of a stream's packets."""
        stream = self._streams[name]
        return max(of(flits) for flits in range(stream.least, stream.flits + 1))

    def _service(self, name: str, channel: Channel) -> int:
        return self._worst(name, lambda flits: flits + self._body(name, flits, channel))

    def _stops(self, name: str, first: int, last: int) -> int:
        """What stops of the header cost, from the channel number ``first`` of its way to ``last``,
        and what is in front of it there."""
        way, worst, moved = self._ways[name], 0, 0
        for place in range(first, last + 1):
            if place >= len(way) - 1:
                return worst
            moved += self._once(self._move, name, way[place]) - self._depth
            worst = max(worst, moved)
        if last + 1 < len(way) - 1:
            worst = max(worst, moved + self._once(self._backlog, way[last + 1], self._depth))
        return worst

    def _body(self, name: str, flits: int, channel: Channel) -> int:
        place = self._ways[name].index(channel)
        return self._stops(name, place, place + flits // (self._depth + 1) - 1)

    def _behind(self, name: str, channel: Channel) -> int:
        place, step = self._ways[name].index(channel), self._depth + 1
        return self._worst(name, lambda flits: self._stops(
            name, place + (flits - 1) // step, place + flits // step - 1))

    def _whole(self, name: str, flits: int, channel: Channel) -> int:
        way = self._ways[name]
        following = way[way.index(channel) + 1]
        return self._once(self._wait, channel, following) + self._body(name, flits, following)

    def _rest(self, name: str, channel: Channel) -> int:
        place, step = self._ways[name].index(channel), self._depth + 1
        return self._worst(name, lambda flits: (
            self._whole(name, flits, channel) if flits < step else
            self._stops(name, place + flits // step, place + (flits - 1) // step)))

    def _backlog(self, channel: Channel, flits: int) -> int:
        """Cycles in which none of so many flits before a header in FIFO(channel) leaves."""
        users = self._through[channel]
        least = min(self._streams[name].least for name in users)
        return -(-flits // least) * max(self._once(self._rest, name, channel) for name in users)

    def _flows(self, channel: Channel) -> bool:
        """No flit ever stops in FIFO(channel)."""
        return not any(self._worst(name, lambda flits, name=name: self._whole(name, flits, channel))
                       for name in self._through[channel])

    def _head(self, channel: Channel, unstopped: int, flits: int) -> int:
        """Cycles until a header is the head of FIFO(channel), with so many flits before it."""
        if self._once(self._flows, channel):
            return unstopped
        return max(unstopped, flits + self._once(self._backlog, channel, flits))

    def _move(self, name: str, channel: Channel) -> int:
        way = self._ways[name]
        return (self._once(self._wait, channel, way[way.index(channel) + 1])
                + self._head(channel, self._delta + 1, self._depth))

    def bound(self, name: str) -> int:
        """Cycles from a header's acceptance at its source to its last flit's delivery.

        Both included; all senders offer flits back to back, all receivers are ready. Raises
        `ValueError` for a stream that there is not.
        """
        if name not in self._streams:
            raise ValueError(f"stream must be one of {', '.join(self._streams)}, not {name!r}")
        entry, *way = self._ways[name]
        return (self._head(entry, self._delta, self._depth - 1)
                + self._once(self._wait, entry, way[0])
                + sum(self._once(self._move, name, channel) for channel in way[:-1])
                + self._streams[name].flits + 1)


def _leaves(channel: Channel) -> bool:
    return channel.port is Port.LOCAL and not channel.into
