# amaranth: UnusedElaboratable=no
"""Special unit and its blocks, in Amaranth's own simulator."""

import random
import re
from collections import deque

import numpy as np
import pytest

from cyclebound.golden.dataflow import special, special_timing
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.grid import Kind
from cyclebound.golden.dataflow.special_bounds import special_epoch
from cyclebound.golden.dataflow.special_unit import SpecialUnitModel
from cyclebound.hdl.dataflow.fabric_unit import FabricUnit
from cyclebound.hdl.dataflow.long_division import make_block
from cyclebound.hdl.dataflow.special_unit import SpecialUnit
from cyclebound.sim.build.elaborate import SharedModules, to_rtlil
from cyclebound.tools.dataflow import special_search

unit = pytest.mark.unit

HARD = (0, 0x80000000, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0x7F800000,
        0xFF800000, 0x7FC00000, 3, 0x40400000, 0x80000001, 0xFFFFFFFF, 0x00FFFFFF)


def pairs(count, seed):
    rng = random.Random(seed)
    return [(a, b) for a in HARD for b in HARD] + [
        (rng.getrandbits(rng.randrange(1, 33)), rng.getrandbits(rng.randrange(1, 33)))
        for _ in range(count)]


@unit
def test_refuses():
    with pytest.raises(ValueError, match=r"^function must be one of idiv, fdiv, fsqrt, not 'x'$"):
        SpecialUnit(function="x", depth=2, tid_width=4)
    with pytest.raises(ValueError, match=r"^block count must be a power of two, not 3$"):
        SpecialUnit(function=Special.IDIV, depth=2, tid_width=4, blocks=3)


@unit
def test_floats_are_numpys():
    a, b = (np.array(column, np.uint32) for column in zip(*pairs(5000, 1), strict=True))
    with np.errstate(all="ignore"):
        for numbers, mine in ((a.view(np.float32) / b.view(np.float32), special.divide),
                              (np.sqrt(a.view(np.float32)), lambda x, y: special.root(x))):
            wanted = np.where(np.isnan(numbers), 0x7FC00000, numbers.view(np.uint32))
            assert [mine(int(x), int(y)) for x, y in zip(a, b, strict=True)] == wanted.tolist()


@unit
@pytest.mark.parametrize(("a", "b", "quotient"), [
    (7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (5, 0, -1), (0, 5, 0),
    (-2**31, -1, -2**31), (-2**31, 1, -2**31), (2**31 - 1, -2**31, 0)])
def test_integers_are_truncated(a, b, quotient):
    assert special.divide_integers(a % 2**32, b % 2**32) == quotient % 2**32


@unit
@pytest.mark.parametrize("function", Special)
def test_a_block_is_exact_and_takes_its_time(simulate, function):
    dut = make_block(function, tag_width=3)
    cases = pairs(120, function)

    async def bench(ctx):
        ctx.set(dut.result.ready, 1)
        for a, b in cases:
            ctx.set(dut.operands.payload, {"a": a, "b": b, "tag": b % 8})
            ctx.set(dut.operands.valid, 1)
            await ctx.tick()
            ctx.set(dut.operands.valid, 0)
            cycles = 2
            while not ctx.get(dut.result.valid):
                await ctx.tick()
                cycles += 1
            assert ctx.get(dut.result.payload.tag) == b % 8
            assert ctx.get(dut.result.payload.value) == special.evaluate(function, (a, b)), (a, b)
            assert cycles == special_timing.cycles(function, a, b) <= special_timing.longest(
                function)
            await ctx.tick()
    simulate(dut, bench)


@pytest.mark.parametrize(("function", "depth", "blocks", "operands"), [
    (Special.IDIV, 16, 8, 1), (Special.IDIV, 16, 8, 2), (Special.FDIV, 16, 8, 2),
    (Special.FSQRT, 16, 8, 1), (Special.FDIV, 2, 2, 2), (Special.IDIV, 8, 2, 2)])
def test_an_epochs_bound_is_exact(function, depth, blocks, operands):
    """Long operations come up to it; uneven ones stay below. Operands in one order, or in two."""
    rng = random.Random(f"{function} {depth} {operands}")
    worst = 0
    for run in range(8):
        model = SpecialUnitModel(function=function, depth=depth, blocks=blocks)
        queues = [deque() for _ in range(1 + (function != Special.FSQRT))]
        for tid in rng.sample(range(depth), depth):
            values = (0x80000000 if function == Special.IDIV else 0x3F800000, 3)
            if run and rng.random() < 0.3:
                values = rng.choice(HARD), rng.choice(HARD)
            for queue, value in zip(queues, values, strict=False):
                queue.append((tid, value))
        queues[-1].rotate(depth // 2 if operands == 2 else 0)
        last, shown, cycle = 0, {}, 0
        while len(shown) < depth:
            offers = [queue[0] if queue else None for queue in queues]
            found = model.step([*offers, None][:2], True)
            for queue, taken in zip(queues, found.taken, strict=False):
                if taken:
                    queue.popleft()
                    last = cycle
            if found.result is not None:
                shown[found.result[0]] = cycle
            cycle += 1
        worst = max(worst, max(shown.values()) - last + 1)
    assert worst == special_epoch(depth=depth, blocks=blocks, operands=operands, younger=0,
                                  block=special_timing.longest(function))


@unit
@pytest.mark.parametrize(("depth", "quick", "cycles"), [(16, 1, 60), (8, 3, 39)])
def test_younger_threads_are_collected_before_an_older_epochs(depth, quick, cycles):
    """All roots long but one of the first epoch and all of the second, in order, without a pause:
    an epoch alone takes 56 cycles and 34 at most."""
    order = tuple(range(2 * depth))
    threads = special_search.Threads(
        (order,), tuple(tid < depth and tid != quick for tid in order), (0,) * len(order))
    taken = special_search.residence(threads, function=Special.FSQRT, depth=depth, blocks=8)
    alone, allowed = (special_epoch(depth=depth, blocks=8, operands=1, younger=younger,
                                    block=special_timing.longest(Special.FSQRT))
                      for younger in (0, depth))
    assert alone < taken == cycles <= allowed <= cycles + 3


@unit
@pytest.mark.parametrize(("function", "depth", "blocks", "tries"), [
    (Special.FSQRT, 8, 8, 250), (Special.FDIV, 4, 2, 60), (Special.IDIV, 2, 8, 60),
    *(pytest.param(function, depth, blocks, 2_000, marks=pytest.mark.thorough)
      for function in Special for depth in (2, 4, 8, 16) for blocks in (2, 4, 8))])
def test_no_younger_epoch_exceeds_the_bound(function, depth, blocks, tries):
    for operands in range(1, 2 + (function != Special.FSQRT)):
        found, _ = special_search.search(function, tries, depth=depth, blocks=blocks,
                                           operands=operands)
        assert found <= special_epoch(depth=depth, blocks=blocks, operands=operands, younger=depth,
                                      block=special_timing.longest(function))


@unit
def test_the_search_finds_what_was_forgotten():
    """That younger threads take turns: the bound of an epoch alone is exceeded."""
    found, threads = special_search.search(Special.FSQRT, 250, depth=8)
    assert found > special_epoch(depth=8, blocks=8, operands=1, younger=0,
                                 block=special_timing.longest(Special.FSQRT))
    assert found == special_search.residence(threads, function=Special.FSQRT, depth=8, blocks=8)
    with pytest.raises(ValueError, match=r"^fsqrt must have 1 operand, not 2$"):
        special_search.search(Special.FSQRT, 1, depth=8, operands=2)


@unit
def test_the_search_says_what_it_found(capsys):
    special_search.main(["fdiv", "2", "8", "3", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[::2]] == [
        f"fdiv, 2 entries, 8 blocks, {operands} streams" for operands in (1, 2)]
    with pytest.raises(SystemExit, match="FUNCTION DEPTH BLOCKS TRIES SEED"):
        special_search.main([])


@pytest.mark.parametrize("kind", [Kind.INTEGER_DIVIDE, Kind.DIVIDE, Kind.ROOT])
def test_clearing_a_unit_resets_its_blocks(kind):
    """Also where a design has one module for all blocks, which no `ResetInserter` reaches: an
    operation of the configuration before would give the next one a result."""
    unit = FabricUnit(kind=kind, depth=4, tid_width=4, address_width=6)
    text = to_rtlil(unit, name="top", shares=SharedModules("top"))
    [module] = [each for each in text.split("\nmodule ") if r"\block_0" in each]
    resets = re.findall(r"cell \\top_part_\d+ \\block_\d+\n(?:    .*\n)*?    connect \\rst (\S+)",
                        module)
    assert len(resets) == unit.unit.count
    for reset in resets:
        [inputs] = re.findall(r"connect \\A (.*)\n    connect \\B (.*)\n    connect \\Y "
                              + re.escape(reset) + "\n", module)
        assert "clear" in " ".join(inputs)
