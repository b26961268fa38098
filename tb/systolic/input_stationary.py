"""Testbench of the input-stationary array: every output compared in every cycle."""

from cyclebound.golden.systolic.input_stationary import tiles_of
from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.stationary_tester import StationaryTester

_RANDOM_SHAPES = 12
_LARGEST = 40  # dimension of a random product


def _tester(bench: Bench) -> StationaryTester:
    return StationaryTester(bench, Dataflow.INPUT, "inputs", tiles_of)


@testbench
async def random_shapes(bench: Bench) -> None:
    """Random products, and those around the array's own shape."""
    tester = _tester(bench)
    for n in (1, tester.rows - 1, tester.rows, tester.rows + 1):
        for k, m in ((1, 1), (tester.rows, tester.columns),
                     (2 * tester.rows + 1, tester.columns + 1)):
            await tester.product(m, k, max(n, 1))
    await tester.random_products(_RANDOM_SHAPES, _LARGEST)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same products, later."""
    await _tester(bench).stalls()
