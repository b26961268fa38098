"""Bounds of the systolic family, against the figures of another simulator and by hand."""

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.bounds import completion, eq5_5, eq5_6

pytestmark = pytest.mark.unit

SCALE_SIM_3_0_0 = [
    # "Total Cycles" of SCALE-Sim 3.0.0, output stationary, no memory stalls. It is the index of the
    # last cycle, counted from 0.
    # rows, columns, m, n, k, total cycles
    (4, 4, 1, 1, 1, 6),
    (4, 4, 3, 3, 3, 8),
    (4, 4, 8, 8, 64, 279),
    (4, 4, 100, 10, 7, 974),
    (8, 8, 2, 3, 5, 18),
    (8, 8, 64, 64, 64, 4991),
    (8, 32, 16, 8, 32, 139),
    (8, 32, 100, 10, 7, 584),
    (16, 16, 16, 16, 16, 45),
    (16, 16, 64, 16, 8, 151),
    (32, 32, 32, 32, 32, 93),
    (32, 32, 64, 64, 64, 503),
]


@pytest.mark.parametrize(("rows", "columns", "m", "n", "k", "cycles"), SCALE_SIM_3_0_0)
def test_eq5_6_is_what_scale_sim_counts(rows, columns, m, n, k, cycles):
    shape = {"rows": rows, "columns": columns, "m": m, "n": n, "k": k}
    assert eq5_6(**shape) == cycles + 1
    if m <= rows and n <= columns:
        assert eq5_5(**shape) == cycles + 1


def test_the_example_of_table_5_1_takes_seven_mac_steps():
    assert eq5_5(rows=3, columns=3, m=3, k=3, n=3) == 7


def test_completion_adds_load_product_capture_and_one_drain():
    # 1x1, one MAC: accepted, multiplied, added, captured, on `results`.
    assert completion(rows=1, columns=1, m=1, k=1, n=1) == 5
    assert completion(rows=2, columns=3, m=2, k=4, n=3) == 1 + 7 + 2 + 2
    # Two folds: the drain of the first one is under the second.
    assert completion(rows=2, columns=3, m=4, k=4, n=3) == 1 + 2 * 7 + 2 + 2


@pytest.mark.parametrize(("m", "n"), [(3, 3), (2, 4), (3, 4)])
def test_eq5_5_does_not_cover_a_product_larger_than_the_array(m, n):
    message = f"^a product of {m} x {n} must fit an array of 2 x 3$"
    with pytest.raises(NotCovered, match=message):
        eq5_5(rows=2, columns=3, m=m, k=1, n=n)


@pytest.mark.parametrize("formula", [eq5_5, eq5_6, completion])
@pytest.mark.parametrize("name", ["rows", "columns", "m", "k", "n"])
def test_sizes_are_counts(formula, name):
    shape = dict.fromkeys(("rows", "columns", "m", "k", "n"), 1) | {name: 0}
    with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1, not 0$"):
        formula(**shape)


@pytest.mark.parametrize("formula", [eq5_5, eq5_6, completion])
def test_a_bound_names_its_source_and_unit(formula):
    assert formula.source in {"thesis on AI accelerators, Eq. 5.5",
                              "thesis on AI accelerators, Eq. 5.6", "this project"}
    assert "Unit:" in formula.derivation
    assert "Counted:" in formula.derivation
