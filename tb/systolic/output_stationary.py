"""Testbench of the output-stationary array: every output compared in every cycle."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.output_stationary import (
    OutputStationaryModel,
    assemble,
    folds,
    occupancy,
    wrap,
)
from cyclebound.tb.bench import Bench, testbench

_RANDOM_SHAPES = 12
_LARGEST = 40  # dimension of a random product
_EVERY = {"m": 5, "k": 6, "n": 7}  # up to where every product runs here; the harness goes on


class Scene:
    """The array and its model; `product` multiplies two matrices on both.

    ``model`` is the model's class.
    """

    def __init__(self, bench: Bench, model: type = OutputStationaryModel) -> None:
        p = bench.parameters
        self.bench = bench
        self.rows, self.columns = p["rows"], p["columns"]
        self.operand_width = p.get("operand_width", 8)
        self.accumulator_width = p.get("accumulator_width", 32)
        self.model = model(self.rows, self.columns, self.accumulator_width)
        i, o = bench.inputs, bench.outputs
        self._left, self._top = i["left.payload.values"], i["top.payload"]
        self._left_valid, self._top_valid = i["left.valid"].mask, i["top.valid"].mask
        self._last, self._sink = i["left.payload.last"].mask, i["results.ready"].mask
        self._left_ready, self._top_ready = o["left.ready"].mask, o["top.ready"].mask
        self._result, self._result_valid = o["results.payload"], o["results.valid"].mask
        self._active = o["active"]
        self._care = self._left_ready | self._top_ready | self._result_valid | self._active.mask

    def operands(self, rows: int, columns: int) -> NDArray[np.int64]:
        """A random matrix; one in four has only extreme elements, whose sums are greatest."""
        half = 1 << self.operand_width - 1
        rng = self.bench.rng
        values = ([-half, half - 1] if rng.random() < 0.25 else range(-half, half))
        return np.array(rng.choices(values, k=rows * columns)).reshape(rows, columns)

    def _packed(self, values: Sequence[int], width: int) -> int:
        mask = (1 << width) - 1
        return sum((value & mask) << width * n for n, value in enumerate(values))

    async def product(self, m: int, k: int, n: int, *, offers: Iterable[bool] = (),
                      sinks: Iterable[bool] = (), observe: bool = True) -> list[int]:
        """Multiply random matrices, and compare; the array is idle before and after.

        ``offers`` and ``sinks`` say for each cycle whether a new operand may be offered, and
        whether a result is taken; both are true where they end. Returns the number of active PEs
        in each cycle from the first MAC to the last.
        """
        bench = self.bench
        a, b = self.operands(m, k), self.operands(k, n)
        steps = [s for fold in folds(a, b, self.rows, self.columns) for s in fold.steps()]
        offers, sinks = _then_true(offers), _then_true(sinks)
        streams = [iter([(s[0], s[1]) for s in steps]), iter([s[2] for s in steps])]
        offered: list = [None, None]  # what is on offer at the left, and at the top
        expected_rows = self.rows * len(folds(a, b, self.rows, self.columns))
        results: list[list[int]] = []
        active: list[int] = []
        first = now = bench.cycle
        began: int | None = None
        while len(results) < expected_rows:
            now = bench.cycle
            for side in range(2):
                if offered[side] is None and next(offers):
                    offered[side] = next(streams[side], None)
            sink = next(sinks)
            seen, out = await self._cycle(*offered, sink)
            if out.left_ready and offered[0] is not None and out.top_ready:
                began = now if began is None else began
                offered = [None, None]
            if out.result is not None and sink:
                results.append(out.result)
            active.append(self._active.of(seen).bit_count())
            first = now if len(active) == 1 else first
        c = assemble(m, n, self.rows, self.columns, results)
        reference = wrap(a @ b, self.accumulator_width)
        assert np.array_equal(c, reference), f"{m} x {k} x {n}: the product is not numpy's"
        macs = [number for number, count in enumerate(active) if count]
        if observe:
            begin, end = first + macs[0], first + macs[-1]
            bench.observe("macs", begin, end, m=m, k=k, n=n)
            if m <= self.rows and n <= self.columns:
                bench.observe("fold", begin, end, m=m, k=k, n=n)
            bench.observe("product", began, now, m=m, k=k, n=n)
        return active[macs[0]:macs[-1] + 1]

    async def _cycle(self, left: tuple[list[int], bool] | None, top: list[int] | None,
                     sink: bool) -> tuple:
        """One cycle of array and model, compared; what was seen, and what the model said."""
        word = self._sink if sink else 0
        if left is not None:
            word |= self._left_valid | (self._last if left[1] else 0)
            word |= self._left.to(self._packed(left[0], self.operand_width))
        if top is not None:
            word |= self._top_valid | self._top.to(self._packed(top, self.operand_width))
        seen = await self.bench.step(word)
        out = self.model.step(left, top, sink)
        expected, care = self._active.to(out.active), self._care
        expected |= (self._left_ready if out.left_ready else 0) | (
            self._top_ready if out.top_ready else 0)
        if out.result is not None:
            expected |= self._result_valid
            expected |= self._result.to(self._packed(out.result, self.accumulator_width))
            care |= self._result.mask
        self.bench.check(seen, expected, care)
        return seen, out


def _then_true(pattern: Iterable[bool]) -> Iterator[bool]:
    return itertools.chain(pattern, itertools.repeat(True))


@testbench
async def every_shape(bench: Bench) -> None:
    """Every small product of the configuration's domain; where it has none, random ones."""
    scene = Scene(bench)
    if bench.domain:
        ranges = [range(bench.domain[d][0], min(bench.domain[d][1], _EVERY[d]) + 1)
                  for d in "mkn"]
        shapes = list(itertools.product(*ranges))
    else:
        shapes = [tuple(bench.rng.randint(1, _LARGEST) for _ in "mkn")
                  for _ in range(_RANDOM_SHAPES)]
    for m, k, n in shapes:
        await scene.product(m, k, n)


@testbench
async def occupancy_of_table_5_1(bench: Bench) -> None:
    """The number of active PEs in each step; for 3 x 3 x 3 on 3 x 3: 1, 3, 6, 7, 6, 3, 1."""
    scene = Scene(bench)
    for k in (1, 2, 3, scene.rows + scene.columns):
        active = await scene.product(scene.rows, k, scene.columns)
        expected = occupancy(scene.rows, scene.columns, k)
        assert active == expected, f"k = {k}: {active} active PEs, expected {expected}"


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same products, later."""
    scene = Scene(bench)
    for offer, sink in itertools.product((0.3, 0.8, 1.0), (0.1, 0.5, 1.0)):
        for _ in range(4):
            m, k, n = (bench.rng.randint(1, 2 * size + 1) for size in
                       (scene.rows, 3, scene.columns))
            await scene.product(
                m, k, n, observe=False,
                offers=(bench.rng.random() < offer for _ in range(2000)),
                sinks=(bench.rng.random() < sink for _ in range(2000)))
