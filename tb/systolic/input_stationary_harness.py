"""Harness testbench of the input-stationary array: traffic and measurement in hardware."""

from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.stationary_bounds import input_completion, input_steps
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import (
    Sweep,
    stationary_back_to_back,
    stationary_shapes,
    stationary_stalls,
)


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain, or the layers of a public simulator; serially, to its cycle."""
    sweep = Sweep(bench, Dataflow.INPUT, "steps", input_steps, input_completion, by_rows=True)
    await stationary_shapes(sweep)


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """The inputs of a product come while the one before is computed."""
    await stationary_back_to_back(bench)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    await stationary_stalls(bench)
