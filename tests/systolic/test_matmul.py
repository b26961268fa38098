# amaranth: UnusedElaboratable=no
"""Matrix multiplier: parameters, memory layouts, and its bound in parts."""

import itertools

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic import matmul as golden
from cyclebound.golden.systolic.tile_sequencer import walk
from cyclebound.hdl.systolic.matmul import Matmul

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "thing"), [
    ("a_depth", "Depth of A"), ("b_depth", "Depth of B"), ("sums_depth", "Depth of the sums")])
def test_depths(name, thing):
    good = {"rows": 2, "columns": 3}
    with pytest.raises(ValueError, match=f"^{thing} must be at least 2, not 1$"):
        Matmul(**good, **{name: 1})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not '2'$"):
        Matmul(**good, **{name: "2"})


@pytest.mark.parametrize(("m", "k", "n"), list(itertools.product((1, 2, 5), repeat=3)))
def test_words_are_the_operands_in_the_order_of_their_use(m, k, n):
    """Multiply from the words alone, as the memories hold them."""
    rng = np.random.default_rng([m, k, n])
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    a_words, b_words = golden.a_words(a, 2), iter(golden.b_words(b, 2, 3))
    sums, rows = np.zeros((m, 3), dtype=int), []
    for tile in walk(k, n, 2, 3):
        if tile.first:
            sums, left = np.zeros((m, 3), dtype=int), iter(a_words)
        weights = np.array([next(b_words) for _ in range(tile.height)])
        sums = sums + np.array([next(left) for _ in range(m)])[:, :tile.height] @ weights
        if tile.last:
            rows += sums.tolist()
    assert next(b_words, None) is None
    assert rows == golden.expected_rows(a, b, 3)
    assert np.array_equal(golden.product_of(rows, m, n), a @ b)


def test_the_bound_by_hand():
    shape = {"rows": 2, "columns": 3, "m": 5, "k": 2, "n": 3}
    # command, read, 2 rows of weights and the cycle in which they come into use, 5 rows of A,
    # 2 + 3 - 1 steps to the last sum, product and sum, the sums of folds before, results
    assert golden.matmul_cycles(**shape) == 2 + 2 + 5 + 2 + 3 - 1 + 2 + 2
    assert golden.matmul_cycles(**shape, double_buffer=False) == golden.matmul_cycles(**shape) - 1
    assert golden.matmul_cycles(**shape | {"k": 3}) == golden.matmul_cycles(**shape) + 5
    with pytest.raises(NotCovered, match=r"^m must be a whole number of at least 1, not 0$"):
        golden.matmul_cycles(**shape | {"m": 0})
