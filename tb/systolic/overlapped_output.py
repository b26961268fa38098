"""Testbench of the output-stationary array whose folds overlap: every output, in every cycle."""

import itertools

from cyclebound.golden.systolic.overlapped_output import OverlappedOutputModel
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.systolic.output_stationary import OutputStationaryTester


@testbench
async def small_shapes(bench: Bench) -> None:
    """Products of one fold and of several, more and less than ``rows`` operands in each."""
    tester = OutputStationaryTester(bench, OverlappedOutputModel)
    r, c = tester.rows, tester.columns
    for m, k, n in itertools.product((1, r, 2 * r + 1), (1, 2, r, r + 3), (1, c + 1)):
        await tester.product(m, k, n)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same products, later."""
    await OutputStationaryTester(bench, OverlappedOutputModel).stalls(3)


reset_in_mid_run = interrupted(stalls_and_backpressure, last=300, then=small_shapes)
