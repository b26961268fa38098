"""Testbench of the router of one of SHMAC's two networks: every port compared in every cycle."""

import functools
import random
from collections.abc import Sequence

from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.golden.noc.routes import Port, Tile
from cyclebound.golden.shmac.address_map import LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS, STROBE_BITS
from cyclebound.golden.shmac.packet import Packet, RequestPacket, ResponsePacket
from cyclebound.golden.shmac.router import RouterModel, reach
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.noc.router_tester import RouterTester, beside, places

__all__ = ["AWAY", "PLACE", "ShmacChannelTester", "leading", "packet_to"]

PLACE: Tile = (1, 2)  # of the router: there is something on every side
AWAY = {Port.NORTH: (0, 2), Port.EAST: (2, 3), Port.SOUTH: (3, 2), Port.WEST: (0, 0),
        Port.LOCAL: PLACE}
_TAG_BITS = 3  # of a packet's data, the lowest: the input by which it comes


def packet_to(channel: str, there: Tile, tag: int, rng: random.Random) -> Packet:
    """A packet of a channel, to that tile."""
    elsewhere = rng.choice(list(AWAY.values()))
    data = rng.getrandbits(DATA_BITS) >> _TAG_BITS << _TAG_BITS | tag
    write, error, sync = (rng.random() < 0.5 for _ in range(3))
    if channel == "response":
        return ResponsePacket(write=write, error=error, initiator=there, target=elsewhere,
                              data=data)
    return RequestPacket(write=write, sync=sync, initiator=elsewhere, target=there, data=data,
                         address=rng.getrandbits(LOCAL_BITS),
                         strobes=rng.getrandbits(STROBE_BITS))


def leading(output: int) -> list[Port]:
    """The inputs whose packets may leave by that output."""
    return [port for port in Port if reach(port) >> output & 1]


class ShmacChannelTester(RouterTester[Packet]):
    """The router and its model, at `PLACE` or another one."""

    def __init__(self, bench: Bench, *, connected: int = 31, place: Tile = PLACE) -> None:
        self.channel: str = bench.parameters["channel"]
        super().__init__(
            bench, RouterModel(position=place, connected=connected), ports=len(Port),
            counters=("unroutable",),
            constant={"connected": connected, "position": place[1] | place[0] << COORDINATE_BITS})

    def send(self, entrance: int, output: int) -> None:
        """A packet from that input to that output."""
        self.senders[entrance].waiting.append(
            packet_to(self.channel, AWAY[Port(output)], entrance, self.bench.rng))


@testbench
async def every_way_alone(bench: Bench) -> None:
    """One packet in an idle router, from every input to every output that it may leave by."""
    bench.declare("hop", contenders=1)
    tester = ShmacChannelTester(bench)
    for output in Port:
        for entrance in leading(output):
            tester.send(entrance, output)
            await tester.finish()
    assert tester.model.unroutable == 0


@testbench
async def all_contend(bench: Bench) -> None:
    """2, 3, ... inputs ask for one output in the same cycle, and then without a pause; the victim
    was served last."""
    rng = bench.rng
    for output in Port:
        inputs = leading(output)
        for contenders in range(1, len(inputs) + 1):
            for victim in (Port.LOCAL, rng.choice(inputs)):
                rivals = rng.sample([port for port in inputs if port != victim], contenders - 1)
                await _contend(bench, victim, rivals, output)


async def _contend(bench: Bench, victim: int, rivals: Sequence[int], output: int) -> None:
    bench.undeclare("hop")
    await bench.reset()
    tester = ShmacChannelTester(bench)
    tester.send(victim, output)
    await tester.finish()
    bench.declare("hop", contenders=len(rivals) + 1)
    for who, packets in ((victim, 3), *((who, 4) for who in rivals)):
        for _ in range(packets):
            tester.send(who, output)
    await tester.finish()


def _noted(handed: list[Packet], output: int, packet: Packet) -> None:
    handed.append(packet)


@testbench
async def random_traffic(bench: Bench) -> None:
    """Packets between all ports, some of which lead nowhere, with stalls on every stream."""
    rng = bench.rng
    lost = 0
    for nonsense, load, flow in ((0.0, 1.0, 1.0), (0.1, 0.5, 0.9), (0.5, 0.3, 0.5),
                                 (0.0, 1.0, 0.4), (1.0, 1.0, 1.0)):
        bench.undeclare("hop")
        await bench.restart()
        tester = ShmacChannelTester(bench, connected=31 if nonsense < 1 else rng.randrange(1, 31))
        handed: list[Packet] = []
        tester.handed = functools.partial(_noted, handed)
        sent = 0
        for entrance, sender in zip(Port, tester.senders, strict=True):
            for _ in range(60):
                good = [there for output, there in AWAY.items() if reach(entrance) >> output & 1]
                there = (rng.choice([*AWAY.values(), (rng.randrange(16), rng.randrange(16))])
                         if rng.random() < nonsense else rng.choice(good))
                sender.waiting.append(packet_to(tester.channel, there, entrance, rng))
                sent += 1
        while not all(sender.done for sender in tester.senders):
            await tester.cycle([rng.random() < flow for _ in Port],
                               [rng.random() < load for _ in Port])
        await tester.finish()
        dropped = tester.model.unroutable
        assert len(handed) + dropped == sent, f"{sent - len(handed) - dropped} packets are lost"
        assert (dropped == 0) == (nonsense == 0)
        lost += dropped
    assert lost, "nothing was dropped"


@testbench
async def anywhere(bench: Bench) -> None:
    """Packets to tiles beside the router's, at any place of the greatest grid."""
    bench.undeclare("hop")
    for place in places(bench.rng):
        tester = ShmacChannelTester(bench, place=place)
        await bench.reset()
        for entrance, sender in zip(Port, tester.senders, strict=True):
            sender.waiting.extend(packet_to(tester.channel, beside(place, bench.rng), entrance,
                                            bench.rng) for _ in range(24))
        await tester.finish()


reset_in_mid_run = interrupted(random_traffic, last=300, brief=True, then=every_way_alone)
