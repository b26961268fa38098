"""Issue delays of tiles: the project's formula against every alignment, the paper's beside it."""

import pytest

from cyclebound.golden.dram.bounds import eq15, eq16, tile_issue_delay
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.pipeline_bounds import full_load, with_refreshes
from cyclebound.golden.dram.timing import DDR4_3200AA_X8, DDR4_3200AA_X16, PARTS
from cyclebound.golden.dram.worst_case import worst_issue_delay

pytestmark = pytest.mark.unit
X8, X16 = DDR4_3200AA_X8, DDR4_3200AA_X16


@pytest.mark.parametrize("write", [0, 1])
@pytest.mark.parametrize("part", PARTS)
def test_the_worst_of_all_alignments_is_the_bound(part, write):
    for bursts in (*range(1, 17), 23, 24):
        reached, _ = worst_issue_delay(part=part, bursts=bursts, write=write)
        assert reached == tile_issue_delay(part=part, bursts=bursts, write=write)


@pytest.mark.parametrize(("part", "first", "bursts", "write", "says", "reached"), [
    (X16, 252, 8, 1, 127, 126),   # loose by one
    (X8, 0, 8, 1, 112, 116),      # exceeded
    (X8, 0, 9, 0, 96, 88),        # loose by eight
    (PARTS["ddr4-1866m-x16"], 255, 7, 0, 60, 61),
    (PARTS["ddr3-1600-module"], 253, 5, 0, 54, 55),
])
def test_errata_of_eq15(part, first, bursts, write, says, reached):
    values = {"part": part, "bursts": bursts, "write": write}
    assert eq15.of(values) == says
    assert schedule(part, range(first, first + bursts), write=bool(write)).issue_delay == reached
    assert tile_issue_delay.of(values) == reached


def test_errata_of_eq16():
    values = {"part": X16, "bursts": 1, "rows": 1, "write": 0}
    assert eq16.of(values) == 56
    assert schedule(X16, [0], indexed=True).issue_delay == indexed_issue_delay.of(values) == 74


def test_refreshes_that_were_put_off():
    whole = X16.nREFI - X16.nRFC
    assert with_refreshes(part=X16, cycles=0) == 0
    assert with_refreshes(part=X16, cycles=whole) == X16.nREFI
    assert with_refreshes(part=X16, cycles=whole + 1) == whole + 1 + 2 * X16.nRFC
    assert with_refreshes(part=X16, cycles=88, owed=8) == 88 + 9 * X16.nRFC


def test_full_load_is_so_many_of_the_longest():
    """1,600 tiles of 4 KiB, which the harness measures to within a refresh."""
    assert full_load(part=X16, requests=1600, bursts=64, write=0) == 532_880
    assert full_load(part=X16, requests=1600, bursts=64, write=1) == 586_320
    one = with_refreshes(part=X16, cycles=tile_issue_delay(part=X16, bursts=64, write=1))
    assert full_load(part=X16, requests=1, bursts=64, write=1) == one
