"""Harness testbench of the output-stationary array: traffic and measurement in hardware."""

import itertools

from cyclebound.golden.systolic.bounds import completion, eq5_6
from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import ALWAYS, Sweep, expect, measure

CYCLES = 16_000  # of each measurement without stalls, about
FOLDS = (1, 2, 7)
STALLED = 24     # products of each measurement with stalls


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """Operands always on offer, a sink that is always ready: every product takes its bound."""
    rows, columns = bench.parameters["rows"], bench.parameters["columns"]
    for k, folds in itertools.product((1, 2, 3, rows + columns, 40), FOLDS):
        shape = {"m": rows * folds, "k": k, "n": columns}
        macs = eq5_6(rows=rows, columns=columns, **shape)
        product = completion(rows=rows, columns=columns, **shape)
        products = max(2, CYCLES // macs)
        seen = await measure(bench, checks=products * folds, steps=k, folds=folds,
                             repetitions=products, offers=ALWAYS, sink=ALWAYS, limit=product,
                             macs_limit=macs)
        expect(bench, seen, "", "product", product, products, **shape)
        expect(bench, seen, "macs_", "macs", macs, products, **shape)
        if folds == 1:
            expect(bench, seen, "macs_", "fold", macs, products, **shape)


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; without one, the layers of a public simulator, to its cycle."""
    sweep = Sweep(bench, Dataflow.OUTPUT, "macs", eq5_6, completion, by_rows=False)
    await (sweep.domain() if bench.domain else sweep.public_simulator())


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    for offers, sink, folds in itertools.product((50, 200, ALWAYS), (20, 150, ALWAYS), (1, 3)):
        for k in (1, bench.rng.randint(2, 9), 30):
            await measure(bench, checks=STALLED * folds, steps=k, folds=folds,
                          repetitions=STALLED, offers=offers, sink=sink)
