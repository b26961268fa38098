# amaranth: UnusedElaboratable=no
"""Weight-stationary array in floating point: parameters, arithmetic, model, bounds."""

import itertools

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic import float_weight_stationary as golden
from cyclebound.hdl.systolic.float_weight_stationary import FloatWeightStationaryArray

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "thing"), [("rows", "Row count"), ("columns", "Column count")])
def test_parameters(name, thing):
    good = {"rows": 1, "columns": 1}
    with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not 0$"):
        FloatWeightStationaryArray(**good | {name: 0})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not 1.0$"):
        FloatWeightStationaryArray(**good | {name: 1.0})


def test_sums_are_numpys():
    """A product of two bfloat16 is exact in single precision: numpy adds as the array does."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        scale = np.float32(2.0) ** rng.integers(-20, 20, (5, 4)).astype(np.float32)
        row = golden.to_bfloat16(rng.standard_normal(5).astype(np.float32))
        weights = golden.to_bfloat16((rng.standard_normal((5, 4)) * scale).astype(np.float32))
        total = np.zeros(4, dtype=np.float32)
        wide = [(operand.astype(np.uint32) << 16).view(np.float32) for operand in (row, weights)]
        for value, line in zip(*wide, strict=True):
            total = (total + (value * line).astype(np.float32)).astype(np.float32)
        found = golden.row_of_sums(row.tolist(), weights.tolist())
        assert np.array(found, dtype=np.uint32).view(np.float32).tolist() == total.tolist()


def test_bfloat16_is_the_nearest():
    for value, bits in ((1.0, 0x3F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82),
                        (-2.0, 0xC000), (1 + 2**-8 + 2**-20, 0x3F81)):
        assert golden.to_bfloat16(np.array([value], dtype=np.float32))[0] == bits


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3), (3, 2)])
def test_the_model_takes_what_the_bounds_say(rows, columns):
    for m, folds in itertools.product((1, 4, 40), (1, 2, 3)):
        model = golden.FloatWeightStationaryModel(rows, columns)
        weights = [[0x3F80] * columns] * (rows * folds)
        left = [([0x4000] * rows, t == m - 1) for _ in range(folds) for t in range(m)]
        results, last_mac, cycle = [], 0, 0
        while len(results) < m * folds:
            takes, accepts, result, active = model.step(
                weights[0] if weights else None, left[0] if left else None, True)
            weights, left = weights[takes:], left[accepts:]
            results += [] if result is None else [result]
            last_mac = cycle if active else last_mac
            cycle += 1
        expected = np.array([2.0 * rows], dtype=np.float32).view(np.uint32)[0]
        assert set(itertools.chain.from_iterable(results)) == {expected}
        shape = {"rows": rows, "columns": columns, "m": m, "k": rows, "n": columns * folds}
        assert cycle == golden.float_completion(**shape)
        assert last_mac + 1 == golden.float_steps(**shape)


@pytest.mark.parametrize("formula", [golden.float_steps, golden.float_completion])
def test_sizes_are_counts(formula):
    good = dict.fromkeys(("rows", "columns", "m", "k", "n"), 1)
    for name in good:
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1"):
            formula(**good | {name: 0})
