"""Testbench of the pipelined successor of SHMAC's router: that of the old one, with its model."""

from cyclebound.golden.noc.pipelined_router import PipelinedRouterModel
from cyclebound.golden.noc.routes import Tile
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.noc.handshake_router import (
    HandshakeRouterTester,
    at_places,
    at_random,
    contend,
    to_one_output,
    ways_alone,
)


class PipelinedTester(HandshakeRouterTester):
    """The pipelined router, its model, and senders."""

    def make_model(self, connected: int, place: Tile) -> PipelinedRouterModel:
        """The model of the router."""
        return PipelinedRouterModel(position=place, connected=connected)


@testbench
async def every_way_alone(bench: Bench) -> None:
    await ways_alone(PipelinedTester(bench))


@testbench
async def all_contend(bench: Bench) -> None:
    await contend(PipelinedTester, bench)


@testbench
async def crowds(bench: Bench) -> None:
    await to_one_output(PipelinedTester, bench)


@testbench
async def random_traffic(bench: Bench) -> None:
    await at_random(PipelinedTester, bench)


@testbench
async def anywhere(bench: Bench) -> None:
    await at_places(PipelinedTester, bench)


reset_in_mid_run = interrupted(random_traffic, last=300, brief=True, then=every_way_alone)
