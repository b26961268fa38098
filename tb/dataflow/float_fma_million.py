"""The floating-point datapath on a million hard operands."""

from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.float_fma import hard_items, play

CASES, BATCH = 1_000_000, 10_000


@testbench
async def a_million_hard_numbers(bench: Bench) -> None:
    bench.declare("result", stages=PIPELINE_STAGES)
    bench.declare("stream", threads=BATCH, stages=PIPELINE_STAGES)
    for _ in range(CASES // BATCH):
        assert await play(bench, hard_items(bench, BATCH)) == BATCH
