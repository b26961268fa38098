# amaranth: UnusedElaboratable=no
"""Thread sink: parameters, bound and model."""

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


def test_bound():
    assert fabric_bounds.sink_done(threads=8) == 2


def test_model_knows_its_threads():
    model = ThreadSinkModel(needed=[0], threads=2)
    model.step([(1, 0)])
    with pytest.raises(KeyError):
        model.step([(1, 0)])
