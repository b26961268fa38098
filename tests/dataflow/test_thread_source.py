# amaranth: UnusedElaboratable=no
"""Thread source and fork, in Amaranth's own simulator."""

import random

import pytest

from cyclebound.golden.dataflow import bounds
from cyclebound.hdl.dataflow.fork import Fork
from cyclebound.hdl.dataflow.thread_source import ThreadSource
from cyclebound.tb.dataflow import thread_source_properties as properties
from kit.faults import Tampered, override
from kit.random_streams import play_streams

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


def play(dut, *, change=False, threads=5):
    """Starts in one cycle of four; with ``change``, the value changes all the time."""
    def each(ctx, rng):
        ctx.set(dut.start, rng.random() < 0.25)
        ctx.set(dut.configuration, {"threads": threads, "number": 0,
                                    "value": rng.getrandbits(8) if change else 77})

    play_streams(dut, properties.ThreadSourceCheck(dut), each=each)


@pytest.mark.parametrize(("fault", "says"), [
    (lambda inner, outer, cycle: [], None),
    (lambda inner, outer, cycle: outer.busy.eq(inner.busy & (cycle < 40)),
     "busy without threads to start, or idle with some"),
    (lambda inner, outer, cycle: outer.tokens.valid.eq(inner.tokens.valid | (cycle == 0)),
     "a token of no thread, or none of one"),
    (lambda inner, outer, cycle: outer.tokens.payload.tid.eq(
        inner.tokens.payload.tid ^ (cycle > 40)), "not the next thread"),
    (lambda inner, outer, cycle: outer.tokens.payload.data.eq(inner.tokens.payload.tid),
     "not the thread's number, or not the constant"),
])
def test_checker_fires(only, fault, says):
    dut = Tampered(ThreadSource(tid_width=4, width=8), override(fault))
    if says is None:
        play(dut)
        return
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(dut)


@pytest.mark.parametrize(("wrong", "says"), [
    ({"change": True}, "owed: configuration changed under way"),
    ({"threads": 17}, "no threads, or more than there are")])
def test_checker_names_the_neighbour_that_breaks_the_rules(wrong, says):
    with pytest.raises(AssertionError, match=f"^Assumption violated: {says}$"):
        play(ThreadSource(tid_width=4, width=8), **wrong)
