"""Worst-case traversal of a mesh of wormhole routers, for static routes.

For packet-level round robin, FIFOs of finite depth, and routes whose channel dependencies have no
cycle. The paper gives no such bound: it rules concurrent packets out with TDMA.

Derivation. A packet of flow g is followed by its header. FIFO(c) is the one that channel c feeds;
"at the head" is where the header asks for the next channel. All times in cycles.

- ``exit(g, c)``: from the header at the head of FIFO(c) to the header leaving the network. From
  then on a flit leaves in each cycle: the flits follow each other without a gap, since a FIFO
  deeper than delta keeps a link busy, and whatever stopped the header has closed the gaps behind
  it. So the tail has left FIFO(c) within ``exit(g, c) + F_g - 1``.
- ``serve(h, c)``: from the cycle in which h has been granted c, and nothing else is left in
  FIFO(c), to the one in which its tail has left FIFO(c): delta + 1 to the head, then
  ``exit(h, c) + F_h - 1``. For the channel out of the network, where nobody waits: F_h.
- Let the header be at the head of FIFO(c) and ask for c'. Before it is at the head of FIFO(c'),
  other packets are served there, one after the other: those that are in FIFO(c') already, and
  those that are granted c' first. Of the latter, round robin lets each other input have one; a
  packet in progress, or in FIFO(c') as the last one, counts as its input's, unless it came from the
  same input as the header. FIFO and output register hold depth + 1 flits, so that there are
  ``ceil((depth + 1) / F_min)`` packets in them at most. So

      hop(g, c) = (ahead - 1) max serve(any, c') + max serve(same input, c')
                  + sum over other inputs of max serve(input, c') + delta + 1

  and for the channel out of the network, which has no FIFO behind it,

      hop(g, c) = sum over other inputs of the longest packet + 1.

- ``exit`` is the sum of the hops; with acyclic dependencies the recursion ends. From the cycle in
  which the header is taken into FIFO(in), with depth - 1 flits before it at most, to the cycle in
  which the last flit is delivered, both included:

      ceil((depth - 1) / F_min) max (exit + F - 1 of flows from there) + delta + exit(g, in) + F_g
"""

from collections.abc import Mapping
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
        self._exits: dict[tuple[str, Channel], int] = {}

    @cached_property
    def _users(self) -> dict[Channel, dict[Channel, list[str]]]:
        """By channel and the channel before it: the streams that go from the one to the other."""
        found: dict[Channel, dict[Channel, list[str]]] = {}
        for name, way in self._ways.items():
            for before, channel in pairwise(way):
                found.setdefault(channel, {}).setdefault(before, []).append(name)
        return found

    def _ahead(self, flits: int, names: list[str]) -> int:
        """Packets of these streams that so many flits can be parts of."""
        return -(-flits // min(self._streams[name].least for name in names))

    def _serve(self, name: str, channel: Channel) -> int:
        flits = self._streams[name].flits
        if _leaves(channel):
            return flits
        return self._delta + 1 + self._exit(name, channel) + flits - 1

    def _exit(self, name: str, channel: Channel) -> int:
        if (name, channel) not in self._exits:
            way = self._ways[name]
            following = way[way.index(channel) + 1]
            hop = self._hop(channel, following)
            self._exits[name, channel] = hop + (0 if _leaves(following)
                                                else self._exit(name, following))
        return self._exits[name, channel]

    def _hop(self, channel: Channel, following: Channel) -> int:
        users = self._users[following]
        worst = {before: max(self._serve(name, following) for name in names)
                 for before, names in users.items()}
        others = sum(cycles for before, cycles in worst.items() if before != channel)
        if _leaves(following):
            return others + 1
        ahead = self._ahead(self._depth + 1, [name for names in users.values() for name in names])
        return (ahead - 1) * max(worst.values()) + worst[channel] + others + self._delta + 1

    def bound(self, name: str) -> int:
        """Cycles from a header's acceptance at its source to its last flit's delivery.

        Both included; all senders offer flits back to back, all receivers are ready. Raises
        `ValueError` for a stream that there is not.
        """
        if name not in self._streams:
            raise ValueError(f"stream must be one of {', '.join(self._streams)}, not {name!r}")
        entry = self._ways[name][0]
        same = [other for other, way in self._ways.items() if way[0] == entry]
        ahead = self._ahead(self._depth - 1, same)
        before = max(self._exit(other, entry) + self._streams[other].flits - 1 for other in same)
        return (ahead * before + self._delta + self._exit(name, entry)
                + self._streams[name].flits)


def _leaves(channel: Channel) -> bool:
    return channel.port is Port.LOCAL and not channel.into
