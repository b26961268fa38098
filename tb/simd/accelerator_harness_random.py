"""Random programs on the accelerator's harness, as those on the accelerator itself."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_random import play

PROGRAMS = 200  # of a job


@testbench
async def random_programs(bench: Bench) -> None:
    total = await play(bench, PROGRAMS)
    assert total["dram"] > 5 * PROGRAMS
    assert total["scratchpad"] > PROGRAMS // 5
