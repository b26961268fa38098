"""Step pictures: what meets where and when, and that they are drawn."""

import numpy as np
import pytest

from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.output_stationary import occupancy
from cyclebound.golden.systolic.steps import Mac, steps
from cyclebound.sim.drawing.drawing import write
from cyclebound.sim.pictures.steps import figure

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("flow", Dataflow)
def test_every_product_happens_once(flow):
    """All a * b of a 3 x 3 x 3 product, each added to the element of C that it belongs to."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(-9, 9, (2, 3, 3))
    c = np.zeros((3, 3), dtype=int)
    grids = steps(flow, 3, 3, 3)
    for mac in (mac for grid in grids for row in grid for mac in row if mac):
        assert mac.a[1] == mac.b[0]
        c[mac.a[0], mac.b[1]] += a[mac.a] * b[mac.b]
    assert np.array_equal(c, a @ b)
    active = [sum(mac is not None for row in grid for mac in row) for grid in grids]
    assert active == occupancy(3, 3, 3) == [1, 3, 6, 7, 6, 3, 1]


def test_corners():
    assert steps(Dataflow.OUTPUT, 2, 2, 3)[0][0][0] == Mac((0, 0), (0, 0), 1)
    assert steps(Dataflow.WEIGHT, 2, 2, 3)[-1][1][1] == Mac((2, 1), (1, 1), 2)
    assert steps(Dataflow.INPUT, 2, 2, 3)[-1][1][1] == Mac((1, 1), (1, 2), 2)
    assert steps(Dataflow.OUTPUT, 2, 2, 3)[0][1][1] is None


def test_picture_is_drawn(tmp_path):
    write(figure(2), tmp_path / "steps.svg")
    text = (tmp_path / "steps.svg").read_text()
    assert text.startswith("<?xml")
    assert text.count(": 3 PEs") == 2 * len(Dataflow)  # 1, 3, 3, 1 active PEs
