"""The floating-point datapath on a million hard operands."""

from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.float_fma import hard_items, play

CASES = 1_000_000


@testbench
async def a_million_hard_numbers(bench: Bench) -> None:
    done = 0
    while done < CASES:
        times = await play(bench, hard_items(bench, 10_000))
        assert len(times) == 10_000
        done += len(times)
        for first, last in times:
            bench.observe("result", first, last, stages=PIPELINE_STAGES)
        bench.observe("stream", times[0][0], times[-1][1], threads=len(times),
                      stages=PIPELINE_STAGES)
