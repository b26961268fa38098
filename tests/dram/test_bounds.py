"""Bounds of the DRAM itself: as printed, and the project's own against the model."""

import csv
import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import worst_case
from cyclebound.golden.dram.address import burst_at
from cyclebound.golden.dram.bounds import (
    eq1,
    eq15,
    eq15_tool,
    eq16,
    eq19,
    most_bursts,
    tile_2d_issue_delay,
    tile_issue_delay,
)
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_bounds import buffer_rows, indexed_issue_delay, rows_tool
from cyclebound.golden.dram.timing import PARTS, part_named
from cyclebound.golden.dram.worst_case import alignments, mean_issue_delay, worst_issue_delay

pytestmark = pytest.mark.unit

X16, X8, SLOW, DDR3 = "ddr4-3200aa-x16", "ddr4-3200aa-x8", "ddr4-1866m-x16", "ddr3-1600-module"
parts = pytest.mark.parametrize("part", PARTS)
directions = pytest.mark.parametrize("write", [0, 1], ids=["read", "write"])


def tile(part, start, bursts, write, current=0):
    return schedule(PARTS[part], range(start, start + bursts), write=bool(write),
                    current=current).issue_delay


def lines(part, starts, bursts, write):
    touched = sorted({start + burst for start in starts for burst in range(bursts)})
    return schedule(PARTS[part], touched, write=bool(write)).issue_delay


def indexed(part, banks, write):
    """An indexed request from its banks, a hexadecimal digit each; all words in row 0."""
    places = [burst_at(PARTS[part], bank=int(bank, 16), row=0, column=0) for bank in banks]
    return schedule(PARTS[part], places, write=bool(write), indexed=True).issue_delay


# -- as printed ------------------------------------------------------------------------------------

def test_eq15_and_this_projects_bound_are_the_reference_table():
    with (Path(__file__).parent / "data" / "lid_tile_2bg.csv").open(newline="") as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert len(rows) == 132
    for row in rows:
        request = {"part": X16, "bursts": row["bursts"], "write": row["write"]}
        assert eq15(**request) == row["eq15"]
        assert tile_issue_delay(**request) == row["measured_max"]


def test_eq1_is_one_in_32():
    for part in (X16, X8):
        assert [eq1(part=part, cycles=cycles) for cycles in (0, 31, 32, 3200)] == [0, 0, 1, 100]


@pytest.mark.parametrize(("rows", "write", "bursts", "cycles"), [
    (1, 0, 1, 22 + 34), (1, 0, 8, 22 + 56 + 34), (1, 1, 8, 22 + 56 + 66),
    (2, 0, 2, 22 + 9 + 34), (2, 1, 5, 22 + 9 + 24 + 66),
    (3, 0, 8, 22 + 19 + 40 + 34), (8, 1, 6, 22 + 19 + 24 + 66),
    (9, 0, 10, 740), (9, 1, 10, 880)])
def test_eq16_as_printed(rows, write, bursts, cycles):
    assert eq16(part=X16, bursts=bursts, rows=rows, write=write) == cycles


@pytest.mark.parametrize(("cycles", "inflated"), [
    (0, 0), (1, 351), (7450, 7800), (7451, 7451 + 700), (74500, 78000)])
def test_eq19(cycles, inflated):
    assert eq19(part=X16, cycles=cycles, compute_ps=1000) == inflated


def test_eq19_rounds_up():
    assert eq19(part=DDR3, cycles=1, compute_ps=1000) == 1 + 260
    assert eq19(part=SLOW, cycles=1, compute_ps=1000) == 1 + 351  # 327 * 1.071 = 350.2


# -- where the printed formulas fail: the errata ---------------------------------------------------

@pytest.mark.parametrize(("formula", "part", "write", "start", "bursts", "says", "takes"), [
    (eq15, X8, 1, 0, 8, 112, 116),
    (eq15_tool, X8, 1, 2044, 5, 104, 108),    # banks e f e f 0: the new row's burst goes second
    (eq15_tool, X8, 0, 2046, 260, 1092, 1096),  # bank f is passed over, then meets its group
    (eq15, X16, 0, 253, 772, 3150, 3216),     # bank 1 is passed over until its next row comes
    (eq15, X16, 1, 253, 772, 3182, 3262),
    (eq15, SLOW, 0, 254, 7, 60, 61), (eq15, SLOW, 0, 254, 8, 60, 66),
    (eq15, DDR3, 0, 253, 5, 54, 55), (eq15, DDR3, 1, 254, 7, 74, 77)])
def test_tiles_that_exceed_the_printed_formula(formula, part, write, start, bursts, says, takes):
    assert formula(part=part, bursts=bursts, write=write) == says < takes
    assert tile(part, start, bursts, write) == takes


@pytest.mark.parametrize(("part", "write", "start", "bursts", "bound", "carried"), [
    (X16, 0, 1021, 8, 101, 102), (X16, 1, 1021, 8, 126, 134), (X16, 0, 1021, 10, 102, 110),
    (X8, 0, 252, 8, 86, 88), (X8, 1, 252, 6, 108, 112), (DDR3, 1, 1022, 6, 72, 73)])
def test_a_current_pair_carried_over_makes_requests_interfere(part, write, start, bursts, bound,
                                                              carried):
    """A request of one burst in bank 2 is enough before it; here, each request begins with 0."""
    assert tile_issue_delay(part=part, bursts=bursts, write=write) == bound
    assert tile(part, start, bursts, write) <= bound
    assert tile(part, start, bursts, write, current=2) == carried > bound
    assert schedule(PARTS[part], [256]).commands[-1].bank == 2


def test_eq15_is_loose_for_writes_of_8_bursts_and_for_four_groups():
    assert worst_issue_delay(part=X16, bursts=8, write=1)[0] == 126
    assert eq15(part=X16, bursts=8, write=1) == 127
    for bursts in (9, 11, 13):
        assert eq15(part=X8, bursts=bursts, write=0) == tile_issue_delay(
            part=X8, bursts=bursts, write=0) + 8


@pytest.mark.parametrize(("part", "write", "banks", "rows", "printed", "takes"), [
    (X16, 0, "0", 1, 56, 74), (X16, 0, "000", 1, 72, 74),
    (X16, 0, "01", 2, 65, 83),
    (X16, 0, "02", 3, 67, 85), (X16, 0, "102", 3, 75, 94), (X16, 1, "102", 3, 107, 108),
    (X16, 1, "024", 5, 107, 111), (X16, 0, "01234", 5, 91, 122), (X16, 1, "01234", 5, 123, 136),
    (X16, 1, "503462", 8, 131, 147), (X16, 0, "04237561", 8, 115, 149),
    (X8, 0, "0", 2, 52, 74), (X8, 1, "0", 2, 84, 88), (X8, 1, "0" * 32, 2, 332, 336),
    (X8, 0, "01234", 5, 83, 109), (X8, 1, "01234", 5, 115, 123),
    (X8, 0, "0c26f85e3b91a", 16, 147, 179), (X8, 1, "d563b209ea1f8", 16, 179, 193)])
def test_indexed_requests_that_exceed_eq16(part, write, banks, rows, printed, takes):
    request = {"part": part, "bursts": len(banks), "rows": rows, "write": write}
    assert eq16(**request) == printed < takes
    assert indexed(part, banks, write) == takes <= indexed_issue_delay(**request)


# -- tiles -----------------------------------------------------------------------------------------

@directions
@parts
def test_tile_issue_delay_is_the_worst_of_all_alignments(part, write):
    for bursts in (5, 18, 33):
        assert tile_issue_delay(part=part, bursts=bursts, write=write) == worst_issue_delay(
            part=part, bursts=bursts, write=write)[0]


@directions
@pytest.mark.parametrize(("part", "starts"), [
    (X16, [0, 1, 252, 254, 510, 1020, 1022]), (X8, [0, 1, 252, 254, 2044, 2046])])
def test_long_tiles(part, starts, write):
    """Not all alignments, but those of the worst; and the passing over of four groups."""
    for bursts in (127, 128, 256, 259, 260, 513, 514, 516):
        delays = [tile(part, start, bursts, write) for start in starts]
        assert tile_issue_delay(part=part, bursts=bursts, write=write) == max(delays)


@directions
def test_alignments_of_long_tiles_are_followed_at_once(monkeypatch, write):
    """As if each had been simulated; the worst one is, and the two must agree."""
    tiles = [{"part": X16, "bursts": bursts, "write": write} for bursts in (3, 9)]
    simulated = [(worst_issue_delay(**tile), mean_issue_delay(**tile)) for tile in tiles]
    monkeypatch.setattr(worst_case, "SIMULATED", 2)
    heard = []
    assert [(worst_issue_delay(**tile, report=lambda *step: heard.append(step)),
             mean_issue_delay(**tile)) for tile in tiles] == simulated
    assert heard == [(0, 1), (1, 1)] * 2
    monkeypatch.setattr(worst_case, "run_delays", lambda *_, **__: np.array([1, 2]))
    with pytest.raises(AssertionError, match=r"^3 bursts from burst 1 take 2 clocks by the "
                                             r"arbiter's states, and \d+ by its model$"):
        worst_issue_delay(**tiles[0])


@directions
@pytest.mark.parametrize("part", [X16, X8])
def test_alignments_stand_for_all(part, write):
    for bursts in (1, 2, 5, 8, 11):
        everything = [tile(part, start, bursts, write)
                      for start in range(PARTS[part].bursts_per_sweep)]
        worst, start = worst_issue_delay(part=part, bursts=bursts, write=write)
        assert worst == max(everything) == everything[start]
        assert {tile(part, start, bursts, write) for start in alignments(part, bursts)} == set(
            everything)
        assert len(list(alignments(part, bursts))) == 2 * bursts


def test_a_condition_is_needed():
    """With nRCD = 2 nRRD_S, the third activate meets the first column command."""
    met = replace(PARTS[X16], nRCD=18)
    assert worst_issue_delay(part=met, bursts=3, write=0)[0] == 18 + 1 + met.nRC


def test_bursts_of_a_tile():
    assert [most_bursts(words=words) for words in (1, 2, 16, 17, 18, 33, 34, 256)] == [
        1, 2, 2, 2, 3, 3, 4, 17]


# -- indexed requests ------------------------------------------------------------------------------

def rows_from(part, first, rows):
    """The banks, and rows of theirs, that a buffer covers which begins in bank ``first``."""
    banks = PARTS[part].banks
    return [((first + row) % banks, (first + row) // banks) for row in range(rows)]


def worst_indexed(part, places, bursts, write):
    """Of all requests over these rows."""
    device = PARTS[part]
    found = [burst_at(device, bank=bank, row=row, column=0) for bank, row in places]
    return max(schedule(device, request, write=bool(write), indexed=True).issue_delay
               for request in itertools.product(found, repeat=bursts))


@directions
@parts
def test_indexed_exhaustively(part, write):
    """Up to two rows the bound is exact; short requests over more, within a clock."""
    for bursts, rows in ((1, 1), (3, 1), (9, 1), (2, 2), (3, 2), (6, 2), (2, 3), (3, 3), (4, 3),
                         (2, 5), (3, 5)):
        worst = max(worst_indexed(part, rows_from(part, first, rows), bursts, write)
                    for first in (0, PARTS[part].banks - 1))
        bound = indexed_issue_delay(part=part, bursts=bursts, rows=rows, write=write)
        assert worst <= bound <= worst + (rows > 2)


@directions
@parts
def test_indexed_over_any_rows_is_exact_and_reached_in_one_bank(part, write):
    device = PARTS[part]
    for bursts in (1, 2, 7, 40):
        request = [burst_at(device, bank=0, row=row, column=0) for row in range(bursts)]
        assert schedule(device, request, write=bool(write), indexed=True).issue_delay == (
            indexed_issue_delay(part=part, bursts=bursts, rows=device.banks + 1, write=write))


@parts
def test_indexed_at_random(part):
    device, rng = PARTS[part], random.Random(part)
    for bursts in [*range(1, 25)] * 6 + [64, 64, 256, 1024]:
        rows, write = rng.choice([1, 2, 3, 4, 5, device.banks, 3 * device.banks]), rng.randrange(2)
        places = rows_from(part, rng.randrange(device.banks) if rows < device.banks else 0, rows)
        request = [burst_at(device, bank=bank, row=row, column=8 * rng.randrange(128))
                   for bank, row in rng.choices(places, k=bursts)]
        taken = schedule(device, request, write=bool(write), indexed=True).issue_delay
        assert taken <= indexed_issue_delay(part=part, bursts=bursts, rows=rows, write=write)


def test_rows_of_a_buffer():
    def counted(words):
        device = PARTS[X16]
        firsts = [*range(16), *range(250 * 16, 257 * 16), *range(1015 * 16, 1025 * 16)]
        return max(len({(burst // 256, burst % 2)
                        for burst in range(first // 16, (first + words - 1) // 16 + 1)})
                   for first in firsts if device.banks == 8)

    for words in (1, 2, 17, 18, 33, 34, 100, 2048, 4096, 4113, 4114, 4130, 12305, 12306):
        assert buffer_rows(part=X16, words=words) == counted(words), words
    assert [rows_tool(words=words) for words in (1, 2, 17, 18, 34, 2065, 2066, 12305, 12306)] == [
        1, 2, 2, 3, 3, 3, 4, 8, 9]
    assert buffer_rows(part=X16, words=34) == 4  # the tool says 3; the same class of Eq. 16


# -- what is no request ----------------------------------------------------------------------------

@pytest.mark.parametrize("formula", [eq15, eq15_tool, tile_issue_delay, worst_issue_delay])
def test_impossible_tiles(formula):
    with pytest.raises(ValueError, match=r"^part must be one of ddr4-3200aa-x16, ddr4-3200aa-x8, "
                                         r"ddr4-1866m-x16, ddr3-1600-module, a speed bin .*, or a "
                                         r"file that ends in \.toml, not 'sdram'$"):
        formula(part="sdram", bursts=1, write=0)
    with pytest.raises(NotCovered, match=r"^bursts must be a whole number of at least 1, not 0$"):
        formula(part=X16, bursts=0, write=0)
    with pytest.raises(NotCovered, match=r"^write must be a whole number of at least 0, not -1$"):
        formula(part=X16, bursts=1, write=-1)
    with pytest.raises(NotCovered, match=r"^write must be 0 or 1, not 2$"):
        formula(part=X16, bursts=1, write=2)


@pytest.mark.parametrize(("thing", "call"), [
    ("rows", lambda: eq16(part=X16, bursts=1, rows=0, write=0)),
    ("rows", lambda: indexed_issue_delay(part=X16, bursts=1, rows=0, write=0)),
    ("count", lambda: tile_2d_issue_delay(part=X16, words=1, period=1, count=0, write=0)),
    ("words", lambda: most_bursts(words=0)),
    ("words", lambda: rows_tool(words=0)),
    ("words", lambda: buffer_rows(part=X16, words=0)),
    ("compute_ps", lambda: eq19(part=X16, cycles=1, compute_ps=0))])
def test_impossible_numbers(thing, call):
    with pytest.raises(NotCovered, match=f"^{thing} must be a whole number of at least 1, not 0$"):
        call()


@pytest.mark.parametrize("call", [lambda: eq1(part=X16, cycles=-1),
                                  lambda: eq19(part=X16, cycles=-1, compute_ps=1000)])
def test_negative_times(call):
    with pytest.raises(NotCovered, match=r"^cycles must be a whole number of at least 0, not -1$"):
        call()


def test_a_part_is_as_good_as_its_name():
    for name, part in PARTS.items():
        assert part_named(part) is part_named(name) is part
