"""Speed bins as parts: numbers as the standard has them, and a bound for each."""

from pathlib import Path

import pytest

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.timing import (
    DDR4_3200AA_X8,
    DDR4_3200AA_X16,
    TIMINGS,
    part_named,
)
from cyclebound.golden.dram.worst_case import worst_issue_delay

pytestmark = pytest.mark.unit


def test_all_bins_are_there():
    parts = jedec_parts()
    assert len(parts) == 3 * (24 + 21)
    assert {name.rsplit("-", 1)[1] for name in parts} == {"x4", "x8", "x16"}
    rates = {name.split("-")[1].rstrip("abcdefghijklmnopqrstuvwxyz") for name in parts}
    assert rates == {"800", "1066", "1333", "1600", "1866", "2133", "2400", "2666", "2933", "3200"}


@pytest.mark.parametrize(("name", "part"), [
    ("ddr4-3200aa-x16", DDR4_3200AA_X16), ("ddr4-3200aa-x8", DDR4_3200AA_X8)])
def test_sim_d_has_the_same_numbers(name, part):
    """Its Table 1 is another source."""
    assert all(getattr(jedec_parts()[name], timing) == getattr(part, timing)
               for timing in TIMINGS if timing != "nREFI")
    assert jedec_parts()[name].nREFI == part.nREFI == 12480


@pytest.mark.parametrize(("name", "numbers"), [
    # as data sheets of these devices have them in clocks
    ("ddr4-2400r-x8", {"nRCD": 16, "nRAS": 39, "nRC": 55, "nRTP": 9, "nWR": 18, "nCCD_L": 6,
                       "nRRD_S": 4, "nRRD_L": 6, "nFAW": 26, "nREFI": 9360}),
    ("ddr4-2400r-x16", {"nRRD_S": 7, "nRRD_L": 8, "nFAW": 36}),
    ("ddr4-2933y-x16", {"nRCD": 21, "nRAS": 47, "nWR": 22, "nCCD_L": 8, "nRRD_S": 8,
                        "nRRD_L": 10, "nFAW": 44, "nREFI": 11440}),
    ("ddr4-2133p-x4", {"nCCD_L": 6, "nRAS": 36, "nFAW": 16, "nREFI": 8320}),
    ("ddr3-1600k-x8", {"nRCD": 11, "nRAS": 28, "nRRD_S": 5, "nFAW": 24, "nWR": 12, "nCCD_L": 4}),
    ("ddr3-1333h-x16", {"nRRD_S": 5, "nFAW": 30, "nRAS": 24, "nRC": 33})])
def test_numbers_in_clocks(name, numbers):
    part = part_named(name)
    assert {timing: getattr(part, timing) for timing in numbers} == numbers


def test_every_number_says_how_it_is_printed():
    number = part_named("ddr4-2400r-x16").numbers["nRRD_S"]
    assert (number.clocks, number.source) == (7, "JESD79-4, tRRD_S: max(4 nCK, 5.3 ns)")


def test_every_bin_has_a_bound():
    for part in jedec_parts().values():
        for write in (0, 1):
            assert tile_issue_delay(part=part, bursts=1, write=write) == max(
                part.nRC, part.nRCD + part.nRP + (part.nCWD + part.nBURST + part.nWR if write
                                                  else part.nRTP))


TEMPLATE = str(Path(__file__).parents[2] / "docs/parts/ddr4-2400.toml")


@pytest.mark.parametrize("name", ["ddr4-2400r-x16", "ddr4-2933y-x16", TEMPLATE])
def test_common_parts_that_had_none(name):
    part = part_named(name)
    for bursts in (4, 9):
        assert tile_issue_delay(part=part, bursts=bursts, write=0) == worst_issue_delay(
            part=part, bursts=bursts, write=0)[0]


@pytest.mark.thorough
@pytest.mark.parametrize("name", jedec_parts())
def test_every_bin_by_simulation(name):
    for bursts in (*range(1, 12), 17):
        for write in (0, 1):
            assert tile_issue_delay(part=name, bursts=bursts, write=write) == worst_issue_delay(
                part=name, bursts=bursts, write=write)[0]
