"""Packets of SHMAC's network, followed from station to station.

Ref: SHMAC thesis, 5.3 (Figure 5.7), 6.2.5. The tracker only watches the streams of the routers, so
that it follows packets of a model as those of hardware. No packet has a number: those from one tile
to another take one way, through queues, and so stay in the order in which they came.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from cyclebound.golden.noc.routes import Port, Tile
from cyclebound.golden.shmac.address_map import tile_base
from cyclebound.golden.shmac.packet import Packet, RequestPacket, ResponsePacket

__all__ = ["ENTRY", "TYPES", "Choice", "Leg", "Sight", "Station", "Track", "Tracker"]

ENTRY = len(Port)
"""Of the streams at a router, beside those out of its ports: what its own tile sends into it."""

TYPES = ("read", "write", "ll", "sc", "interrupt")
"""Of requests. A fetch is a read like others."""

_CROSSING = 3  # cycles from one router's taking a packet to its offering it, without any wait
_STEP = {Port.NORTH: (-1, 0), Port.EAST: (0, 1), Port.SOUTH: (1, 0), Port.WEST: (0, -1)}


class Sight(NamedTuple):
    """A packet on offer in a cycle.

    Attributes
    ----------
    cycle : int
    tile : (row, column)
        Whose router.
    place : int
        The port that it leaves by, or `ENTRY`.
    packet : RequestPacket or ResponsePacket
    taken : bool
        The other side takes it in this cycle.
    """

    cycle: int
    tile: Tile
    place: int
    packet: Packet
    taken: bool


class Station(NamedTuple):
    """Where a packet was on offer: in which cycle first, and in which it was taken."""

    tile: Tile
    place: int
    offered: int
    taken: int


@dataclass
class Leg:
    """A packet on one of the two networks.

    Attributes
    ----------
    stations : list of Station
        The first is `ENTRY`, the last, once it has arrived, `Port.LOCAL` of the other tile.
    """

    stations: list[Station] = field(default_factory=list)

    @property
    def arrived(self) -> bool:
        """Whether it has left the network."""
        return self.stations[-1].place == Port.LOCAL

    @property
    def waits(self) -> list[int]:
        """Of each station, the cycles that it took longer than in an idle network."""
        first, *others = self.stations
        waits, before = [first.taken - first.offered], first.taken
        for station in others:
            waits.append(station.taken - before - _CROSSING)
            before = station.taken
        return waits


@dataclass
class Track:
    """A request, and its response, if it has one.

    Attributes
    ----------
    request : RequestPacket
    there, back : Leg, Leg or None
        The ways of both.
    response : ResponsePacket or None
    """

    request: RequestPacket
    there: Leg = field(default_factory=Leg)
    back: Leg | None = None
    response: ResponsePacket | None = None

    @property
    def type(self) -> str:
        """One of `TYPES`."""
        request = self.request
        if request.sync:
            return "sc" if request.write else "ll"
        if request.write:
            return "interrupt" if request.interrupt else "write"
        return "read"

    @property
    def address(self) -> int:
        """Of its word, as cores see it."""
        return tile_base(*self.request.target) + self.request.address

    @property
    def ended(self) -> bool:
        """Whether its master has the response; without one, whether it is at its slave."""
        if self.back is None:
            return self.there.arrived and not self.request.answered
        return self.back.arrived

    @property
    def begun(self) -> int:
        """The first cycle in which its master offers it."""
        return self.there.stations[0].offered

    @property
    def latency(self) -> int:
        """Cycles from then to the one in which it has `ended`, both included; of a plain write up
        to where its slave takes it."""
        ended = self.back if self.back is not None and self.request.answered else self.there
        return ended.stations[-1].taken - self.begun + 1

    @property
    def waited(self) -> int:
        """How many of these it waited for other packets, or for a slave that had no time."""
        legs = [self.there, *([self.back] if self.back and self.request.answered else [])]
        return sum(sum(leg.waits) for leg in legs)


@dataclass(frozen=True)
class Choice:
    """Which requests are kept: those that have all of this.

    Attributes
    ----------
    source, target : (row, column) or None
        The tile whose core asks, and the one that answers; None: any.
    addresses : range or None
        Of words, as cores see them.
    types : frozenset of str
        Of `TYPES`; empty: all.
    """

    source: Tile | None = None
    target: Tile | None = None
    addresses: range | None = None
    types: frozenset[str] = frozenset()

    def has(self, track: Track) -> bool:
        """Whether that is one of them."""
        return (self.source in (None, track.request.initiator)
                and self.target in (None, track.request.target)
                and (self.addresses is None or track.address in self.addresses)
                and (not self.types or track.type in self.types))


class Tracker:
    """Follows all packets, and keeps the chosen ones.

    Parameters
    ----------
    choices : iterable of Choice
        A request is kept if it is in one of them.
    most : int
        Of requests that are kept: the first ones.

    Attributes
    ----------
    tracks : list of Track
        In the order in which they entered the network.
    left_out : int
        Requests that were chosen, and came after ``most`` others.
    """

    def __init__(self, choices: Iterable[Choice] = (Choice(),), *, most: int = 100_000) -> None:
        self._choices, self._most = list(choices), most
        self.tracks: list[Track] = []
        self.left_out = 0
        self._offered: dict[tuple[type, Tile, int], int] = {}  # since when
        # by router, initiator and target, in the order in which they leave
        self._inside: dict[tuple[type, Tile, Tile, Tile], deque[tuple[Track, Leg]]] = {}
        # the latest two requests that each slave took, and when
        self._served: dict[Tile, deque[tuple[int, Track]]] = {}
        self._answered: dict[Tile, Track] = {}  # of the response that a slave has on offer

    def see(self, sight: Sight) -> None:
        """A stream in a cycle. Cycles in order, in each of them streams in any."""
        cycle, tile, place, packet, taken = sight
        stream = type(packet), tile, place
        if stream not in self._offered:
            self._offered[stream] = cycle
            if place == ENTRY and isinstance(packet, ResponsePacket):
                # slaves answer one request after the other; this one was taken before now
                self._answered[tile] = next(
                    track for landed, track in reversed(self._served[tile]) if landed < cycle)
        if not taken:
            return
        offered = self._offered[stream]
        del self._offered[stream]
        if place == ENTRY:
            track, leg = self._enters(packet, tile)
        else:
            track, leg = self._queue(packet, tile).popleft()
            assert packet == (track.response if isinstance(packet, ResponsePacket)
                              else track.request), "packets of one flow have changed their order"
        leg.stations.append(Station(tile, place, offered, cycle))
        if place == Port.LOCAL:
            if isinstance(packet, RequestPacket):
                self._served.setdefault(tile, deque(maxlen=2)).append((cycle, track))
            return
        if place != ENTRY:
            step = _STEP[Port(place)]
            tile = tile[0] + step[0], tile[1] + step[1]
        self._queue(packet, tile).append((track, leg))

    def _queue(self, packet: Packet, tile: Tile) -> deque[tuple[Track, Leg]]:
        flow = type(packet), tile, packet.initiator, packet.target
        return self._inside.setdefault(flow, deque())

    def _enters(self, packet: Packet, tile: Tile) -> tuple[Track, Leg]:
        if isinstance(packet, ResponsePacket):
            track = self._answered.pop(tile)
            assert track.request.initiator == packet.initiator, "a response to another request"
            track.response, track.back = packet, Leg()
            return track, track.back
        track = Track(packet)
        if any(choice.has(track) for choice in self._choices):
            if len(self.tracks) < self._most:
                self.tracks.append(track)
            else:
                self.left_out += 1
        return track, track.there
