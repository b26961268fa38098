"""Boot of a grid: by the jump tile, and by each tile's own registers."""

import re
from pathlib import Path

import pytest

from cyclebound.tools.shmac.boot import starts


@pytest.mark.unit
def test_the_jump_tile_serves_one_core_after_the_other():
    begun = starts(4)
    assert min(begun, key=begun.get) == (0, 1)
    assert max(begun, key=begun.get) == (3, 3)
    assert len(begun) == 15
    assert max(begun.values()) > 2 * min(begun.values())


@pytest.mark.unit
@pytest.mark.parametrize(("bypass", "cycle"), [(True, 8), (False, 14)])
def test_their_own_registers_serve_all_in_the_same_cycle(bypass, cycle):
    assert set(starts(3, jump=False, bypass=bypass).values()) == {cycle}


@pytest.mark.unit
@pytest.mark.parametrize("side", [5, pytest.param(10, marks=pytest.mark.thorough)])
def test_the_page_has_its_figures(side):
    begun = starts(side)
    first, last = min(begun.values()), max(begun.values())
    page = (Path(__file__).parents[2] / "docs" / "shmac.md").read_text()
    said = re.search(r"with its program in cycle (\d+) and \(9, 9\) (\d+) cycles later.*; "
                     r"of 5 x 5, (\d+)\.", page)
    assert said is not None
    assert int(said[1]) == first
    assert int(said[2 if side == 10 else 3]) == last - first
