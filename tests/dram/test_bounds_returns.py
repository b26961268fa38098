"""Tiles so long that they come back to banks in use."""

import pytest

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.timing import PARTS

pytestmark = pytest.mark.unit
X16, X8, SLOW = "ddr4-3200aa-x16", "ddr4-3200aa-x8", "ddr4-1866m-x16"

# part, write, bursts, the worst start, its delay
RETURNS = [
    (X16, 0, 772, 253, 3216), (X16, 1, 790, 253, 3335), (X16, 0, 1797, 253, 7361),
    (X16, 1, 1798, 253, 7447), (X16, 1, 2822, 253, 11623), (X8, 0, 1796, 2046, 7306),
    (X8, 1, 3845, 2046, 15624), (SLOW, 0, 1797, 1022, 7271), (SLOW, 1, 772, 1021, 3191)]


@pytest.mark.parametrize(("part", "write", "bursts", "start", "delay"), RETURNS)
def test_tiles_that_come_back_to_a_bank(part, write, bursts, start, delay):
    """A burst that was passed over keeps its bank open, which costs most of a row cycle."""
    found = schedule(PARTS[part], range(start, start + bursts), write=bool(write)).issue_delay
    assert found == delay == tile_issue_delay(part=part, bursts=bursts, write=write)
