"""Testbench of the output-stationary array: every output compared in every cycle."""

import itertools
from collections.abc import Iterable

import numpy as np

from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.golden.systolic.output_stationary import (
    OutputStationaryModel,
    assemble,
    folds,
    occupancy,
    wrap,
)
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.stream_scoreboard import sometimes
from cyclebound.tb.systolic.products import declared_product
from cyclebound.tb.systolic.two_streams import TwoStreams, random_matrix

_RANDOM_SHAPES = 12
_LARGEST = 40  # dimension of a random product
_EVERY = {"m": 5, "k": 6, "n": 7}  # up to where every product runs here; the harness goes on


class OutputStationaryTester:
    """The array and its model; `product` multiplies two matrices on both.

    ``model`` is the model's class.
    """

    def __init__(self, bench: Bench, model: type = OutputStationaryModel) -> None:
        p = bench.parameters
        self.bench = bench
        self.rows, self.columns = p["rows"], p["columns"]
        self.operand_width = p.get("operand_width", 8)
        self.accumulator_width = p.get("accumulator_width", 32)
        self._streams = TwoStreams(
            bench, model(self.rows, self.columns, self.accumulator_width), ("left", "top"),
            self.operand_width, self.accumulator_width)

    async def product(self, m: int, k: int, n: int, *, offers: Iterable[bool] = (),
                      sinks: Iterable[bool] = (), observe: bool = True) -> list[int]:
        """Multiply random matrices, and compare; the array is idle before and after.

        ``offers`` and ``sinks`` are those of `TwoStreams.play`. Returns the number of active PEs
        in each cycle in which there are any.
        """
        bench = self.bench
        a, b = (random_matrix(bench, self.operand_width, *shape) for shape in ((m, k), (k, n)))
        cut = folds(a, b, self.rows, self.columns)
        steps = [step for fold in cut for step in fold.steps()]
        mapped = map_product(Dataflow.OUTPUT, rows=self.rows, columns=self.columns, m=m, k=k, n=n)
        what = ("macs", "product", *(["fold"] if mapped.folds == 1 else [])) if observe else ()
        with declared_product(bench, what, mapped, m=m, k=k, n=n):
            played = await self._streams.play(
                [[step[:2] for step in steps], [step[2] for step in steps]],
                self.rows * mapped.folds, offers=offers, sinks=sinks)
        c = assemble(m, n, self.rows, self.columns, played.results)
        reference = wrap(a @ b, self.accumulator_width)
        assert np.array_equal(c, reference), f"{m} x {k} x {n}: the product is not numpy's"
        return played.macs

    async def stalls(self, count: int) -> None:
        """Operands that come late, results that wait: the same products, later."""
        rng = self.bench.rng
        for offer, sink in itertools.product((0.3, 0.8, 1.0), (0.1, 0.5, 1.0)):
            for _ in range(count):
                m, k, n = (rng.randint(1, 2 * size + 1) for size in (self.rows, 3, self.columns))
                await self.product(m, k, n, observe=False, offers=sometimes(self.bench, offer),
                                   sinks=sometimes(self.bench, sink))


@testbench
async def every_shape(bench: Bench) -> None:
    """Every small product of the configuration's domain; where it has none, random ones."""
    tester = OutputStationaryTester(bench)
    if bench.domain:
        ranges = [range(bench.domain[d][0], min(bench.domain[d][1], _EVERY[d]) + 1)
                  for d in "mkn"]
        shapes = list(itertools.product(*ranges))
    else:
        shapes = [tuple(bench.rng.randint(1, _LARGEST) for _ in "mkn")
                  for _ in range(_RANDOM_SHAPES)]
    for m, k, n in shapes:
        await tester.product(m, k, n)


@testbench
async def occupancy_of_table_5_1(bench: Bench) -> None:
    """The number of active PEs in each step; for 3 x 3 x 3 on 3 x 3: 1, 3, 6, 7, 6, 3, 1."""
    tester = OutputStationaryTester(bench)
    for k in (1, 2, 3, tester.rows + tester.columns):
        active = await tester.product(tester.rows, k, tester.columns)
        expected = occupancy(tester.rows, tester.columns, k)
        assert active == expected, f"k = {k}: {active} active PEs, expected {expected}"


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same products, later."""
    await OutputStationaryTester(bench).stalls(4)


reset_in_mid_run = interrupted(stalls_and_backpressure, last=300, then=every_shape)
