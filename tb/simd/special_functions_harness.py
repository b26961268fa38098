"""Harness testbench of the reciprocal unit: operands and checksums in hardware."""

from cyclebound.golden.simd.special_functions import evaluate
from cyclebound.golden.simd.special_tables import SpecialFunction
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.execute import measure

COUNTS = (1, 2, 1000, 100_000)


@testbench
async def every_function(bench: Bench) -> None:
    for function in SpecialFunction:
        for count in COUNTS:
            await measure(bench, function, count, evaluate)


@testbench
async def every_function_of_ten_million_numbers(bench: Bench) -> None:
    for function in SpecialFunction:
        await measure(bench, function, 10_000_000, evaluate)
