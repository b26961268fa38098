# amaranth: UnusedElaboratable=no
"""Floating-point datapath: its parts, in Amaranth's own simulator."""

import random

import pytest
from amaranth.hdl import Module, Signal

from cyclebound.hdl.leading_zeros import leading_zeros

pytestmark = pytest.mark.unit


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
