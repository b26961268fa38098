# amaranth: UnusedElaboratable=no
"""Figure 6's graph: parameters, and what the paper's figure comes to."""

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.diamond import DiamondModel
from cyclebound.hdl.dataflow.diamond import Diamond

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^delay must be from 0 to 16, not 17$"):
        Diamond(depth=2, tid_width=8, delay=17)


def test_converts_again():
    graph = Diamond(depth=2, tid_width=4, delay=1)
    assert rtlil.convert(graph) == rtlil.convert(graph)


def test_model_and_bounds():
    assert DiamondModel(1, 2, 3).product_of(10) == 11 * 15
    assert DiamondModel(1, 0, 0).product_of(2**32 - 1) == 0
    assert bounds.diamond_balanced(threads=1, stages=9) == 34
    assert bounds.diamond_unbalanced(threads=1, stages=9) == 34
    assert (bounds.diamond_unbalanced(threads=1001, stages=9)
            - bounds.diamond_unbalanced(threads=1, stages=9)) == 2000
