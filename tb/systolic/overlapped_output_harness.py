"""Harness testbench of the array whose folds overlap: traffic and measurement in hardware."""

import itertools

from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.overlapped_output import overlapped_completion, overlapped_macs
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import ALWAYS, Sweep, measure

_PRODUCTS = 24


def sweep_of(bench: Bench) -> Sweep:
    """Products to their bounds."""
    return Sweep(bench, Dataflow.OUTPUT, "macs", overlapped_macs, overlapped_completion,
                 by_rows=False)


async def one_fold(bench: Bench) -> None:
    """Products that fit the array: Eq. 5.5, as in any output-stationary array."""
    sweep, size = sweep_of(bench), {"m": bench.parameters["rows"], "n": bench.parameters["columns"]}
    for k in (1, 2, 9, 40):
        cycles = await sweep.product(**size, k=k)
        bench.observe_counted("fold", cycles, 2, **size, k=k)


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; without one, the layers of a public simulator, to its cycle."""
    await sweep_of(bench).domain()
    await one_fold(bench)


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """A product is offered while the one before is computed; all checksums are right."""
    for steps, folds in itertools.product((1, 2, bench.parameters["rows"], 40), (1, 2, 7)):
        await measure(bench, checks=_PRODUCTS * folds, steps=steps, folds=folds,
                      repetitions=_PRODUCTS, offers=ALWAYS, sink=ALWAYS)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    for offers, sink, folds in itertools.product((50, 200, ALWAYS), (20, 150, ALWAYS), (1, 3)):
        for steps in (1, bench.rng.randint(2, 9), 30):
            await measure(bench, checks=_PRODUCTS * folds, steps=steps, folds=folds,
                          repetitions=_PRODUCTS, offers=offers, sink=sink)
