"""Traffic that looks for the worst case of a mesh: senders that begin late, pause and idle.

A network full of packets from the first cycle on is not the worst one: a channel that was idle for
one input may be full of another's packets. Each tile has a style of its own here, and packets may
have lengths at which they just fill FIFOs. The same senders serve the model, in `play`, and the
RTL, in the mesh's testbench.
"""

import math
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cyclebound.golden.noc.mesh import MeshModel
from cyclebound.golden.noc.packet import CODE_BITS, source_header
from cyclebound.golden.noc.routes import Mesh, Tile, ports, xy_route
from cyclebound.golden.noc.traversal import Stream, Traversal
from cyclebound.golden.noc.traversal_alike import AlikeTraversal
from cyclebound.golden.noc.wormhole_router import Flit, packet
from cyclebound.tb.noc.flits import Sender

__all__ = ["Network", "Plan", "Planned", "PlannedSender", "play", "random_network", "random_plan",
           "stalls_of"]


@dataclass(frozen=True)
class Network:
    """A mesh, its streams, and the parameters of its routers."""

    mesh: Mesh
    streams: Mapping[str, Stream]
    delta: int
    depth: int
    stalls: int = 0

    def analyses(self, general: type[Traversal] = Traversal) -> list[Traversal | AlikeTraversal]:
        """The bounds of its streams: ``general``, and where packets have one length, senders do not
        pause and receivers do not stall, the one that counts flits. Raises `ValueError` as they do.
        """
        both: list[Traversal | AlikeTraversal] = [general(
            self.mesh, self.streams, delta=self.delta, depth=self.depth, stalls=self.stalls)]
        streams = self.streams.values()
        lengths = {length for stream in streams for length in (stream.least, stream.flits)}
        if len(lengths) == 1 and not self.stalls and not any(stream.pauses for stream in streams):
            both.append(AlikeTraversal(
                self.mesh, {name: stream.route for name, stream in self.streams.items()},
                flits=lengths.pop(), delta=self.delta, depth=self.depth))
        return both

    @property
    def allowed(self) -> dict[str, int]:
        """The bound of each stream: the lesser one."""
        analyses = self.analyses()
        return {name: min(analysis.bound(name) for analysis in analyses) for name in self.streams}


@dataclass(frozen=True)
class Planned:
    """A packet: the first cycle in which its header may be on offer, its stream and length, for
    how many cycles its sender pauses before each flit, and for how many its receiver stalls each;
    None: as `play` draws it."""

    begin: int
    stream: str
    flits: int
    pauses: tuple[int, ...] = ()
    stall: int | None = None


Plan = Mapping[Tile, Sequence[Planned]]


class PlannedSender(Sender[Flit]):
    """A sender that keeps to a plan: `begin` is called once in every cycle."""

    def __init__(self) -> None:
        super().__init__()
        self._timing: deque[tuple[int, int]] = deque()  # by flit: first cycle, pause before it
        self._now = self._paused = 0

    def plan(self, planned: Planned) -> None:
        """Set the times at which flits may go that have been, or will be, put into ``waiting``."""
        pauses = planned.pauses or (0,) * planned.flits
        self._timing.extend((planned.begin, pause) for pause in pauses)

    def begin(self, *, come: bool = True) -> Flit | None:
        if self.offer is None and self.waiting:
            first, pause = self._timing[0]
            come = come and self._now >= first and self._paused == pause
            self._paused += self._paused < pause
            if come:
                self._timing.popleft()
                self._paused = 0
        self._now += 1
        return super().begin(come=come)


def stalls_of(rng: random.Random, most: int) -> int:
    """For how long a receiver stalls one flit: often as long as it may."""
    return rng.choice((most, rng.randint(0, most))) if most else 0


def random_network(seed: int, *, alike: bool | None = None, hostile: bool = True) -> Network:
    """A small network with flows of all kinds, by XY routes.

    Packets are all ``alike`` or of mixed lengths. If not ``hostile``, senders do not pause within
    packets, and receivers do not stall.
    """
    rng = random.Random(seed)
    mesh = Mesh(*rng.choice([(2, 2), (2, 3), (3, 2), (3, 3), (1, 4), (1, 5), (2, 4)]))
    delta = rng.choice([2, 2, 2, 3, 4])
    depth = rng.randint(delta + 1, delta + 4)
    hot, share = rng.choice(mesh.tiles), rng.choice([0, 0.3, 0.7])
    routes = []
    for _ in range(rng.randint(2, 8)):
        source, target = rng.sample(mesh.tiles, 2)
        if rng.random() < share and source != hot:
            target = hot
        routes.append(xy_route(mesh, source, target))
    if rng.random() < 0.5:  # one from each tile
        routes = list({route[0]: route for route in routes}.values())
    full = depth + 1        # as many flits as there are between two heads
    lengths = [2, 3, depth, full, 2 * full, 3 * full, 2 * depth + 3, rng.randint(2, 16)]
    alike = rng.random() < 0.4 if alike is None else alike
    same, pauses = rng.choice(lengths), rng.choice([0, 0, 1, 3, 8]) if hostile else 0
    streams = {}
    for number, route in enumerate(routes):
        both = [same] if alike else rng.choices(lengths, k=rng.choice([1, 1, 2]))
        streams[str(number)] = Stream(route, max(both), min(both), pauses)
    return Network(mesh, streams, delta, depth, rng.choice([0, 0, 1, 4]) if hostile else 0)


def random_plan(network: Network, rng: random.Random, cycles: int) -> Plan:
    """Packets that begin within so many cycles, each tile in a style of its own."""
    plan: dict[Tile, list[Planned]] = {}
    for tile in network.mesh.tiles:
        names = [name for name, stream in network.streams.items() if stream.route[0] == tile]
        if not names:
            continue
        style, now = rng.choice(["saturates", "pauses", "bursts", "sends a few"]), rng.choice(
            [0, rng.randint(0, cycles // 8), rng.randint(0, cycles // 3)])
        packets = plan[tile] = []
        few = rng.randint(1, 3)
        while now < cycles and len(packets) < (few if style == "sends a few" else cycles // 8):
            name = rng.choice(names)
            stream = network.streams[name]
            flits = rng.choice((stream.least, stream.flits, rng.randint(stream.least,
                                                                        stream.flits)))
            pauses = [0] * flits
            for _ in range(rng.randint(0, stream.pauses)):
                pauses[rng.randrange(1, flits)] += 1
            packets.append(Planned(now, name, flits, tuple(pauses)))
            now += {"saturates": 1, "pauses": rng.randint(0, 3 * flits),
                    "bursts": rng.choice((1, 1, rng.randint(10, 80))),
                    "sends a few": rng.randint(0, 20)}[style]
    return plan


def play(network: Network, plan: Plan, seed: int = 0, *,
         cycles: float = math.inf) -> list[tuple[str, int, int]]:
    """The model with this plan, for so many ``cycles`` at most: by packet that was delivered, its
    stream, when its header was taken, and when its last flit was delivered."""
    model = MeshModel(network.mesh, depth=network.depth, delta=network.delta, routing="source",
                      longest=max(stream.flits for stream in network.streams.values()) + 1)
    rng, senders = random.Random(seed), {}
    order: dict[Tile, deque[int]] = {tile: deque() for tile in plan}  # numbers of its packets
    every: list[Planned] = []  # by number
    for tile, packets in plan.items():
        senders[tile] = PlannedSender()
        for planned in packets:
            # what the routers leave of a header is the packet's number, as in its other flits
            outputs, number = ports(network.streams[planned.stream].route), len(every)
            senders[tile].waiting.extend(packet(
                source_header(outputs) + (number << CODE_BITS * len(outputs)),
                [number] * (planned.flits - 1)))
            senders[tile].plan(planned)
            order[tile].append(number)
            every.append(planned)
    taken: dict[int, int] = {}
    left: dict[Tile, int] = {}   # cycles for which a receiver does not take what is on offer
    delivered: list[tuple[str, int, int]] = []
    now = 0
    while len(delivered) < len(every) and now < cycles:
        offers = {tile: flit for tile, sender in senders.items()
                  if (flit := sender.begin()) is not None}
        ready = {}
        for tile in network.mesh.tiles:
            flit = model.delivers(tile)
            if flit is None:
                continue
            planned = every[flit.data]
            left.setdefault(tile, stalls_of(rng, network.stalls) if planned.stall is None
                            else planned.stall)
            ready[tile] = left[tile] == 0
            left[tile] -= 1
            if ready[tile]:
                del left[tile]
                if flit.last:
                    delivered.append((planned.stream, taken[flit.data], now))
        for tile, flit in offers.items():
            if model.ready(tile, flit):
                senders[tile].taken()
                if flit.first:
                    taken[order[tile].popleft()] = now
        model.step(offers, ready)
        now += 1
    return delivered
