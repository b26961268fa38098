"""Many random kernels on the compute unit."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.compute_unit import play


@testbench
async def a_thousand_kernels(bench: Bench) -> None:
    await play(bench, range(1000, 2000))
