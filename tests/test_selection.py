"""Words chosen by number, for every number, beyond the row too."""

import random

import pytest

from cyclebound.hdl.selection import Selection
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("words", "width"), [(2, 1), (3, 32), (5, 20), (8, 64), (7, 33)])
def test_each_choice_is_the_word_with_its_number(words, width):
    dut, rng, choices = Selection(words=words, width=width, choices=3), random.Random(1), 3

    async def bench(ctx):
        numbers = 1 << (words - 1).bit_length()
        for first in range(numbers):
            row = [rng.getrandbits(width) for _ in range(words)]
            ctx.set(dut.row, row)
            chosen = [(first + choice) % numbers for choice in range(choices)]
            ctx.set(dut.number, chosen)
            assert [ctx.get(word) for word in dut.chosen] == [
                row[number] if number < words else 0 for number in chosen]
            await ctx.delay(1e-9)

    run_bench(dut, bench)


def test_a_row_of_one_word_is_refused():
    with pytest.raises(ValueError, match="words must be at least 2, not 1"):
        Selection(words=1, width=8, choices=1)
