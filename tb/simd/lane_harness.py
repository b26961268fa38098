"""Harness testbench of the lane: operands and checksums in hardware."""

from cyclebound.golden.simd.lane import evaluate
from cyclebound.golden.simd.lane_operations import LaneOperation
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.execute import measure

COUNTS = (1, 100, 10_000)


@testbench
async def every_operation(bench: Bench) -> None:
    for operation in LaneOperation:
        for count in COUNTS:
            await measure(bench, operation, count, evaluate, operands=3)


@testbench
async def every_operation_on_a_million_words(bench: Bench) -> None:
    for operation in LaneOperation:
        await measure(bench, operation, 1_000_000, evaluate, operands=3)
