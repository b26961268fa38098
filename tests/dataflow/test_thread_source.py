# amaranth: UnusedElaboratable=no
"""Thread source and fork, in Amaranth's own simulator."""

import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.thread_source import ThreadSourceModel
from cyclebound.hdl.dataflow.fork import Fork
from cyclebound.hdl.dataflow.thread_source import ThreadSource

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^tid width must be from 1 to 32, not 0$"):
        ThreadSource(tid_width=0)
    with pytest.raises(TypeError, match=r"^width must be an integer, not None$"):
        ThreadSource(tid_width=4, width=None)
    with pytest.raises(ValueError, match=r"^consumer count must be at least 1, not 0$"):
        Fork(shape=4, count=0)


def test_converts_again():
    for component in (ThreadSource(tid_width=3, width=5), Fork(shape=4, count=3)):
        assert rtlil.convert(component) == rtlil.convert(component)


@pytest.mark.parametrize(("threads", "value"), [(1, None), (8, 5), (5, None)])
def test_rtl_is_the_model_in_every_cycle(simulate, threads, value):
    dut = ThreadSource(tid_width=3, width=8)
    model = ThreadSourceModel(threads=threads, value=value)
    rng, tokens = random.Random(threads), []

    async def bench(ctx):
        ctx.set(dut.configuration, {"threads": threads, "number": value is None,
                                    "value": value or 0})
        for cycle in range(30):
            ready = rng.random() < 0.7
            ctx.set(dut.start, cycle == 2)
            ctx.set(dut.tokens.ready, ready)
            shown = model.step(cycle == 2, ready)
            assert ctx.get(dut.tokens.valid) == ctx.get(dut.busy) == (shown is not None)
            if shown is not None:
                p = dut.tokens.payload
                assert (ctx.get(p.tid), ctx.get(p.data)) == shown
                tokens.extend([shown] * ready)
            await ctx.tick()
    simulate(dut, bench)
    assert [tid for tid, _ in tokens] == list(range(threads))
    assert bounds.source_threads(threads=threads) == threads + 1


def test_fork_hands_each_item_to_everybody_once(simulate):
    dut = Fork(shape=8, count=3)
    rng, got = random.Random("fork"), [[] for _ in range(3)]
    items = [rng.getrandbits(8) for _ in range(40)]

    async def bench(ctx):
        queue = list(items)
        while queue:
            ctx.set(dut.source.valid, 1)
            ctx.set(dut.source.payload, queue[0])
            for sink in dut.sinks:
                ctx.set(sink.ready, rng.random() < 0.5)
            for k, sink in enumerate(dut.sinks):
                if ctx.get(sink.valid) and ctx.get(sink.ready):
                    got[k].append(ctx.get(sink.payload))
            if ctx.get(dut.source.ready):
                queue.pop(0)
            await ctx.tick()
    simulate(dut, bench)
    assert got == [items] * 3
