"""Long runs of the output-stationary array whose folds overlap, on its harness."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import large_product, overlapped_sweep


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128, and all layers of a public simulator."""
    sweep = overlapped_sweep(bench)
    await sweep.random(60, 128)
    await sweep.public_simulator()


@testbench
async def overlap_pays(bench: Bench) -> None:
    """A large product keeps nearly all PEs busy."""
    await large_product(overlapped_sweep(bench))
