"""Testbench of SHMAC's router: every port compared in every cycle."""

import functools
import random
from collections.abc import Callable, Sequence

from cyclebound.golden.noc.handshake_router import HandshakeRouterModel
from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.golden.noc.pipelined_router import PipelinedRouterModel
from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.noc.shmac_packet import (
    ADDRESS_BITS,
    DATA_BITS,
    ShmacPacket,
    ShmacPort,
)
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.noc.flits import surges
from cyclebound.tb.noc.router_tester import RouterTester, beside, places

PLACE: Tile = (1, 2)  # of the router: there is something on every side
_AWAY = {ShmacPort.NORTH: (0, 2), ShmacPort.EAST: (2, 3), ShmacPort.SOUTH: (3, 2),
         ShmacPort.WEST: (0, 0), ShmacPort.MASTER: PLACE, ShmacPort.SLAVE: PLACE}
_TAG_BITS = 3  # of a packet's data
MASTER, SLAVE = ShmacPort.MASTER, ShmacPort.SLAVE


def packet_to(entrance: int, output: int, rng: random.Random) -> ShmacPacket:
    """A well-formed packet from that input to that output of the router at `PLACE`.

    The master's is a write.

    The lowest bits of its data say by which input it comes.
    """
    response = output == MASTER or (
        output != SLAVE and (entrance == SLAVE or (entrance != MASTER and rng.random() < 0.5)))
    write = entrance == MASTER or rng.random() < 0.5
    ends = [rng.choice(list(_AWAY.values())), _AWAY[ShmacPort(output)]]
    if entrance == MASTER:
        ends[0] = PLACE
    if response:
        ends.reverse()
    return ShmacPacket(response=response, write=write, interrupt=rng.random() < 0.5,
                       sync=response and write, initiator=ends[0], target=ends[1],
                       address=rng.getrandbits(ADDRESS_BITS),
                       data=rng.getrandbits(DATA_BITS) >> _TAG_BITS << _TAG_BITS | entrance)


def any_packet(rng: random.Random) -> ShmacPacket:
    """A random packet, legal or not, whose tiles are often neighbours."""
    response, write, interrupt, sync = (rng.random() < 0.5 for _ in range(4))
    initiator, target = (rng.choice([*_AWAY.values(), (rng.randrange(16), rng.randrange(16))])
                         for _ in range(2))
    return ShmacPacket(response, write, interrupt, sync, initiator, target,
                       rng.getrandbits(ADDRESS_BITS), rng.getrandbits(DATA_BITS))


def packet_near(place: Tile, entrance: int, rng: random.Random) -> ShmacPacket:
    """A packet for a router at that place, of tiles that `beside` finds, as the input takes it."""
    ends = beside(place, rng), beside(place, rng)
    response, write, interrupt, sync = (rng.random() < 0.5 for _ in range(4))
    if entrance == MASTER:
        response, ends = False, (place, ends[1])
    if entrance == SLAVE:
        response = True
    return ShmacPacket(response, write, interrupt, sync | (response and write), *ends,
                       rng.getrandbits(ADDRESS_BITS), rng.getrandbits(DATA_BITS))


class HandshakeRouterTester(RouterTester[ShmacPacket]):
    """The router and its model, at `PLACE` or another one."""

    def __init__(self, bench: Bench, *, connected: int = 63, place: Tile = PLACE) -> None:
        self.bench = bench
        super().__init__(
            bench, self.make_model(connected, place), ports=len(ShmacPort),
            counters=("unroutable", "malformed"),
            constant={"connected": connected, "position": place[1] | place[0] << COORDINATE_BITS})

    def make_model(self, connected: int, place: Tile
                   ) -> HandshakeRouterModel | PipelinedRouterModel:
        """The model of the router."""
        return HandshakeRouterModel(position=place, connected=connected,
                                    slave_acknowledge=self.bench.parameters["slave_acknowledge"])


def _noted(handed: list[ShmacPacket], output: int, packet: ShmacPacket) -> None:
    handed.append(packet)


async def _ask(tester: HandshakeRouterTester) -> None:
    """The master asks for something, so that it waits for a response."""
    tester.senders[MASTER].waiting.append(ShmacPacket(initiator=PLACE, target=_AWAY[
        ShmacPort.EAST], data=MASTER))
    await tester.finish()
    assert tester.model.outstanding


async def ways_alone(tester: HandshakeRouterTester) -> None:
    """One packet in an idle router, from every input to every output; and a local fetch."""
    bench = tester.bench
    bench.declare("hop", contenders=1)
    for entrance in ShmacPort:
        for output in ShmacPort:
            if output == entrance or (entrance, output) in ((SLAVE, MASTER), (MASTER, SLAVE)):
                continue
            if output == MASTER:
                await _ask(tester)
            tester.senders[entrance].waiting.append(packet_to(entrance, output, bench.rng))
            await tester.finish()
    assert tester.model.malformed == tester.model.unroutable == 0
    for entrance, response in ((MASTER, False), (SLAVE, True)):
        tester.senders[entrance].waiting.append(ShmacPacket(
            response=response, initiator=PLACE, target=PLACE, data=entrance))
        await tester.finish()


async def contend(tester_of: Callable[[Bench], HandshakeRouterTester], bench: Bench) -> None:
    """2, 3, ... inputs ask for one output in the same cycle, and then without a pause; the victim
    was served last."""
    rng = bench.rng
    for output in (ShmacPort.NORTH, ShmacPort.EAST, ShmacPort.SOUTH, ShmacPort.WEST, SLAVE):
        others = [port for port in ShmacPort if port != output and (
            output != SLAVE or port != SLAVE)]
        for contenders in range(1, len(others) + 1):
            for victim in (MASTER, rng.choice(others)):
                rivals = rng.sample([port for port in others if port != victim], contenders - 1)
                await _contend(tester_of(bench), victim, rivals, output)


async def _contend(tester: HandshakeRouterTester, victim: int, rivals: Sequence[int], output: int
                   ) -> None:
    bench = tester.bench
    kinds = ["hop", "accept"] if type(tester) is HandshakeRouterTester else ["hop"]
    for what in kinds:
        bench.undeclare(what)
    await bench.reset()
    tester.senders[victim].waiting.append(packet_to(victim, output, bench.rng))
    await tester.finish()
    for what in kinds:
        bench.declare(what, contenders=len(rivals) + 1)
    for who, packets in ((victim, 3), *((who, 4) for who in rivals)):
        tester.senders[who].waiting.extend(packet_to(who, output, bench.rng)
                                           for _ in range(packets))
    await tester.finish()


async def at_random(tester_of: Callable[..., HandshakeRouterTester], bench: Bench) -> None:
    """Packets of all kinds between all ports, well-formed or not, with stalls on every stream."""
    rng = bench.rng
    seen = {"unroutable": 0, "malformed": 0, "handed": 0}
    for nonsense, load, flow, busy in ((0.0, 1.0, 1.0, 0.0), (0.1, 0.5, 0.9, 0.3),
                                       (0.5, 0.3, 0.5, 0.8), (1.0, 1.0, 1.0, 0.0)):
        tester = tester_of(bench, connected=63 if nonsense < 1 else rng.randrange(1, 63))
        handed: list[ShmacPacket] = []
        tester.handed = functools.partial(_noted, handed)
        await bench.restart()
        sent = 0
        for entrance, sender in zip(ShmacPort, tester.senders, strict=True):
            for _ in range(40):
                output = rng.choice([port for port in ShmacPort if port != entrance])
                packet = packet_to(entrance, output, rng)
                if rng.random() < nonsense:
                    packet = any_packet(rng)
                elif entrance == MASTER and rng.random() < 0.4:
                    packet = ShmacPacket(initiator=PLACE, target=_AWAY[output])
                sender.waiting.append(packet)
                sent += 1
        while not all(sender.done for sender in tester.senders):
            await tester.cycle([rng.random() < flow for _ in ShmacPort],
                               [rng.random() < load for _ in ShmacPort], busy=rng.random() < busy)
        await tester.finish()
        dropped = tester.model.unroutable + tester.model.malformed
        assert len(handed) + dropped == sent, f"{sent - len(handed) - dropped} packets are lost"
        seen = {"unroutable": seen["unroutable"] + tester.model.unroutable,
                "malformed": seen["malformed"] + tester.model.malformed,
                "handed": seen["handed"] + len(handed)}
    assert all(seen.values()), f"not everything was seen: {seen}"


async def to_one_output(tester_of: Callable[..., HandshakeRouterTester], bench: Bench) -> None:
    """All inputs send to one output now and then, and it stalls: to each output in turn. So an
    arbiter finds any of its inputs waiting after any that was served last."""
    rng = bench.rng
    for output in ShmacPort:
        if output == MASTER:
            continue  # it takes what its own requests are answered with
        tester = tester_of(bench)
        await bench.reset()
        for entrance, sender in zip(ShmacPort, tester.senders, strict=True):
            if entrance != output:
                sender.waiting.extend(packet_to(entrance, output, rng) for _ in range(12))
        coming = surges(rng, len(ShmacPort))
        while not all(sender.done for sender in tester.senders):
            await tester.cycle([rng.random() < 0.8 for _ in ShmacPort], next(coming))
        await tester.finish()
        assert tester.model.malformed == tester.model.unroutable == 0


async def at_places(tester_of: Callable[..., HandshakeRouterTester], bench: Bench) -> None:
    """Packets between tiles beside the router's, at any place of the greatest grid."""
    for place in places(bench.rng):
        tester = tester_of(bench, place=place)
        await bench.reset()
        for entrance, sender in zip(ShmacPort, tester.senders, strict=True):
            sender.waiting.extend(packet_near(place, entrance, bench.rng) for _ in range(24))
        await tester.finish()


@testbench
async def every_way_alone(bench: Bench) -> None:
    await ways_alone(HandshakeRouterTester(bench))


@testbench
async def all_contend(bench: Bench) -> None:
    await contend(HandshakeRouterTester, bench)


@testbench
async def crowds(bench: Bench) -> None:
    await to_one_output(HandshakeRouterTester, bench)


@testbench
async def random_traffic(bench: Bench) -> None:
    await at_random(HandshakeRouterTester, bench)


@testbench
async def anywhere(bench: Bench) -> None:
    await at_places(HandshakeRouterTester, bench)


reset_in_mid_run = interrupted(random_traffic, last=300, brief=True, then=every_way_alone)
