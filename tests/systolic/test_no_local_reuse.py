# amaranth: UnusedElaboratable=no
"""Array without local reuse: parameters, model, bound."""

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.no_local_reuse import (
    NoLocalReuseModel,
    reuse_free_cycles,
    reuse_free_words,
)
from cyclebound.hdl.systolic.no_local_reuse import NoLocalReuseArray

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "thing"), [
    ("rows", "Row count"), ("columns", "Column count"), ("operand_width", "Operand width")])
def test_parameters(name, thing):
    good = {"rows": 1, "columns": 1}
    with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not 0$"):
        NoLocalReuseArray(**good | {name: 0})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not None$"):
        NoLocalReuseArray(**good | {name: None})


def test_bound_and_model_by_hand():
    shape = {"rows": 3, "columns": 2, "m": 4, "k": 5, "n": 2}
    assert reuse_free_cycles(**shape) == 4 * 2 + 2 + 2
    assert reuse_free_words(**shape) == 8 * (6 + 3 + 4)
    model = NoLocalReuseModel(3)
    operands = [1, 2, 3], np.ones((3, 2)), [10, 20]
    seen = [model.step(operands if cycle == 0 else None, cycle != 4) for cycle in range(7)]
    assert seen == [(True, None)] * 4 + [(False, [16, 26]), (True, [16, 26]), (True, None)]
    for name in shape:
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1"):
            reuse_free_cycles(**shape | {name: 0})
