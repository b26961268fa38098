"""The reciprocal unit on ten million numbers for each function."""

from cyclebound.golden.simd.special_functions import evaluate
from cyclebound.golden.simd.special_tables import SpecialFunction
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.execute import measure

COUNT = 10_000_000


@testbench
async def every_function_of_ten_million_numbers(bench: Bench) -> None:
    for function in SpecialFunction:
        await measure(bench, function, COUNT, evaluate)
