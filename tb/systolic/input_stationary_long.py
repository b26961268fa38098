"""Long runs of the input-stationary array on its harness."""

from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.stationary_bounds import input_completion, input_steps
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import Sweep


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128, and all layers of a public simulator."""
    sweep = Sweep(bench, Dataflow.INPUT, "steps", input_steps, input_completion, by_rows=True)
    await sweep.random(60, 128)
    if bench.parameters["double_buffer"]:
        await sweep.domain()
    else:
        await sweep.public_simulator()
