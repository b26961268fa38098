"""Random programs on the accelerator against a model whose ``brk`` does nothing: a testbench that
must fail."""

from cyclebound.golden.simd import work_group
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_random import PROGRAMS, play


@testbench
async def programs(bench: Bench) -> None:
    work_group._CONTROL["brk"] = lambda instruction: lambda group: None
    await play(bench, PROGRAMS)
