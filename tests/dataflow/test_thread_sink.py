# amaranth: UnusedElaboratable=no
"""Thread sink: parameters, bound and model."""

import pytest

from cyclebound.golden.dataflow import fabric_bounds
from cyclebound.golden.dataflow.thread_sink import ThreadSinkModel
from cyclebound.hdl.dataflow.thread_sink import ThreadSink
from cyclebound.tb.dataflow import thread_sink_properties as properties
from kit.faults import Tampered, override
from kit.random_streams import play_streams

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^operand count must be at least 1, not 0$"):
        ThreadSink(operands=0, tid_width=3)


def test_bound():
    assert fabric_bounds.sink_done(threads=8) == 2


def test_model_knows_its_threads():
    model = ThreadSinkModel(needed=[0], threads=2)
    model.step([(1, 0)])
    with pytest.raises(KeyError):
        model.step([(1, 0)])


def play(dut, *, change=False):
    settings = {"needed": 0b101, "threads": 7}

    def each(ctx, rng):
        ctx.set(dut.configuration, settings | ({"threads": rng.randrange(1, 8)} if change else {}))

    play_streams(dut, properties.ThreadSinkCheck(dut), each=each)


@pytest.mark.parametrize(("fault", "says"), [
    (lambda inner, outer, cycle: [], None),
    (lambda inner, outer, cycle: outer.operands[1].ready.eq(cycle < 9),
     "operand 1: a token is refused"),
    (lambda inner, outer, cycle: outer.done.eq(cycle == 2),
     "done before the last token, or not after it"),
    (lambda inner, outer, cycle: inner.operands[0].valid.eq(
        outer.operands[0].valid & (cycle > 3)), "done before the last token, or not after it"),
])
def test_checker_fires(only, fault, says):
    dut = Tampered(ThreadSink(operands=3, tid_width=3), override(fault))
    if says is None:
        play(dut)
        return
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(dut)


def test_checker_names_the_neighbour_that_breaks_the_rules():
    with pytest.raises(AssertionError,
                       match=r"^Assumption violated: fixed: configuration changed$"):
        play(ThreadSink(operands=3, tid_width=3), change=True)
