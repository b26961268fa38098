# amaranth: UnusedElaboratable=no
"""Thread sink, in Amaranth's own simulator."""

import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dataflow import fabric_bounds
from cyclebound.golden.dataflow.thread_sink import ThreadSinkModel
from cyclebound.hdl.dataflow.thread_sink import ThreadSink

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^operand count must be at least 1, not 0$"):
        ThreadSink(operands=0, tid_width=3)


def test_converts_again():
    sink = ThreadSink(operands=2, tid_width=3, width=4)
    assert rtlil.convert(sink) == rtlil.convert(sink)


@pytest.mark.parametrize("needed", [[0], [0, 2], [0, 1, 2]])
def test_rtl_is_the_model_in_every_cycle(simulate, needed):
    dut = ThreadSink(operands=3, tid_width=3, width=4)
    model = ThreadSinkModel(needed=needed, threads=8)
    rng = random.Random(str(needed))
    queues = [rng.sample(range(8), 8) for _ in range(3)]
    cycles = []

    async def bench(ctx):
        ctx.set(dut.configuration, {"needed": sum(1 << k for k in needed), "threads": 8})
        while not model.done:
            offers = [(queue.pop(), 1) if queue and rng.random() < 0.6 else None
                      for queue in queues]
            for port, offer in zip(dut.operands, offers, strict=True):
                ctx.set(port.valid, offer is not None)
                ctx.set(port.payload, {"tid": offer[0] if offer else 0, "data": 1})
                assert ctx.get(port.ready)
            assert ctx.get(dut.done) == model.step(offers)
            cycles.append(offers)
            await ctx.tick()
        assert ctx.get(dut.done)
    simulate(dut, bench)
    assert len(cycles) >= 8
    assert fabric_bounds.sink_done(threads=8) == 2


def test_model_knows_its_threads():
    model = ThreadSinkModel(needed=[0], threads=2)
    model.step([(1, 0)])
    with pytest.raises(KeyError):
        model.step([(1, 0)])
