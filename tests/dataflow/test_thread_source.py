# amaranth: UnusedElaboratable=no
"""Thread source and fork, in Amaranth's own simulator."""

import random

import pytest

from cyclebound.golden.dataflow import bounds
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


def test_bound():
    assert [bounds.source_threads(threads=threads) for threads in (1, 8, 5)] == [2, 9, 6]


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
