"""Testbench of the reciprocal unit: every result bit for bit, every cycle."""

from collections.abc import Iterator

from cyclebound.golden.simd.special_functions import evaluate
from cyclebound.golden.simd.special_tables import SpecialFunction
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.simd.execute import play

NAMES = ("function", "operand")
# zeros, subnormals, where reciprocals overflow or become subnormal, where sines begin to differ
# from their angle, quarters of a turn and the number closest to one, infinities, NaN
SPECIAL = (0x0000_0000, 0x0000_0001, 0x0020_0000, 0x0020_0001, 0x007F_FFFF, 0x0080_0000,
           0x397F_FFFF, 0x3980_0000, 0x3F80_0000, 0x3F7F_FFFF, 0x3FC9_0FDB, 0x4049_0FDB,
           0x40C9_0FDB, 0x6F79_BE45, 0x7E80_0000, 0x7E80_0001, 0x7F00_0000, 0x7F00_0001,
           0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FC0_0000)
SIGN = 0x8000_0000


def special() -> Iterator[tuple[int, int]]:
    for function in SpecialFunction:
        for operand in SPECIAL:
            yield function, operand
            yield function, operand | SIGN


def random_operation(bench: Bench) -> tuple[int, int]:
    """Any number; in one of two cases, one where all functions have something to do."""
    function = bench.rng.randrange(4)
    if bench.rng.random() < 0.5:
        return function, bench.rng.getrandbits(32)
    return function, bench.rng.randrange(0x3900_0000, 0x4300_0000)


@testbench
async def special_values(bench: Bench) -> None:
    bench.declare("result")
    await play(bench, NAMES, special(), evaluate)


@testbench
async def as_many_as_there_are_cycles(bench: Bench) -> None:
    for count in (1, 2, 4, 5, 6, 2_000):
        bench.declare("stream", operations=count)
        await play(bench, NAMES, [random_operation(bench) for _ in range(count)], evaluate)


@testbench
async def with_idle_cycles(bench: Bench) -> None:
    bench.declare("result")
    for load in (0.5, 0.1):
        await play(bench, NAMES, [random_operation(bench) if bench.rng.random() < load else None
                                  for _ in range(1000)], evaluate)


reset_in_mid_run = interrupted(with_idle_cycles)
