# amaranth: UnusedElaboratable=no
"""Row-stationary array: parameters, model, bounds."""

import itertools

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.layers import Convolution
from cyclebound.golden.systolic.row_stationary import (
    RowStationaryModel,
    convolve,
    row_completion,
    row_macs,
)
from cyclebound.hdl.systolic.row_stationary import RowStationaryArray

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "thing"), [
    ("rows", "Row count"), ("columns", "Column count"), ("taps", "Tap count"),
    ("operand_width", "Operand width")])
def test_parameters(name, thing):
    good = {"rows": 1, "columns": 1, "taps": 1}
    with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not 0$"):
        RowStationaryArray(**good | {name: 0})
    with pytest.raises(TypeError, match=f"^{thing} must be an integer, not None$"):
        RowStationaryArray(**good | {name: None})


def test_the_reference_is_the_layers():
    rng = np.random.default_rng(1)
    image, weights = rng.integers(-128, 128, (6, 7)), rng.integers(-128, 128, (3, 3))
    layer = Convolution("layer", 6, 7, 1, 1, 3)
    assert np.array_equal(convolve(image, weights),
                          layer.reference(image[None], weights[None, None])[0])


@pytest.mark.parametrize(("rows", "columns", "taps"), [(1, 1, 1), (2, 3, 2), (3, 2, 3)])
def test_the_model_takes_what_the_bounds_say(rows, columns, taps):
    for width, passes in itertools.product(range(taps, taps + 4), (1, 3)):
        rng = np.random.default_rng(width)
        model = RowStationaryModel(rows, columns, taps)
        filters = rng.integers(-128, 128, (passes, rows, taps))
        images = rng.integers(-128, 128, (passes, rows + columns - 1, width))
        weights = [column for kernel in filters for column in kernel.T.tolist()]
        left = [(column, x == width - 1) for image in images
                for x, column in enumerate(image.T.tolist())]
        results, active, cycle = [], [], 0
        expected = [column for pair in zip(images, filters, strict=True)
                    for column in convolve(*pair).T.tolist()]
        while len(results) < len(expected):
            takes, accepts, result, rows_active = model.step(
                weights[0] if weights else None, left[0] if left else None, True)
            weights, left = weights[takes:], left[accepts:]
            results += [] if result is None else [result]
            active += [cycle] if rows_active else []
            cycle += 1
        assert results == expected
        shape = {"rows": rows, "taps": taps, "width": width, "passes": passes}
        assert cycle == row_completion(**shape)
        assert active[-1] - active[0] + 1 == row_macs(**shape)


@pytest.mark.parametrize("formula", [row_macs, row_completion])
def test_sizes_are_counts(formula):
    good = {"rows": 1, "taps": 1, "width": 1, "passes": 1}
    for name in good:
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1"):
            formula(**good | {name: 0})
    with pytest.raises(NotCovered,
                       match=r"^width must be at least 3, that of the filter, not 2$"):
        formula(**good | {"taps": 3, "width": 2})
