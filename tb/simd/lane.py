"""Testbench of the lane: every result bit for bit, every cycle."""

import itertools
import random
from collections.abc import Iterator

from cyclebound.golden.simd.lane import evaluate
from cyclebound.golden.simd.lane_operations import LaneOperation
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.float_cases import SPECIAL, hard_pair, hard_triple
from cyclebound.tb.simd.execute import play

__all__ = ["NAMES", "WORDS", "hard_operation", "special_operations"]

NAMES = ("operation", "a", "b", "c")
# numbers of every kind, and integers: ends of their range, shifts, limits of conversions
WORDS = (*SPECIAL, 0x0000_001F, 0x0000_0020, 0x7FFF_FFFF, 0xFFFF_FFFF, 0x4EFF_FFFF, 0x4F00_0000,
         0xCF00_0000, 0xCF00_0001, 0x4F7F_FFFF, 0x4F80_0000, 0xFFFF_FF80, 0x8000_0080)


def special_operations() -> Iterator[tuple[int, int, int, int]]:
    """Every two of the special words, and a third that goes round."""
    third = itertools.cycle(WORDS)
    for operation in LaneOperation:
        for a, b in itertools.product(WORDS, repeat=2):
            yield operation, a, b, next(third)
        next(third)


def hard_operation(rng: random.Random) -> tuple[int, int, int, int]:
    """Any operation on operands of which each matters; one in four on words of any length."""
    operation = rng.choice(tuple(LaneOperation))
    kind = rng.randrange(4)
    if kind == 0:
        a, b, c = (rng.getrandbits(32) >> rng.randrange(32) for _ in range(3))
        return operation, a, b, c
    if kind == 1:
        return operation, *hard_pair(rng), rng.getrandbits(32)
    if kind == 2:  # such as 1 * a + b
        a, b = hard_pair(rng)
        return operation, 0x3F80_0000, a, b
    return operation, *hard_triple(rng)


@testbench
async def special_words(bench: Bench) -> None:
    bench.declare("result")
    await play(bench, NAMES, special_operations(), evaluate)


@testbench
async def as_many_as_there_are_cycles(bench: Bench) -> None:
    for count in (1, 2, 4, 5, 6, 10_000):
        bench.declare("stream", operations=count)
        await play(bench, NAMES, [hard_operation(bench.rng) for _ in range(count)], evaluate)


@testbench
async def with_idle_cycles(bench: Bench) -> None:
    bench.declare("result")
    for load in (0.5, 0.1):
        await play(bench, NAMES, [hard_operation(bench.rng) if bench.rng.random() < load else None
                                  for _ in range(2000)], evaluate)
