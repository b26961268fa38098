"""Contention for a lock: the thesis' benchmark on the golden model of the grid."""

import re
from pathlib import Path

import pytest

from cyclebound.tools.shmac.contention import tries


@pytest.mark.unit
def test_who_is_alone_needs_one_try():
    assert set(tries(3).values()) > {1}
    assert min(tries(3).values()) == 1
    assert len(tries(3)) == 8


@pytest.mark.unit
@pytest.mark.thorough
@pytest.mark.parametrize("side", [7, 9])
def test_the_page_has_its_figures(side):
    found = tries(side)
    page = (Path(__file__).parents[2] / "docs" / "shmac.md").read_text()
    said = re.search(rf"\| {side} x {side} \| [\d,]+ \| ([\d,]+) \| [\d,]+ \| ([\d,]+) \|", page)
    assert said is not None
    assert [int(number.replace(",", "")) for number in said.groups()] == [
        max(found.values()), sum(found.values())]
