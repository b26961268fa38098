"""Worst-case traversal of a mesh in which all packets have as many flits: by counting them.

For what `golden.noc.traversal` is for, with routes whose channel dependencies have no cycle, and
packets of F flits each. It is the closer one for packets that fit a FIFO, of which several are in
each: that one lets each of them be unlucky by itself; this one knows that they share what is
in front of them.

Derivation. FIFO(c) is the one that channel c feeds, d its depth. Z(c, n, o) is the most that n
flits take that leave FIFO(c) one after the other, from when the one before them left, if all are
there; the last of them is number o of its packet. They hold k headers, which follow from n and o.

*One channel on.* Let all that leaves FIFO(c) go to channel c_2, which N inputs use. For each
header, one packet of each other input goes first at most; c_2 is never idle while a header waits,
and flits of a packet follow each other. So n flits of FIFO(c) are among

    M = n + k (N - 1) F

flits of c_2, which take a cycle each, unless FIFO(c_2) stops them. Between two heads there are
d + 1 places, so that the last of the M leaves one cycle after the one that is d + 1 before it on
c_2 at the earliest; and since the flit that is d + 1 before the *first* of them, and its
predecessors, had left FIFO(c_2) when all this began, M flits leave FIFO(c_2) meanwhile. The last
of those is number o - d - 1 of its packet, modulo F, since all are of one length:

    Z(c, n, o) = max(M, Z(c_2, M, (o - d - 1) mod F)), and M if c_2 leaves the network

If FIFO(c_2) is not full in the beginning, or runs empty meanwhile, only parts of these flits count,
with a gap of d flits between two parts at least. M, and so Z, of a whole is at least that of its
parts and of the gap (the headers of the parts are among the whole's, and their parts of c_2 among
the whole's there); what a flit needs to get from one head to the next is delta + 1, and d is no
less.

*Several channels on.* Then the packets of FIFO(c) are taken one by one, each at its worst: its own
flits and a packet of each other input of *its* channel. At its start, that channel may be within a
packet of another input, which is that input's one; fewer flits, and no more headers, than of a
whole one.

*The bound.* A header that is taken into FIFO(in) has at most d - 1 flits before it, and the one
before these has left: it leaves Z(in, d, 0) - 1 cycles later at the latest. From c to the
next channel, there are d flits before it: Z(c, d + 1, 0) - 1 cycles from grant to grant. In a
FIFO in which not even a whole packet ever stops (Z = F), these are delta and delta + 1. From the
last grant on, a flit is delivered in each cycle, the first in the next one:

    in + sum of the channels + F + 1
"""

from collections.abc import Mapping
from itertools import pairwise

from cyclebound.golden.noc.deadlock import find_deadlock
from cyclebound.golden.noc.routes import Channel, Mesh, Route, channels, check_route

__all__ = ["AlikeTraversal"]


class AlikeTraversal:
    """The bound for each of some routes against all the others, each sending without a pause.

    Parameters
    ----------
    mesh : Mesh
        Rows and columns.
    routes : mapping of str to Route
        By stream.
    flits : int
        Of every packet.
    delta, depth : int
        Of the routers.

    Raises `ValueError` for a bad route, and for routes whose channel dependencies have a cycle.
    """

    def __init__(self, mesh: Mesh, routes: Mapping[str, Route], *, flits: int, delta: int,
                 depth: int) -> None:
        for route in routes.values():
            check_route(mesh, route)
        ring = find_deadlock(routes)
        if ring is not None:
            raise ValueError(f"channel dependencies must have no cycle, but {ring}")
        self._flits, self._delta, self._depth = flits, delta, depth
        self._paths = {name: channels(route) for name, route in routes.items()}
        self._next: dict[Channel, set[Channel]] = {}    # by channel: those after its FIFO,
        self._inputs: dict[Channel, set[Channel]] = {}  # and those before it
        for path in self._paths.values():
            for before, channel in pairwise(path):
                self._next.setdefault(before, set()).add(channel)
                self._inputs.setdefault(channel, set()).add(before)
        self._known: dict[tuple[Channel, int, int, Channel | None], int] = {}

    def _time(self, channel: Channel, count: int, number: int,
              last: Channel | None = None) -> int:
        """Z: cycles in which ``count`` flits leave FIFO(channel), the last of them with ``number``
        in its packet, and by channel ``last``, if that is known."""
        key = channel, count, number, last
        if key not in self._known:
            self._known[key] = self._slowest(*key)
        return self._known[key]

    def _slowest(self, channel: Channel, count: int, number: int, last: Channel | None) -> int:
        following, flits = self._next.get(channel, set()), self._flits
        if not following:
            return count
        whole, begun = divmod(count - number - 1, flits)  # packets before the last, and flits of
        then = following if last is None else {last}       # the oldest, which has begun
        if len(following) == 1 or whole < 0:
            return max(self._onward(after, count, whole + 1, number) for after in then)
        return (max(self._onward(after, begun, 0, flits - 1) for after in following) * (begun > 0)
                + max(self._onward(after, flits, 1, flits - 1) for after in following) * whole
                + max(self._onward(after, number + 1, 1, number) for after in then))

    def _onward(self, channel: Channel, count: int, headers: int, number: int) -> int:
        """Delay if all of the flits go to this channel."""
        among = count + headers * (len(self._inputs[channel]) - 1) * self._flits
        return max(among, self._time(channel, among, (number - self._depth - 1) % self._flits))

    def _passes(self, channel: Channel, following: Channel, before: int, unstopped: int) -> int:
        """Cycles until a header leaves FIFO(channel), with at most ``before`` flits before it."""
        if self._time(channel, self._flits, self._flits - 1) == self._flits:
            return unstopped
        return max(unstopped, self._time(channel, before + 1, 0, following) - 1)

    def heads(self, name: str) -> list[int]:
        """A header's cycles in each FIFO on its path, from when it left the one before.

        In the first one, from when it was taken there. Raises `ValueError` for an unknown stream.
        """
        if name not in self._paths:
            raise ValueError(f"stream must be one of {', '.join(self._paths)}, not {name!r}")
        (first_channel, first), *links = pairwise(self._paths[name])
        return [self._passes(first_channel, first, self._depth - 1, self._delta),
                *(self._passes(*link, self._depth, self._delta + 1) for link in links)]

    def bound(self, name: str) -> int:
        """Cycles from a header's acceptance at its source to its last flit's delivery.

        Both included; all senders offer flits back to back, all receivers are ready. Raises
        `ValueError` for an unknown stream.
        """
        return sum(self.heads(name)) + self._flits + 1
