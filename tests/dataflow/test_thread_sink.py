# amaranth: UnusedElaboratable=no
"""Thread sink: parameters, bound and model."""

import pytest

from cyclebound.golden.dataflow import fabric_bounds
from cyclebound.golden.dataflow.thread_sink import ThreadSinkModel
from cyclebound.hdl.dataflow.thread_sink import ThreadSink

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
