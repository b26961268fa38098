# amaranth: UnusedElaboratable=no
"""Countdown and window against their definitions, from the cycles of all starts."""

import random

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal

from cyclebound.hdl.dram.countdown import Countdown, Window
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("make", "kind", "message"), [
    (lambda: Countdown(cycles=0), ValueError, r"^cycles must be at least 1, not 0$"),
    (lambda: Countdown(cycles="3"), TypeError, r"^cycles must be an integer, not '3'$"),
    (lambda: Countdown(cycles=True), TypeError, r"^cycles must be an integer, not True$"),
    (lambda: Window(cycles=-1), ValueError, r"^cycles must be at least 0, not -1$"),
    (lambda: Window(cycles=2.0), TypeError, r"^cycles must be an integer, not 2\.0$"),
    (lambda: Window(cycles=4, most=0), ValueError, r"^most must be at least 1, not 0$"),
    (lambda: Window(cycles=4, most=None), TypeError, r"^most must be an integer, not None$"),
])
def test_refuses(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


@pytest.mark.parametrize("make", [lambda: Countdown(cycles=1), lambda: Countdown(cycles=74),
                                  lambda: Window(cycles=0), lambda: Window(cycles=48)])
def test_converts_alone_and_again(make):
    component = make()
    text = rtlil.convert(component)
    assert "attribute \\top 1" in text
    assert rtlil.convert(component) == text


def watch(dut, cycles, start):
    """``ready`` in each cycle; ``start(ready)`` says whether there is a command."""
    seen = []
    m = Module()
    m.submodules.dut = dut
    m.d.sync += Signal().eq(1)  # a window that is always ready has no clock

    async def bench(ctx):
        for _ in range(cycles):
            ready = ctx.get(dut.ready)
            begin = start(ready)
            ctx.set(dut.start, begin)
            seen.append((ready, begin))
            await ctx.tick()

    run_bench(m, bench)
    return seen


@pytest.mark.parametrize("only_when_ready", [True, False])
@pytest.mark.parametrize("cycles", [1, 2, 3, 4, 5, 12])
def test_countdown_is_the_distance_from_the_last_start(cycles, only_when_ready):
    rng = random.Random(f"{cycles} {only_when_ready}")
    seen = watch(Countdown(cycles=cycles), 600, lambda ready: int(
        rng.random() < 0.2 and (ready or not only_when_ready)))
    starts = []
    tight = 0
    for now, (ready, begin) in enumerate(seen):
        assert ready == all(now - cycle >= cycles for cycle in starts[-1:]), now
        tight += bool(starts) and now - starts[-1] == cycles
        if begin:
            starts.append(now)
    assert len(starts) > 15
    assert tight > 5


@pytest.mark.parametrize("cycles", [0, 1, 2, 3, 9, 30])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_window_counts_the_starts_within(cycles, most):
    """Starts in any cycle in which one more is legal; tight half of the time."""
    rng = random.Random(f"{cycles} {most}")
    seen = watch(Window(cycles=cycles, most=most), 800,
                 lambda ready: int(bool(ready) and rng.random() < 0.5))
    starts, refused, tight = [], 0, 0
    for now, (ready, begin) in enumerate(seen):
        assert ready == (len(starts) < most or now - starts[-most] >= cycles), now
        refused += not ready
        if begin:
            tight += len(starts) >= most and now - starts[-most] == cycles
            starts.append(now)
    assert len(starts) > 20
    assert (refused > 20) == (cycles > most)
    assert tight > 3 or cycles < most
