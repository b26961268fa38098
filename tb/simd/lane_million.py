"""The lane on a million operands for each operation."""

from cyclebound.golden.simd.lane import evaluate
from cyclebound.golden.simd.lane_operations import LaneOperation
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.execute import measure

COUNT = 1_000_000


@testbench
async def every_operation_on_a_million_words(bench: Bench) -> None:
    for operation in LaneOperation:
        await measure(bench, operation, COUNT, evaluate, operands=3)
