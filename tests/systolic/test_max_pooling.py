# amaranth: UnusedElaboratable=no
"""Max pooling: parameters, reference, bound."""

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.max_pooling import MaxPoolingModel, max_pool, pool_cycles
from cyclebound.hdl.systolic.max_pooling import MaxPooling

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "thing", "least"), [
    ("columns", "Column count", 1), ("width", "Element width", 1), ("most", "Most windows", 2)])
def test_parameters(name, thing, least):
    with pytest.raises(ValueError, match=f"^{thing} must be at least {least}, not {least - 1}$"):
        MaxPooling(**{"columns": 1} | {name: least - 1})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not '2'$"):
        MaxPooling(**{"columns": 1} | {name: "2"})


def test_the_reference_by_hand():
    image = np.array([[1, 5, 2], [4, 3, 9], [8, 8, 8]])[:, :, None]
    assert max_pool(image, 2).tolist() == [[[5]]]
    assert max_pool(image, 3).tolist() == [[[9]]]
    assert max_pool(image, 1).tolist() == image.tolist()


def test_bound_and_model_by_hand():
    assert pool_cycles(height=3, width=3, window=2) == 8  # the fifth pixel, and three more
    image = np.arange(9).reshape(3, 3, 1)
    model = MaxPoolingModel([(image, 2)])
    assert [model.step(cycle < 9, True)[1] for cycle in range(12)] == (
        [None] * 7 + [[4]] + [None] * 4)
    with pytest.raises(NotCovered, match=r"^window must be at most 2, the image, not 3$"):
        pool_cycles(height=2, width=5, window=3)
    with pytest.raises(NotCovered, match=r"^window must be a whole number of at least 1, not 0$"):
        pool_cycles(height=2, width=5, window=0)
