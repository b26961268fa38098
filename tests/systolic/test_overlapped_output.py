# amaranth: UnusedElaboratable=no
"""Output-stationary array whose folds overlap: parameters, model, bounds."""

import itertools

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic import overlapped_output as golden
from cyclebound.golden.systolic.bounds import completion, eq5_6
from cyclebound.golden.systolic.output_stationary import assemble, folds
from cyclebound.hdl.systolic.output_stationary_harness import OverlappedOutputHarness
from cyclebound.hdl.systolic.overlapped_output import OverlappedOutputArray

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("make", [OverlappedOutputArray, OverlappedOutputHarness])
def test_parameters(make):
    for name, thing in (("rows", "Row count"), ("columns", "Column count"),
                        ("operand_width", "Operand width")):
        good = {"rows": 1, "columns": 1}
        with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not 0$"):
            make(**good | {name: 0})
        with pytest.raises(TypeError, match=f"^{thing} must be an integer, not 1.0$"):
            make(**good | {name: 1.0})


def play(rows, columns, m, k, n):
    """A product on the model, operands always on offer: C, cycles of MACs, cycles of it all."""
    rng = np.random.default_rng([m, k, n])
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    cut = folds(a, b, rows, columns)
    steps = [step for fold in cut for step in fold.steps()]
    model = golden.OverlappedOutputModel(rows, columns)
    results, active, cycle = [], [], 0
    while len(results) < rows * len(cut):
        now = steps[0] if steps else None
        out = model.step(now and now[:2], now and now[2], True)
        if now and out.left_ready:
            steps.pop(0)
        results += [out.result] if out.result is not None else []
        active += [cycle] if out.active else []
        cycle += 1
    assert np.array_equal(assemble(m, n, rows, columns, results), a @ b)
    return active[-1] - active[0] + 1, cycle


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3), (4, 2)])
def test_the_model_takes_what_the_bounds_say(rows, columns):
    for m, k, n in itertools.product((1, 3, 5, 9), (1, 2, 3, 7), (1, 4)):
        shape = {"rows": rows, "columns": columns, "m": m, "k": k, "n": n}
        assert play(**shape) == (golden.overlapped_macs(**shape),
                                 golden.overlapped_completion(**shape))


def test_one_fold_is_the_thesis():
    for rows, columns, k in itertools.product((1, 2, 5), repeat=3):
        shape = {"rows": rows, "columns": columns, "m": rows, "k": k, "n": columns}
        assert golden.overlapped_macs(**shape) == eq5_6(**shape)
        assert golden.overlapped_completion(**shape) == completion(**shape)


def test_the_least_product_that_overlap_makes_faster():
    shape = {"rows": 1, "columns": 2, "m": 2, "k": 1, "n": 1}
    assert (eq5_6(**shape), golden.overlapped_macs(**shape)) == (4, 3)


def test_overlap_pays():
    shape = dict.fromkeys("mkn", 512) | {"rows": 16, "columns": 16}
    assert golden.overlapped_macs(**shape) == 524_318
    assert 512**3 / 256 / golden.overlapped_macs(**shape) > 0.9999
    assert 512**3 / 256 / eq5_6(**shape) < 0.95


@pytest.mark.parametrize("formula", [golden.overlapped_macs, golden.overlapped_completion])
def test_sizes_are_counts(formula):
    for what in ("rows", "columns", "m", "k", "n"):
        shape = dict.fromkeys(("rows", "columns", "m", "k", "n"), 1) | {what: 0}
        with pytest.raises(NotCovered,
                           match=f"^{what} must be a whole number of at least 1, not 0$"):
            formula(**shape)
