# amaranth: UnusedElaboratable=no
"""The queue of a bank against a deque."""

import dataclasses
import random
from collections import Counter, deque

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import DDR4_3200AA_X16
from cyclebound.hdl.dram.bank_queue import BankOperationLayout, BankQueue
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("depth", "kind", "message"), [
    (0, ValueError, r"^depth must be a power of two, not 0$"),
    (6, ValueError, r"^depth must be a power of two, not 6$"),
    (-4, ValueError, r"^depth must be a power of two, not -4$"),
    ("8", TypeError, r"^depth must be an integer, not '8'$"),
    (2.0, TypeError, r"^depth must be an integer, not 2\.0$"),
    (True, TypeError, r"^depth must be an integer, not True$"),
])
def test_refuses(depth, kind, message):
    with pytest.raises(kind, match=message):
        BankQueue(shape=8, depth=depth)


@pytest.mark.parametrize("depth", [1, 2, FIFO_DEPTH])
def test_converts_alone_and_again(depth):
    queue = BankQueue(shape=BankOperationLayout(part=DDR4_3200AA_X16), depth=depth)
    text = rtlil.convert(queue)
    assert "attribute \\top 1" in text
    assert rtlil.convert(queue) == text


def test_entry_has_room_for_a_part_s_rows_and_bursts():
    small = dataclasses.replace(DDR4_3200AA_X16, rows=4, columns=64)
    layout = BankOperationLayout(part=small)
    assert (layout["row"].width, layout["column"].width) == (2, 3)


@pytest.mark.parametrize("depth", [1, 2, 4, FIFO_DEPTH])
@pytest.mark.parametrize(("push", "pop"), [(0.9, 0.9), (0.9, 0.2), (0.2, 0.9), (1.0, 1.0),
                                           (0.5, 0.5)])
def test_is_a_deque_with_a_head(depth, push, pop):
    rng = random.Random(f"{depth} {push} {pop}")
    dut = BankQueue(shape=16, depth=depth)
    model, seen = deque(), Counter()

    async def bench(ctx):
        for _ in range(500):
            assert ctx.get(dut.valid) == bool(model)
            assert ctx.get(dut.waiting) == max(0, len(model) - 1)
            full = len(model) == depth + 1
            assert ctx.get(dut.full) == full
            if model:
                assert ctx.get(dut.head) == model[0]
            pushes = rng.random() < push and not full
            pops = rng.random() < pop and bool(model)
            word = rng.getrandbits(16)
            ctx.set(dut.push, pushes)
            ctx.set(dut.operation, word)
            ctx.set(dut.pop, pops)
            if pops:
                model.popleft()
            if pushes:
                model.append(word)
            seen.update(push=pushes, pop=pops, both=pushes and pops, full=full)
            await ctx.tick()

    run_bench(dut, bench)
    assert seen["push"] > 80
    assert seen["pop"] > 80
    assert seen["both"] > 5
    assert seen["full"] > 30 or push <= pop
