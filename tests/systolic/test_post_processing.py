# amaranth: UnusedElaboratable=no
"""Post-processing: parameters, reference, bound."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.post_processing import (
    PostProcessingModel,
    Scale,
    post_process,
    requantise,
)
from cyclebound.hdl.systolic.post_processing import PostProcessing

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "thing", "least"), [
    ("columns", "Column count", 1), ("accumulator_width", "Accumulator width", 2),
    ("multiplier_width", "Multiplier width", 1), ("result_width", "Result width", 2)])
def test_parameters(name, thing, least):
    good = {"columns": 1}
    with pytest.raises(ValueError, match=f"^{thing} must be at least {least}, not {least - 1}$"):
        PostProcessing(**good | {name: least - 1})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not 8.0$"):
        PostProcessing(**good | {name: 8.0})


def test_a_result_is_no_wider_than_a_sum():
    with pytest.raises(ValueError, match=r"^Result width must be at most 4, that of the "
                                         r"accumulator, not 5$"):
        PostProcessing(columns=1, accumulator_width=4, result_width=5)


@pytest.mark.parametrize(("name", "bad"), [("multiplier", 65536), ("multiplier", -1),
                                           ("shift", 64), ("low", -129), ("high", 128)])
def test_a_scale_that_does_not_fit(name, bad):
    with pytest.raises(ValueError, match=f"^{name} must be -?[0-9]+ to [0-9]+, not {bad}$"):
        Scale(**{name: bad})
    with pytest.raises(TypeError, match=f"^{name} must be a whole number, not 0.5$"):
        Scale(**{name: 0.5})


def test_limits_in_order():
    with pytest.raises(ValueError, match=r"^low must be at most high, 3, not 4$"):
        Scale(low=4, high=3)


def test_the_reference_is_exact():
    """Against fractions, and at the ends of 32 bits."""
    rng = np.random.default_rng(1)
    ends = -2**31, 2**31 - 1
    for _ in range(500):
        scale = Scale(int(rng.integers(65536)), int(rng.integers(64)))
        value, bias = (int(rng.choice([*ends, int(rng.integers(*ends))])) for _ in range(2))
        exact = Fraction(value + bias) * scale.multiplier / 2**scale.shift
        found = int(requantise(np.array([value]), np.array([bias]), scale)[0])
        assert found == max(-128, min(127, floor(exact + Fraction(1, 2))))


def test_halves_are_rounded_up():
    half = Scale(1, 1)
    assert requantise(np.arange(-4, 5), np.array(0), half).tolist() == [
        -2, -1, -1, 0, 0, 1, 1, 2, 2]
    assert requantise(np.arange(-4, 5), np.array(0), Scale(1, 0, low=0)).tolist() == [
        0, 0, 0, 0, 0, 1, 2, 3, 4]


def test_bound_and_model_by_hand():
    assert post_process(rows=1) == 7
    with pytest.raises(NotCovered, match=r"^rows must be a whole number of at least 1, not 0$"):
        post_process(rows=0)
    model = PostProcessingModel()
    seen = [model.step([7] if cycle == 0 else None, cycle != 6)[::-1] for cycle in range(9)]
    assert seen == [(None, True)] * 6 + [([7], False), ([7], True), (None, True)]
