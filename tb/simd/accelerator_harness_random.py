"""Random programs on the accelerator's harness, as those on the accelerator itself."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_random import play

PROGRAMS = {"small": 200, "paper": 50}  # of a job: six minutes of processor time on paper


@testbench
async def random_programs(bench: Bench) -> None:
    programs = PROGRAMS.get(bench.parameters["machine"], min(PROGRAMS.values()))
    total = await play(bench, programs)
    assert total["dram"] > 5 * programs
    assert total["scratchpad"] > programs // 5
