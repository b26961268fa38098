"""Long runs of the output-stationary array whose folds overlap, on its harness."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.overlapped_output_harness import one_fold, sweep_of

UTILISATION = 0.95  # of the PEs, that overlapping folds have to reach in a large product


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128, and the layers of a public simulator."""
    await sweep_of(bench).random(60, 128)
    await sweep_of(bench).domain()
    await one_fold(bench)


@testbench
async def large_product(bench: Bench) -> None:
    """512 x 512 x 512 on 16 x 16: overlap has to pay."""
    cycles = await sweep_of(bench).product(512, 512, 512, repetitions=1)
    used = 512**3 / (bench.parameters["rows"] * bench.parameters["columns"] * cycles)
    assert used >= UTILISATION, f"{used:.4f} of all PEs and cycles are used"
