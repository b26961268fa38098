"""Tiles so long that they come back to banks in use."""

import pytest

from cyclebound.golden.dram.bounds import tile_issue_delay, tile_limit
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.timing import PARTS

pytestmark = pytest.mark.unit
X16, X8, SLOW = "ddr4-3200aa-x16", "ddr4-3200aa-x8", "ddr4-1866m-x16"

# part, write, bursts, the worst start that was found, its delay
RETURNS = [
    (X16, 0, 772, 253, 3216), (X16, 1, 790, 253, 3335), (X16, 0, 1797, 253, 7361),
    (X16, 1, 1798, 253, 7447), (X16, 1, 2822, 253, 11623), (X8, 0, 1796, 2046, 7306),
    (X8, 1, 3845, 2046, 15624), (SLOW, 0, 1797, 1022, 7271), (SLOW, 1, 772, 1021, 3191)]


@pytest.mark.parametrize(("part", "write", "bursts", "start", "delay"), RETURNS)
def test_tiles_that_come_back_to_a_bank(part, write, bursts, start, delay):
    """Each return costs a row cycle; little less was found in a search of starts and lengths."""
    found = schedule(PARTS[part], range(start, start + bursts), write=bool(write)).issue_delay
    returns = 1 + (bursts - tile_limit(PARTS[part]) - 1) // PARTS[part].bursts_per_sweep
    bound = tile_issue_delay(part=part, bursts=bursts, write=write)
    assert found == delay <= bound <= delay + 40 * returns


def test_tiles_that_come_back_to_no_bank():
    assert [tile_limit(PARTS[part]) for part in PARTS] == [769, 1793, 769, 769]
    assert tile_issue_delay(part=X16, bursts=769, write=0) == 3141
    assert tile_issue_delay(part=X16, bursts=770, write=0) == 3142 + 70
