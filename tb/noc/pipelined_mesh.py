"""Testbench of SHMAC's grid with pipelined routers: the same kernels, one core and several."""

from collections.abc import Callable

from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.pipelined_mesh import PipelinedMeshModel
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.handshake_mesh import (
    AROUND,
    CENTRE,
    GridTester,
    alone,
    among,
    reads,
    writes,
)

# mean CPI: of reads they stay flat up to 4 masters; writes are bound by the memory's 5 cycles
SHARED = {("read", 3): 33, ("read", 4): 33, ("read", 8): 40.5,
           ("write", 3): 15, ("write", 4): 20, ("write", 8): 50}


class PipelinedGridTester(GridTester):
    """The grid with pipelined routers, and its model."""

    model_of: Callable[..., HandshakeMeshModel] = PipelinedMeshModel


@testbench
async def single_master(bench: Bench) -> None:
    await alone(await PipelinedGridTester.filled(bench), after_write=0)


@testbench
async def masters_on_one_ram(bench: Bench) -> None:
    if CENTRE not in PipelinedGridTester(bench).tiles:
        return
    tester = await PipelinedGridTester.filled(bench)
    for (name, masters), expected in SHARED.items():
        kernel = (reads if name == "read" else writes)(CENTRE)
        cpi = await tester.cpi(dict.fromkeys(AROUND[:masters], kernel), 700)
        mean = sum(cpi.values()) / len(cpi)
        assert abs(mean - expected) < 0.02 * expected, (
            f"{name}, {masters} masters: CPI {mean:.1f}, expected {expected}")


@testbench
async def reads_among_writes(bench: Bench) -> None:
    """A pair with an input each, and one that shares an input; of two tiles, the RAM's own core is
    one of the pair."""
    if CENTRE in PipelinedGridTester(bench).tiles:
        await among(PipelinedGridTester, bench, CENTRE, (((0, 1), (1, 2)), ((0, 1), (0, 0))))
    else:
        await among(PipelinedGridTester, bench, (0, 1), (((0, 0), (0, 1)),))
