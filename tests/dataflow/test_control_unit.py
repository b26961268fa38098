# amaranth: UnusedElaboratable=no
"""Control unit: parameters, model and bounds."""

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.control_unit import ControlUnitModel
from cyclebound.hdl.dataflow.control_unit import ControlUnit

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^width must be at least 1, not 0$"):
        ControlUnit(depth=2, tid_width=4, width=0)


@pytest.mark.parametrize(("case", "values", "result"), [
    ({"function": Control.JOIN}, (1, 1, 1), 1), ({"function": Control.JOIN}, (1, 0, 1), 0),
    ({"function": Control.JOIN, "inverted": (1,)}, (1, 0, 1), 1),
    ({"function": Control.LABEL}, (0, 0, 0), 0), ({"function": Control.LABEL}, (0, 1, 0), 1),
    ({"function": Control.LABEL, "operands": (0,), "inverted": (0,)}, (0,), 1),
    ({"function": Control.PHI}, (1, 7, 9), 7), ({"function": Control.PHI}, (0, 7, 9), 9)])
def test_what_functions_mean(case, values, result):
    model = ControlUnitModel(depth=2, **case)
    model.step([(3, value) for value in values] + [None] * (3 - len(values)), [True, True])
    model.step([None] * 3, [True, True])
    assert model.step([None] * 3, [True, True]).results == ((3, result), None)


def test_bounds():
    assert bounds.delay_stream(threads=10, slots=1) == 20
    assert bounds.delay_stream(threads=10, slots=2) == 11
    with pytest.raises(NotCovered, match=r"^slots must be a whole number of 1 to 16, not 17$"):
        bounds.delay_stream(threads=10, slots=17)
