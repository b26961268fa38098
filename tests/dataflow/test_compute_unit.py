# amaranth: UnusedElaboratable=no
"""Compute unit and its datapaths: parameters."""

import pytest
from amaranth.back import rtlil

from cyclebound.hdl.dataflow.compute_unit import ComputeUnit
from cyclebound.hdl.dataflow.integer_alu import IntegerAlu

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^depth must be a power of two, not 3$"):
        ComputeUnit(depth=3, tid_width=8)


def test_alu_converts_alone():
    assert "attribute \\top 1" in rtlil.convert(IntegerAlu())
