"""An array in which an operand stays, between its golden model and random products.

Weight and input stationary arrays share all of it: the second multiplies transposed matrices.
"""

import itertools
from collections.abc import Callable, Iterable

import numpy as np

from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.golden.systolic.output_stationary import wrap
from cyclebound.golden.systolic.weight_stationary import (
    Tile,
    WeightStationaryModel,
    assemble,
    tiles_of,
)
from cyclebound.tb.bench import Bench
from cyclebound.tb.stream_scoreboard import sometimes
from cyclebound.tb.systolic.products import declared_product
from cyclebound.tb.systolic.two_streams import TwoStreams, random_matrix

__all__ = ["StationaryTester"]


class StationaryTester:
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
        model = WeightStationaryModel(self.rows, self.columns, self.accumulator_width,
                                      double_buffer=p.get("double_buffer", True))
        self._streams = TwoStreams(bench, model, (stays, "left"), self.operand_width,
                                   self.accumulator_width)

    async def product(self, m: int, k: int, n: int, *, offers: Iterable[bool] = (),
                      sinks: Iterable[bool] = (), observe: bool = True) -> list[int]:
        """Multiply random matrices, and compare; the array is idle before and after.

        ``offers`` and ``sinks`` are those of `TwoStreams.play`. Returns the number of active PEs
        in each cycle in which there are any.
        """
        bench = self.bench
        a, b = (random_matrix(bench, self.operand_width, *shape) for shape in ((m, k), (k, n)))
        tiles = self._cut(a, b, self.rows, self.columns)
        mapped = map_product(self.dataflow, rows=self.rows, columns=self.columns, m=m, k=k, n=n)
        what = ("steps", "product", *(["fold"] if mapped.folds == 1 else [])) if observe else ()
        with declared_product(bench, what, mapped, m=m, k=k, n=n):
            played = await self._streams.play(
                [itertools.chain.from_iterable(tile.weights for tile in tiles),
                 itertools.chain.from_iterable(tile.steps() for tile in tiles)],
                mapped.time * mapped.folds, offers=offers, sinks=sinks)
        c = assemble(tiles, played.results, self.accumulator_width)
        reference = wrap(a @ b, self.accumulator_width)
        c = c.T if self.dataflow is Dataflow.INPUT else c
        assert np.array_equal(c, reference), f"{m} x {k} x {n}: the product is not numpy's"
        return played.macs

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
                await self.product(m, k, n, observe=False, offers=sometimes(self.bench, offer),
                                   sinks=sometimes(self.bench, sink))
