"""Roofline: no layer is above its roof, and the picture has them all."""

import re

import pytest

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.sim.drawing.drawing import write
from cyclebound.sim.pictures.roofline import figure, points, table

pytestmark = pytest.mark.unit


def test_no_layer_is_above_its_roof():
    fast, slow = (points(Device(8), memory) for memory in (Memory(), Memory(40, 4)))
    for one, other in zip(fast, slow, strict=True):
        assert 0 < one.rate <= one.roof <= 64
        assert 0 < other.rate <= other.roof <= one.roof
        assert other.rate < one.rate
    assert any(point.roof < 64 for point in fast)
    assert any(point.roof == 64 for point in fast)


def test_picture_and_table(tmp_path):
    path = tmp_path / "roofline.svg"
    write(figure(), path)
    text = path.read_text()
    for point in points(Device(8), Memory()):
        assert re.search(rf"[> ]{point.layer}[,<]", text)
        assert f"| {point.network}, {point.layer} |" in table([Memory()])
