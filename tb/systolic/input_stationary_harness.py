"""Harness testbench of the input-stationary array: traffic and measurement in hardware."""

import itertools

from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.stationary_bounds import input_completion, input_steps
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import ALWAYS, Sweep, measure

STALLED = 24  # products of each measurement with stalls


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain, or the layers of a public simulator; serially, to its cycle."""
    sweep = Sweep(bench, Dataflow.INPUT, "steps", input_steps, input_completion, by_rows=True)
    serial = not bench.parameters.get("double_buffer", True)
    await (sweep.public_simulator() if serial and not bench.domain else sweep.domain())


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """The inputs of a product come while the one before is computed."""
    for steps, folds in itertools.product((1, 2, bench.parameters["rows"], 40), (1, 2, 7)):
        await measure(bench, checks=20 * folds * steps, steps=steps, folds=folds, repetitions=20,
                      offers=ALWAYS, sink=ALWAYS)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    for offers, sink, folds in itertools.product((50, 200, ALWAYS), (20, 150, ALWAYS), (1, 3)):
        for steps in (1, bench.rng.randint(2, 9), 30):
            await measure(bench, checks=STALLED * folds * steps, steps=steps, folds=folds,
                          repetitions=STALLED, offers=offers, sink=sink)
