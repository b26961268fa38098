"""Harness testbench of the weight-stationary array: traffic and measurement in hardware."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import weight_sweep


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain, or the layers of a public simulator; serially, to its cycle."""
    await weight_sweep(bench).domain()


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """A product is offered while the one before is computed."""
    await weight_sweep(bench).back_to_back()


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    await weight_sweep(bench).stalls()
