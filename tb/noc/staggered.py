"""Traffic that looks for the worst case of a mesh: senders that begin late, pause and idle.

A network full of packets from the first cycle on is not the worst one: a channel that was idle for
one input may be full of another's packets. Each tile has a style of its own here, and packets may
have lengths at which they just fill FIFOs. The same senders serve the model, in `play`, and the
RTL, in the mesh's testbench.
"""

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cyclebound.golden.noc.mesh import MeshModel
from cyclebound.golden.noc.packet import source_header
from cyclebound.golden.noc.routes import Mesh, Tile, ports, xy_route
from cyclebound.golden.noc.traversal import Stream
from cyclebound.golden.noc.wormhole_router import Flit, packet
from cyclebound.tb.noc.flits import Sender

__all__ = ["Network", "Planned", "PlannedSender", "play", "random_network", "random_plan",
           "stalls_of"]


@dataclass(frozen=True)
class Network:
    """A mesh, its streams, and the parameters of its routers."""

    mesh: Mesh
    streams: Mapping[str, Stream]
    delta: int
    depth: int
    stalls: int = 0


@dataclass(frozen=True)
class Planned:
    """A packet: the first cycle in which its header may be on offer, its stream and length, and
    for how many cycles its sender pauses before each flit."""

    begin: int
    stream: str
    flits: int
    pauses: tuple[int, ...] = ()


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


def play(network: Network, plan: Plan, seed: int = 0) -> list[tuple[str, int, int]]:
    """The model with this plan: by packet, its stream, when its header was taken, and when its
    last flit was delivered."""
    model = MeshModel(network.mesh, depth=network.depth, delta=network.delta, routing="source",
                      longest=max(stream.flits for stream in network.streams.values()) + 1)
    rng, senders = random.Random(seed), {}
    order: dict[Tile, deque[str]] = {tile: deque() for tile in plan}
    names = list(network.streams)
    for tile, packets in plan.items():
        senders[tile] = PlannedSender()
        for planned in packets:
            header = source_header(ports(network.streams[planned.stream].route))
            senders[tile].waiting.extend(
                packet(header, [names.index(planned.stream)] * (planned.flits - 1)))
            senders[tile].plan(planned)
            order[tile].append(planned.stream)
    taken: dict[str, deque[int]] = {name: deque() for name in names}
    coming: dict[Tile, list[Flit]] = {tile: [] for tile in network.mesh.tiles}
    left: dict[Tile, int] = {}   # cycles for which a receiver does not take what is on offer
    delivered: list[tuple[str, int, int]] = []
    now, wanted = 0, sum(map(len, plan.values()))
    while len(delivered) < wanted:
        offers = {tile: flit for tile, sender in senders.items()
                  if (flit := sender.begin()) is not None}
        ready = {}
        for tile in network.mesh.tiles:
            flit = model.delivers(tile)
            if flit is None:
                continue
            left.setdefault(tile, stalls_of(rng, network.stalls))
            ready[tile] = left[tile] == 0
            left[tile] -= 1
            if ready[tile]:
                del left[tile]
                coming[tile].append(flit)
            if ready[tile] and flit.last:
                name = names[coming[tile][1].data]
                delivered.append((name, taken[name].popleft(), now))
                coming[tile].clear()
        for tile, flit in offers.items():
            if model.ready(tile, flit):
                senders[tile].taken()
                if flit.first:
                    taken[order[tile].popleft()].append(now)
        model.step(offers, ready)
        now += 1
    return delivered
