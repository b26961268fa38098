"""Testbench of the weight-stationary array in floating point: every output, in every cycle."""

from collections.abc import Iterable, Sequence

from numpy.typing import NDArray

from cyclebound.golden.systolic.float_weight_stationary import FloatWeightStationaryModel
from cyclebound.golden.systolic.mapping import Dataflow, Mapping, map_product
from cyclebound.golden.systolic.weight_stationary import tiles_of
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.float_tester import FloatTester


class FloatWeightStationaryTester(FloatTester):
    """Folds one after the other."""

    model, ports, macs = FloatWeightStationaryModel, ("weights", "left"), "steps"

    def mapped(self, m: int, k: int, n: int) -> Mapping:
        return map_product(Dataflow.WEIGHT, rows=self.rows, columns=self.columns, m=m, k=k, n=n)

    def cut(self, a: NDArray, b: NDArray) -> tuple[Sequence[Iterable], int]:
        tiles = tiles_of(a, b, self.rows, self.columns)
        return ([[row for tile in tiles for row in tile.weights],
                 [step for tile in tiles for step in tile.steps()]], len(a) * len(tiles))


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; where there is none, random ones."""
    await FloatWeightStationaryTester(bench).shapes(8, (60, 9, 9))


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, sums that wait until there is no room for more."""
    await FloatWeightStationaryTester(bench).stalls((20, 1, 1), (60, 5, 5))
