"""Testbench of the weight-stationary array: every output compared in every cycle."""

from cyclebound.golden.systolic.output_stationary import occupancy
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.systolic.stationary_tester import StationaryTester

_RANDOM_SHAPES = 12
_LARGEST = 40  # dimension of a random product


@testbench
async def random_shapes(bench: Bench) -> None:
    """Random products, and those around the array's own shape."""
    tester = StationaryTester(bench)
    for m in (1, tester.rows - 1, tester.rows, tester.rows + 1):
        for k, n in ((1, 1), (tester.rows, tester.columns),
                     (2 * tester.rows + 1, tester.columns + 1)):
            await tester.product(max(m, 1), k, n)
    await tester.random_products(_RANDOM_SHAPES, _LARGEST)


@testbench
async def occupancy_of_table_5_2(bench: Bench) -> None:
    """The number of active PEs in each step; for 3 x 3 x 3 on 3 x 3: 1, 3, 6, 7, 6, 3, 1."""
    tester = StationaryTester(bench)
    for m in (1, 2, 3, tester.rows + tester.columns):
        active = await tester.product(m, tester.rows, tester.columns)
        expected = occupancy(tester.rows, tester.columns, m)
        assert active == expected, f"m = {m}: {active} active PEs, expected {expected}"


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same products, later."""
    await StationaryTester(bench).stalls()


reset_in_mid_run = interrupted(stalls_and_backpressure, last=300, brief=True,
                               then=occupancy_of_table_5_2)
