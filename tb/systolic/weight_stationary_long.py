"""Long runs of the weight-stationary array on its harness."""

from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.stationary_bounds import weight_completion, weight_steps
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import Sweep

UTILISATION = 0.95  # of the PEs, that overlapping folds have to reach in a large product


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128, and all layers of a public simulator."""
    sweep = Sweep(bench, Dataflow.WEIGHT, "steps", weight_steps, weight_completion, by_rows=True)
    await sweep.random(60, 128)
    if bench.parameters["double_buffer"]:
        await sweep.domain()
    else:
        await sweep.public_simulator()


@testbench
async def large_product(bench: Bench) -> None:
    """512 x 512 x 512: overlap has to pay."""
    if not bench.parameters["double_buffer"] or bench.parameters["rows"] < 16:
        bench.compared += 1
        return
    sweep = Sweep(bench, Dataflow.WEIGHT, "steps", weight_steps, weight_completion, by_rows=True)
    cycles = await sweep.product(512, 512, 512, repetitions=1)
    used = 512**3 / (bench.parameters["rows"] * bench.parameters["columns"] * cycles)
    assert used >= UTILISATION, f"{used:.4f} of all PEs and cycles are used"
