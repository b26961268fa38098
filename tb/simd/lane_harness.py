"""Harness testbench of the lane: operands and checksums in hardware."""

from cyclebound.golden.simd.lane import evaluate
from cyclebound.golden.simd.lane_operations import LaneOperation
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.execute import measure

COUNT = 10_000


@testbench
async def every_operation(bench: Bench) -> None:
    for operation in LaneOperation:
        await measure(bench, operation, COUNT, evaluate, operands=3)
