"""Long runs of the input-stationary array, on its harness."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import input_sweep


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128, and all layers of a public simulator."""
    sweep = input_sweep(bench)
    await sweep.random(60, 128)
    await sweep.public_simulator()
