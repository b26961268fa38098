import gc

import pytest
from amaranth.hdl import Assert, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from kit.run_bench import run_bench

pytestmark = pytest.mark.unit


class Counter(wiring.Component):
    count: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


class NeverNine(wiring.Component):
    count: In(4)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Assert(self.count != 9, "nine")
        return m


def test_bench_runs_to_its_end():
    dut, seen = Counter(), []

    async def bench(ctx):
        for _ in range(5):
            seen.append(ctx.get(dut.count))
            await ctx.tick()

    run_bench(dut, bench, NeverNine())
    assert seen == [0, 1, 2, 3, 4]


def test_checker_stops_a_bench_in_the_middle_of_a_repeat():
    """And nothing is left that complains when it is collected, perhaps in another test."""
    reached = []

    async def bench(ctx):
        await ctx.tick().repeat(60)
        reached.append(True)

    with pytest.raises(AssertionError, match=r"^Assertion violated: nine$"):
        run_bench(Counter(), bench, NeverNine())
    gc.collect()
    assert reached == []


def test_a_bench_that_does_not_end_is_an_error():
    async def bench(ctx):
        while True:
            await ctx.tick()

    with pytest.raises(AssertionError, match=r"^no end after 50 clock edges$"):
        run_bench(Counter(), bench, limit=50)
