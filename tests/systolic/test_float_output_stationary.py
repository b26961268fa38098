# amaranth: UnusedElaboratable=no
"""Output-stationary array in floating point: parameters, arithmetic, model, bounds."""

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic import float_output_stationary as golden
from cyclebound.golden.systolic.float_layout import STAGES
from cyclebound.golden.systolic.float_weight_stationary import to_bfloat16
from cyclebound.hdl.systolic.float_output_stationary import FloatOutputStationaryArray

pytestmark = pytest.mark.unit

ONE, TWO = 0x3F80, 0x4000


@pytest.mark.parametrize(("name", "thing"), [("rows", "Row count"), ("columns", "Column count")])
def test_parameters(name, thing):
    good = {"rows": 1, "columns": 1}
    with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not 0$"):
        FloatOutputStationaryArray(**good | {name: 0})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not 1.0$"):
        FloatOutputStationaryArray(**good | {name: 1.0})


def test_sums_are_numpys():
    rng = np.random.default_rng(3)
    left, top = (to_bfloat16(rng.standard_normal((20, 3)).astype(np.float32)) for _ in range(2))
    wide = [(operand.astype(np.uint32) << 16).view(np.float32) for operand in (left, top)]
    total = np.zeros((3, 3), dtype=np.float32)
    for column, row in zip(*wide, strict=True):
        total = (total + np.multiply.outer(column, row)).astype(np.float32)
    found = np.array(golden.float_fold(left.tolist(), top.tolist()), dtype=np.uint32)
    assert np.array_equal(found.view(np.float32), total)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3), (4, 8)])
def test_the_model_takes_what_the_bounds_say(rows, columns):
    for k, sets in ((1, 1), (3, 2), (9, 2)):
        model = golden.FloatOutputStationaryModel(rows, columns)
        steps = [(([ONE] * rows, number == k - 1), [TWO] * columns)
                 for _ in range(sets) for number in range(k) for _ in range(STAGES)]
        results, macs, cycle = [], [], 0
        while len(results) < rows * STAGES * sets:
            left, top = steps[0] if steps else (None, None)
            accepts, _, result, active = model.step(left, top, True)
            steps = steps[1:] if accepts else steps
            results += [] if result is None else [result]
            macs += [cycle] if active else []
            cycle += 1
        sums = np.array(results, dtype=np.uint32).view(np.float32)
        assert np.array_equal(sums, np.full_like(sums, 2 * k))
        shape = {"rows": rows, "columns": columns, "m": rows, "k": k, "n": columns * STAGES * sets}
        assert cycle == golden.turns_completion(**shape)
        assert macs[-1] - macs[0] + 1 == golden.turns_macs(**shape)


@pytest.mark.parametrize("formula", [golden.turns_macs, golden.turns_completion])
def test_sizes_are_counts(formula):
    good = dict.fromkeys(("rows", "columns", "m", "k", "n"), 1)
    for name in good:
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1"):
            formula(**good | {name: 0})
