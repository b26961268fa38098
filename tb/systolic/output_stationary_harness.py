"""Harness testbench of the output-stationary array: traffic and measurement in hardware."""

import itertools

from cyclebound.golden.systolic.bounds import completion, eq5_6
from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import ALWAYS, expect, measure, output_sweep
from cyclebound.tb.systolic.products import declared_product

CYCLES = 16_000  # of each measurement without stalls, about
FOLDS = (1, 2, 7)


@testbench
async def products_back_to_back(bench: Bench) -> None:
    """Operands always on offer, a sink that is always ready: every product takes its bound."""
    rows, columns = bench.parameters["rows"], bench.parameters["columns"]
    for k, folds in itertools.product((1, 2, 3, rows + columns, 40), FOLDS):
        shape = {"m": rows * folds, "k": k, "n": columns}
        macs = eq5_6(rows=rows, columns=columns, **shape)
        product = completion(rows=rows, columns=columns, **shape)
        products = max(2, CYCLES // macs)
        mapped = map_product(Dataflow.OUTPUT, rows=rows, columns=columns, **shape)
        what = ("macs", "product", *(["fold"] if folds == 1 else []))
        with declared_product(bench, what, mapped, **shape):
            seen = await measure(bench, checks=products * folds, steps=k, folds=folds,
                                 repetitions=products, offers=ALWAYS, sink=ALWAYS, limit=product,
                                 macs_limit=macs)
        expect(seen, "", "product", product, **shape)
        expect(seen, "macs_", "macs", macs, **shape)


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; without one, the layers of a public simulator, to its cycle."""
    await output_sweep(bench).domain()


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, rows that wait: no bound speaks of these, the results are right."""
    await output_sweep(bench).stalls()
