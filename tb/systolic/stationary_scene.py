"""An array in which an operand stays, between its golden model and random products.

Weight and input stationary arrays share all of it: the second multiplies transposed matrices.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.golden.systolic.output_stationary import wrap
from cyclebound.golden.systolic.weight_stationary import (
    Outputs,
    Tile,
    WeightStationaryModel,
    assemble,
    tiles_of,
)
from cyclebound.tb.bench import Bench

__all__ = ["StationaryScene"]


class StationaryScene:
    """The array and its model; `product` multiplies two matrices on both.

    Parameters
    ----------
    bench : Bench
        With an array of this kind.
    dataflow : Dataflow
        WEIGHT or INPUT.
    stays : str
        The port of the operand that stays.
    cut : callable
        The folds of a product, from A, B, and the array's rows and columns.
    """

    def __init__(self, bench: Bench, dataflow: Dataflow = Dataflow.WEIGHT, stays: str = "weights",
                 cut: Callable[..., list[Tile]] = tiles_of) -> None:
        p = bench.parameters
        self.bench, self.dataflow, self._cut = bench, dataflow, cut
        self.rows, self.columns = p["rows"], p["columns"]
        self.operand_width = p.get("operand_width", 8)
        self.accumulator_width = p.get("accumulator_width", 32)
        self.model = WeightStationaryModel(self.rows, self.columns, self.accumulator_width,
                                           double_buffer=p.get("double_buffer", True))
        i, o = bench.inputs, bench.outputs
        self._left, self._stays = i["left.payload.values"], i[f"{stays}.payload"]
        self._valid = (i[f"{stays}.valid"].mask, i["left.valid"].mask)
        self._last, self._sink = i["left.payload.last"].mask, i["results.ready"].mask
        self._ready = (o[f"{stays}.ready"].mask, o["left.ready"].mask)
        self._result, self._result_valid = o["results.payload"], o["results.valid"].mask
        self._active = o["active"]
        self._care = sum(self._ready) | self._result_valid | self._active.mask

    def operands(self, rows: int, columns: int) -> NDArray[np.int64]:
        """A random matrix; one in four has only extreme elements, whose sums are greatest."""
        half = 1 << self.operand_width - 1
        rng = self.bench.rng
        values = ([-half, half - 1] if rng.random() < 0.25 else range(-half, half))
        return np.array(rng.choices(values, k=rows * columns)).reshape(rows, columns)

    async def product(self, m: int, k: int, n: int, *, offers: Iterable[bool] = (),
                      sinks: Iterable[bool] = (), observe: bool = True) -> list[int]:
        """Multiply random matrices, and compare; the array is idle before and after.

        ``offers`` and ``sinks`` say for each cycle whether a new operand may be offered, and
        whether a result is taken; both are true where they end. Returns the number of active PEs
        in each cycle from the first MAC to the last.
        """
        bench = self.bench
        a, b = self.operands(m, k), self.operands(k, n)
        tiles = self._cut(a, b, self.rows, self.columns)
        streams = [itertools.chain.from_iterable(tile.weights for tile in tiles),
                   itertools.chain.from_iterable(tile.steps() for tile in tiles)]
        offers, sinks = _then_true(offers), _then_true(sinks)
        offered: list = [None, None]
        expected_rows = sum(len(tile.left) for tile in tiles)
        results: list[list[int]] = []
        active: list[int] = []
        start = now = bench.cycle
        began: int | None = None
        while len(results) < expected_rows:
            now = bench.cycle
            for side in range(2):
                if offered[side] is None and next(offers):
                    offered[side] = next(streams[side], None)
            sink = next(sinks)
            seen, out = await self._cycle(*offered, sink)
            for side, taken in enumerate((out.weights_ready, out.left_ready)):
                if taken and offered[side] is not None:
                    began = now if began is None else began
                    offered[side] = None
            if out.result is not None and sink:
                results.append(out.result)
            active.append(self._active.of(seen).bit_count())
        c = assemble(tiles, results, self.accumulator_width)
        reference = wrap(a @ b, self.accumulator_width)
        c = c.T if self.dataflow is Dataflow.INPUT else c
        assert np.array_equal(c, reference), f"{m} x {k} x {n}: the product is not numpy's"
        macs = [number for number, count in enumerate(active) if count]
        if observe:
            mapped = map_product(self.dataflow, rows=self.rows, columns=self.columns,
                                 m=m, k=k, n=n)
            if mapped.folds == 1:
                bench.observe("fold", start + macs[0], start + macs[-1], m=m, k=k, n=n)
            bench.observe("steps", began, start + macs[-1], m=m, k=k, n=n)
            bench.observe("product", began, now, m=m, k=k, n=n)
        return active[macs[0]:macs[-1] + 1]

    def _packed(self, values: Sequence[int], width: int) -> int:
        mask = (1 << width) - 1
        return sum((value & mask) << width * n for n, value in enumerate(values))

    async def _cycle(self, stays: list[int] | None, left: tuple[list[int], bool] | None,
                     sink: bool) -> tuple[int, Outputs]:
        """One cycle of array and model, compared; what was seen, and what the model said."""
        word = self._sink if sink else 0
        if stays is not None:
            word |= self._valid[0] | self._stays.to(self._packed(stays, self.operand_width))
        if left is not None:
            word |= self._valid[1] | (self._last if left[1] else 0)
            word |= self._left.to(self._packed(left[0], self.operand_width))
        seen = await self.bench.step(word)
        out = self.model.step(stays, left, sink)
        expected, care = self._active.to(out.active), self._care
        expected |= (self._ready[0] if out.weights_ready else 0) | (
            self._ready[1] if out.left_ready else 0)
        if out.result is not None:
            expected |= self._result_valid
            expected |= self._result.to(self._packed(out.result, self.accumulator_width))
            care |= self._result.mask
        self.bench.check(seen, expected, care)
        return seen, out

    async def random_products(self, count: int, most: int) -> None:
        """Products of random shapes up to ``most``, without stalls, each in its exact time."""
        for _ in range(count):
            await self.product(*(self.bench.rng.randint(1, most) for _ in "mkn"))

    async def stalls(self) -> None:
        """Operands that come late, results that wait: the same products, later."""
        rng = self.bench.rng
        for offer, sink in itertools.product((0.3, 0.8, 1.0), (0.1, 0.5, 1.0)):
            for _ in range(4):
                m, k, n = (rng.randint(1, 2 * size + 1) for size in (3, self.rows, self.columns))
                await self.product(m, k, n, observe=False,
                                   offers=(rng.random() < offer for _ in range(2000)),
                                   sinks=(rng.random() < sink for _ in range(2000)))


def _then_true(pattern: Iterable[bool]) -> Iterator[bool]:
    return itertools.chain(pattern, itertools.repeat(True))
