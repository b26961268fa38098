# amaranth: UnusedElaboratable=no
"""Floating-point datapath: RTL against exact arithmetic, in Amaranth's own simulator."""

import random

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal

from cyclebound.golden.dataflow.float_fma import FloatFmaModel, Fused
from cyclebound.hdl.dataflow.float_fma import FloatFma
from cyclebound.hdl.dataflow.leading_zeros import leading_zeros
from cyclebound.tb.dataflow.float_cases import SPECIAL, hard_triple

pytestmark = pytest.mark.unit


def test_converts_again():
    fma = FloatFma()
    assert rtlil.convert(fma) == rtlil.convert(fma)


@pytest.mark.parametrize("width", [1, 2, 5, 8, 79])
def test_leading_zeros(simulate, width):
    m = Module()
    value, count, empty = Signal(width), Signal(7), Signal()
    zeros, none = leading_zeros(m, value)
    m.d.comb += [count.eq(zeros), empty.eq(none)]
    m.d.sync += Signal().eq(0)

    async def bench(ctx):
        for place in range(width):
            ctx.set(value, 1 << place | random.Random(place).getrandbits(place))
            assert ctx.get(count) == width - 1 - place
            assert not ctx.get(empty)
        ctx.set(value, 0)
        assert ctx.get(empty)
    simulate(m, bench)


def test_rtl_is_exact_in_every_cycle(simulate):
    rng = random.Random("fma")
    items = [Fused(*hard_triple(rng)) for _ in range(300)]
    items += [Fused(*(rng.choice(SPECIAL) for _ in range(3))) for _ in range(200)]
    items += [Fused(0, 0, rng.getrandbits(32) >> rng.randrange(32), 1) for _ in range(50)]
    rng.shuffle(items)
    dut, model = FloatFma(), FloatFmaModel()
    shown = []

    async def bench(ctx):
        queue = list(items)
        held = None
        while queue or held or not model.empty:
            held = held or (queue.pop() if queue and rng.random() < 0.9 else None)
            ready = rng.random() < 0.9
            ctx.set(dut.result.ready, ready)
            ctx.set(dut.operands.valid, held is not None)
            if held:
                ctx.set(dut.operands.payload, {"a": held.a, "b": held.b, "c": held.c,
                                               "convert": held.convert})
            assert ctx.get(dut.operands.ready) == model.takes(ready)
            assert ctx.get(dut.result.valid) == (model.shown is not None)
            if model.shown is not None:
                assert ctx.get(dut.result.payload) == model.shown.result, model.shown
                shown.append(model.shown)
            taken = model.takes(ready)
            model.step(held, ready)
            held = None if taken else held
            await ctx.tick()
    simulate(dut, bench)
    assert set(shown) == set(items)
