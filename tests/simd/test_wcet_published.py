"""The published WCET analysis: Table 5's numbers, its scope, and what it refuses."""

import dataclasses

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.request import TileRequest
from cyclebound.golden.dram.stride_sequencer import bursts_of
from cyclebound.golden.dram.timing import DDR4_3200AA_X8, DDR4_3200AA_X16
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.tools.simd.assembler import assemble, assemble_file
from cyclebound.tools.simd.kernels import kernel_path
from cyclebound.tools.simd.published.accesses import Tile, longest_of_addresses
from cyclebound.tools.simd.published.analysis import (
    OutsideScope,
    published_wcet,
    schedule_cycles,
)
from cyclebound.tools.simd.published.witnesses import (
    SAFE,
    WITNESSES,
    find,
    indexed_x8,
    inflated_with_owed,
    refreshes,
)

PAPER = MACHINES["paper"]
DATA = """.data
0 0x0 4096 1
1 0x10000 4096 1
2 0x20000 4096 1
.sp_data
0 0 1024 1
.text
"""

pytestmark = pytest.mark.unit


def kernel(text):
    return assemble(DATA + text, "kernel.sas")


def published(text, x=4096, **options):
    return published_wcet(kernel(text), Grid(x, 1, PAPER), DDR4_3200AA_X16, **options)


def test_table_5():
    """computePhiMag is printed in the paper, and so are all of its numbers."""
    found = published_wcet(assemble_file(kernel_path("compute_phi_mag")), Grid(2048, 1, PAPER),
                           DDR4_3200AA_X16)
    assert (found.lower, found.upper, found.access, found.compute) == (1669, 1777, 1687, 1687)
    assert [phase.cycles for phase in found.phases["access"]] == [18, 205, 10, 205, 26, 225]
    assert found.load == 49


@pytest.mark.parametrize(("costs", "work_groups", "cycles"), [
    ([3, 5], 1, 8), ([3, 5], 2, 5 + 5 + 3), ([3, 5], 5, 2 * 10 + 8),
    ([1, 9, 4, 2], 2, 9 + 9 + 4 + 2 + 1), ([7], 3, 7 + 7), ([], 4, 0)])
def test_schedule_by_hand(costs, work_groups, cycles):
    """Equations 17 and 18."""
    assert schedule_cycles(costs, work_groups) == cycles


@pytest.mark.parametrize("part", [DDR4_3200AA_X16, DDR4_3200AA_X8], ids=["x16", "x8"])
@pytest.mark.parametrize("tile", [Tile(40, 40, 1), Tile(7, 100, 3)], ids=str)
def test_addresses_at_once_are_one_by_one(part, tile):
    """Also from a base in the last bank, where a tile runs into the next row."""
    for base in (5, part.bursts_per_sweep * 16 - 30):
        found = max(schedule(part, [burst.address for burst in bursts_of(TileRequest(
            base + number, tile.words, tile.period, tile.count))]).issue_delay
            for number in range(64))
        assert longest_of_addresses(part, base, tile, False, 64) == found


def test_loops_run_as_often_as_their_bounds_say():
    """Two nested loops: three times four loads, and one after each inner loop."""
    found = published("""
        smov s1, 4
    outer:
        smov s0, 3
    inner:
        ldglin v0, 0
        sisub s0, s0, 1
        #bound branchcycle 2 1
        sicj.g inner, s0
        ldglin v1, 1
        sisub s1, s1, 1
        #bound branchcycle 3 1
        sicj.g outer, s1
        stglin v0, 2
        exit""")
    lines = [phase.instruction for phase in found.phases["access"] if phase.instruction is not None]
    assert lines == ([2] * 3 + [5]) * 4 + [8]


def test_annotated_branch_decides_an_access():
    """In scope: a load in the first of three iterations only."""
    found = published("""
        smov s0, 3
    again:
        ldglin v0, 0
        #bound branchcycle 1 2
        sicj.g more, s0
        j next
    more:
        ldglin v1, 1
    next:
        sisub s0, s0, 1
        #bound branchcycle 2 1
        sicj.g again, s0
        stglin v0, 2
        exit""")
    lines = [phase.instruction for phase in found.phases["access"] if phase.instruction is not None]
    assert lines == [1, 4, 1, 1, 7]


REFUSED = {
    "branch": ("sicj.g a, s0\nldglin v0, 0\na:\nldglin v1, 1\nstglin v0, 2\nexit",
               "the start: either ldglin in line 9 or ldglin in line 11 may come next"),
    "masked": ("cpush.if a\ncmask p0\nldglin v0, 0\ncpop\na:\nstglin v0, 2\nexit",
               "either ldglin in line 10 or stglin in line 13 may come next"),
    "no access": ("exit", "the start: the last access is not a store"),
    "no store": ("ldglin v0, 0\nexit", "line 8, instruction 0: the last access is not a store"),
    "compute last": ("ldglin v0, 0\nstglin v0, 2\nrcp v0, v0\nexit",
                     "line 9, instruction 1: the last access is not a store"),
    "long early exit": ("ldglin v0, 0\nsicj.g a, s0\nstglin v0, 2\nexit\na:\nrcp v0, v0\nexit",
                        "may compute .* cycles from here, more than"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_outside_the_scope_it_refuses(name):
    text, says = REFUSED[name]
    with pytest.raises(OutsideScope, match=says):
        published(text)
    assert published(text, unchecked=True).outside


def test_early_exit_is_in_scope():
    """All lanes leave, or the kernel's uniform branch skips to the end."""
    found = published("ldglin v0, 0\nexit p0\nstglin v0, 2\nexit")
    plain = published("ldglin v0, 0\nstglin v0, 2\nexit")
    assert found.upper > plain.upper


@pytest.mark.parametrize(("text", "says"), [
    ("a:\nldglin v0, 0\nsicj.g a, s0\nstglin v0, 2\nexit",
     "line 10, instruction 1: goes back to line 9 without a `#bound branchcycle`"),
    ("sicj.g a, s0\ncpush.if b\nj a\nb:\na:\ncpush.if c\ncpop\nc:\nexit",
     "is reached with 2 different control stacks"),
    ("smov s0, 7\nsmovssp sc.sd_words, s0\nldgcidx 0\nstglin v0, 2\nexit",
     "line 9, instruction 1: sd_words has no `#bound value`, and .* line 10, instruction 2"),
])
def test_what_cannot_be_analysed(text, says):
    with pytest.raises(NotCovered, match=says):
        published(text)


def test_grid_of_one_work_group_and_of_many():
    text = "ldglin v0, 0\nstglin v0, 2\nexit"
    one, many = published(text, 1), published(text, 1024 * 1000)
    assert one.access < many.access <= 1000 * one.upper
    assert one.lower <= one.access <= one.upper
    assert dataclasses.replace(one).outside == ()


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda witness: witness.name)
def test_errata_have_witnesses(witness):
    """Each exceeds the analysis, and its scope check refuses those that the paper excludes."""
    found = find(witness)
    assert found.exceeded
    assert bool(found.refused) is not witness.in_scope
    if not witness.in_scope:
        with pytest.raises(OutsideScope):
            published_wcet(witness.program, witness.grid, DDR4_3200AA_X16)


def test_indexed_words_in_sixteen_rows_exceed_eq_16():
    assert indexed_x8() == 8


def test_owed_refreshes_are_covered_by_the_corrected_inflation():
    witness = next(witness for witness in WITNESSES if witness.name == "refreshes-owed")
    found = witness.published()
    plain = schedule_cycles([phase.cycles for phase in found.phases["access"]], 2) + found.load
    measured = witness.run().cycles
    assert measured <= inflated_with_owed(DDR4_3200AA_X16, plain, 1000, 7) < measured + 100
    assert inflated_with_owed(DDR4_3200AA_X16, plain, 1000, 0) == found.access


@pytest.mark.parametrize("point", [point for point in SAFE
                                   if point.name in ("rows", "indexed-x16", "tickets")],
                         ids=lambda point: point.name)
def test_points_that_hold(point):
    cases, left = point.check()
    assert cases > 10
    assert left >= 0


@pytest.mark.thorough
@pytest.mark.parametrize("point", SAFE, ids=lambda point: point.name)
def test_all_points_that_hold(point):
    cases, left = point.check()
    assert cases > 10
    assert left >= 0


@pytest.mark.thorough
def test_refreshes_fall_due_in_every_cycle():
    cases, left = refreshes(1)
    assert cases == 560 + 12480
    assert left >= 0


def test_checks_of_safe_points_fire(monkeypatch):
    """A tool that counted one row fewer would be found."""
    from cyclebound.tools.simd.published import witnesses

    monkeypatch.setattr(witnesses, "rows_tool", lambda words: max(1, -(-words // 2048)))
    assert witnesses._rows()[1] < 0
