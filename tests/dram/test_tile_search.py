"""Bounds of tiles on any part: never exceeded, and reached, however odd the part and the tile."""

import dataclasses
import random

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import tile_lanes, tile_search, tile_states
from cyclebound.golden.dram.bounds import most_bursts, tile_2d_issue_delay, tile_issue_delay
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.request import BURST_WORDS, TileRequest
from cyclebound.golden.dram.small_part import SMALL
from cyclebound.golden.dram.stride_sequencer import bursts_of
from cyclebound.golden.dram.tile_lanes import Lines, issue_delays
from cyclebound.golden.dram.tile_search import (
    first_words,
    longest_lines,
    longest_run,
    progress,
)
from cyclebound.golden.dram.timing import PARTS, Part
from cyclebound.golden.dram.worst_case import worst_issue_delay

pytestmark = pytest.mark.unit

X16, X8, SLOW, DDR3 = "ddr4-3200aa-x16", "ddr4-3200aa-x8", "ddr4-1866m-x16", "ddr3-1600-module"
directions = pytest.mark.parametrize("write", [0, 1], ids=["read", "write"])


def delay(part: Part, address: int, lines: Lines, write: int) -> int:
    """Of one tile, by the golden model."""
    tile = TileRequest(address=address, words=lines.words, period=lines.period, count=lines.count)
    return schedule(part, [burst.address for burst in bursts_of(tile)],
                    write=bool(write)).issue_delay


def odd_part(rng: random.Random, *, columns: tuple[int, ...] = (8, 16, 32, 64)) -> Part:
    """A part that is not made, but might be: any numbers that are no contradiction."""
    banks = rng.choice((2, 4, 8, 8, 16))
    groups = rng.choice([count for count in (1, 2, 4) if count <= banks])
    much = rng.choice((1, 1, 1, 3))
    short, first = rng.choice((2, 4, 4, 5)), rng.randint(1, 10)
    longer, further = (0, 0) if groups == 1 else (rng.randint(0, 6), rng.randint(0, 8))
    row, closing = rng.randint(1, 30 * much), rng.randint(1, 26 * much)
    active = row + rng.randint(0, 40 * much)
    return dataclasses.replace(
        PARTS[X16], name="odd", numbers={}, banks=banks, bank_groups=groups, rows=4096,
        columns=rng.choice(columns), nBURST=min(short, 4), nCCD_S=short, nCCD_L=short + longer,
        nRRD_S=first, nRRD_L=first + further, nRCD=row, nRP=closing, nRAS=active,
        nRC=active + closing + rng.choice((0, 0, 5)), nRTP=rng.randint(1, 16),
        nWR=rng.randint(1, 30), nCWD=rng.randint(1, 16), nCAS=40, nWTR_S=2, nWTR_L=2,
        nFAW=rng.choice((0, rng.randint(4, 60))))


def odd_lines(rng: random.Random, part: Part) -> Lines:
    """Lines that overlap, meet in a bank, or follow each other."""
    words = rng.choice((1, 1, 2, 15, 16, 17, 20, 40, rng.randint(1, 120)))
    row = part.bursts_per_sweep * BURST_WORDS
    period = max(words, rng.choice((1, 2, 3)) * rng.choice((
        words, row, row // 2, 2 * row // part.banks, rng.randint(1, row), rng.randint(1, row),
        16 * rng.randint(1, 99))) + rng.choice((0, 0, 1, 16, -16, rng.randint(-40, 40))))
    return Lines(words, period, rng.choice((1, 2, 2, 3, 5, rng.randint(1, 12))))


# -- what was found in the formulas before ---------------------------------------------------------

@pytest.mark.parametrize(("part", "address", "lines", "takes"), [
    (DDR3, 64788, Lines(190, 16384, 9), 772),   # sum of lines and a row cycle: 741
    pytest.param(X8, 60948, Lines(284, 65504, 40), 5216, marks=pytest.mark.thorough),  # 5,194
    pytest.param(X8, 60948, Lines(284, 65504, 60), 7836, marks=pytest.mark.thorough)])  # 7,754
def test_lines_that_exceeded_their_sum_and_a_row_cycle(part, address, lines, takes):
    assert delay(PARTS[part], address // 4, lines, 0) == takes
    assert takes == tile_2d_issue_delay(part=part, words=lines.words, period=lines.period,
                                        count=lines.count, write=0)


@pytest.mark.parametrize(("change", "write", "takes"), [
    ({"columns": 8}, 0, 149), ({"columns": 8}, 1, 163), ({"columns": 16}, 1, 146),
    ({"banks": 2}, 0, 92), ({"columns": 32}, 1, 124)])
def test_few_columns_or_banks(change, write, takes):
    """A pair of banks that holds a few bursts only is left and met again within one tile.

    For 1,024 columns and eight banks, 101 clocks are the most, and 126 of writes.
    """
    part = dataclasses.replace(PARTS[X16], **change)
    for bursts in (1, 4, 8, 9, 33) if part.columns < 1024 else (8,):
        bound = tile_issue_delay(part=part, bursts=bursts, write=write)
        assert bound == worst_issue_delay(part=part, bursts=bursts, write=write)[0]
    assert delay(part, 0x80 // 4, Lines(128, 128, 1), write) == takes
    assert takes <= tile_issue_delay(part=part, bursts=8, write=write)


# -- exact, wherever it begins ---------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(4))
def test_runs_on_any_part(seed):
    rng = random.Random(f"runs {seed}")
    for _ in range(6):
        part, write = odd_part(rng), rng.randrange(2)
        for bursts in (*range(1, 6), rng.randint(6, 40), rng.randint(41, 90)):
            found = longest_run(part, bursts=bursts, write=bool(write))
            assert found.delay == worst_issue_delay(part=part, bursts=bursts, write=write)[0], part
            lines = Lines(BURST_WORDS * bursts, BURST_WORDS * bursts, 1)
            assert delay(part, found.address, lines, write) == found.delay


def test_runs_of_many_rows():
    """They repeat, and what is left out then is what following it would find."""
    rng = random.Random("rows")
    for _ in range(5):
        part, write = odd_part(rng, columns=(8, 16)), rng.randrange(2)
        bursts = rng.randint(6, 9) * part.bursts_per_sweep + rng.randint(0, 40)
        found = longest_run(part, bursts=bursts, write=bool(write))
        taken = [delay(part, BURST_WORDS * first, Lines(BURST_WORDS * bursts, 1 << 19, 1), write)
                 for first in range(part.bursts_per_sweep)]
        assert found.delay == max(taken)


@directions
def test_every_word_of_small_parts(write):
    """Each lane is the golden model's tile, and the words left out take what some other takes."""
    rng = random.Random(f"words {write}")
    for _ in range(8):
        part = odd_part(rng, columns=(8, 16))
        part = dataclasses.replace(part, banks=min(part.banks, 8), columns=8)
        lines = odd_lines(rng, part)
        words = np.arange(part.bursts_per_sweep * BURST_WORDS)
        taken = [delay(part, int(word), lines, write) for word in words]
        assert issue_delays(part, lines, words, write=bool(write)).tolist() == taken
        chosen = first_words(part, lines)
        assert set(issue_delays(part, lines, chosen, write=bool(write)).tolist()) == set(taken)
        found = longest_lines(part, words=lines.words, period=lines.period, count=lines.count,
                              write=bool(write))
        assert found.delay == max(taken) == taken[found.address]


def test_two_words_in_one_group():
    """Only from some words on do both lie in banks of the same group: nRRD_L, and not nRRD_S."""
    assert delay(PARTS[X16], 9, Lines(1, 190007, 2), 0) == 85 == tile_2d_issue_delay(
        part=X16, words=1, period=190007, count=2, write=0)


@directions
@pytest.mark.parametrize("part", [X16, X8, SLOW, DDR3])
def test_lines_in_one_bank_take_their_sum(part, write):
    row = PARTS[part].bursts_per_sweep * BURST_WORDS
    one = tile_issue_delay(part=part, bursts=1, write=write)
    for count in (1, 2, 5, 16):
        assert tile_2d_issue_delay(part=part, words=1, period=row, count=count,
                                   write=write) == count * one


@pytest.mark.parametrize("words", [1, 2, 16, 17, 100])
def test_lines_without_gaps_are_one_line(words):
    for count in (1, 3):
        both = [tile_issue_delay(part=X16, bursts=bursts, write=0) for bursts in range(
            -(-words * count // BURST_WORDS), most_bursts(words=words * count) + 1)]
        assert tile_2d_issue_delay(part=X16, words=words, period=words, count=count,
                                   write=0) == max(both)
        found = longest_lines(PARTS[X16], words=words, period=words, count=count, write=False)
        assert found.delay == max(both)


# -- the attack ------------------------------------------------------------------------------------

def attacked(rng, rounds, bound, *, parts=None, steps=30):
    """Tiles that take longer than ``bound`` of their kind; each search climbs from one tile.

    It knows nothing of how bounds come about: it draws a part and a kind of tile, and then
    changes the address as long as the tile gets no shorter.
    """
    found = []
    for _ in range(rounds):
        part = rng.choice(parts) if parts else odd_part(rng)
        lines, write = odd_lines(rng, part), rng.randrange(2)
        room = part.bursts * BURST_WORDS - lines.words - (lines.count - 1) * lines.period
        row = part.bursts_per_sweep * BURST_WORDS
        limit = bound(part, lines, write)
        address = rng.randint(0, min(room, row))
        best = delay(part, address, lines, write)
        for _ in range(steps):
            other = address + rng.choice((
                rng.randint(-40, 40), 16 * rng.randint(-20, 20), rng.randint(-row, row)))
            if 0 <= other <= room:
                taken = delay(part, other, lines, write)
                if taken >= best:
                    address, best = other, taken
        if best > limit:
            found.append((part, lines, write, address, best, limit))
    return found


def ours(part, lines, write):
    return tile_2d_issue_delay(part=part, words=lines.words, period=lines.period,
                               count=lines.count, write=write)


def sum_of_lines(part, lines, write):
    """What was believed: the lines' sum, and a row cycle."""
    line = tile_issue_delay(part=part, bursts=most_bursts(words=lines.words), write=write)
    recovered = part.nCWD + part.nBURST + part.nWR if write else part.nRTP
    return lines.count * line + max(part.nRC, part.nRCD + recovered + part.nRP)


def test_nothing_exceeds_the_bound():
    assert not attacked(random.Random("short"), 120, ours, steps=20)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_nothing_exceeds_the_bound_for_long(seed):
    rng = random.Random(f"long {seed}")
    assert not attacked(rng, 400, ours, steps=80)
    assert not attacked(rng, 40, ours, parts=list(PARTS.values()), steps=80)


def test_the_attack_finds_a_bound_that_is_a_clock_short():
    found = attacked(random.Random("short"), 25, lambda *tile: ours(*tile) - 1, steps=20)
    assert len(found) > 5


@pytest.mark.parametrize("fault", ["window", "words", "group"])
def test_the_attack_finds_faults_of_the_search(monkeypatch, fault):
    """A lane that forgets a rule; a search that leaves out words."""
    if fault == "window":
        real = tile_lanes._Lanes._open

        def opens(self, bank, at, now):
            real(self, bank, at, now)
            self.window[3, at] = -(1 << 30)
        monkeypatch.setattr(tile_lanes._Lanes, "_open", opens)
    elif fault == "group":
        real_access = tile_lanes._Lanes._access

        def accesses(self, bank, at, now):
            real_access(self, bank, at, now)
            self.group_cas[:, at] = 0
        monkeypatch.setattr(tile_lanes._Lanes, "_access", accesses)
    else:
        real_words = tile_search.first_words  # takes tiles for one that differ in the last line
        monkeypatch.setattr(tile_search, "first_words", lambda part, lines: real_words(
            part, dataclasses.replace(lines, count=max(1, lines.count - 1))))
    uncached = longest_lines.__wrapped__
    found = attacked(random.Random("short"), 120, lambda part, lines, write: uncached(
        part, words=lines.words, period=lines.period, count=lines.count, write=bool(write)).delay,
        steps=20)
    assert found


def test_runs_find_states_that_forget_something(monkeypatch):
    """Without the four-activate window in the state, some run is thought to be shorter."""
    real = tile_states._Resumed.kept
    monkeypatch.setattr(tile_states._Resumed, "kept", lambda self, pair, now: (
        *real(self, pair, now)[:5], (0, 0, 0, 0), *real(self, pair, now)[6:]))
    rng, wrong = random.Random("forgets"), 0
    for _ in range(12):
        part = dataclasses.replace(odd_part(rng, columns=(8, 16)), nFAW=60)
        run = tile_search._Runs(tile_states.TileStates(part, write=False), np.arange(
            part.bursts_per_sweep))
        run.extend(8)
        wrong += int(run.delays().max()) < worst_issue_delay(part=part, bursts=9, write=0)[0]
    assert wrong


# -- what is no tile -------------------------------------------------------------------------------

@pytest.mark.parametrize(("tile", "says"), [
    ({"words": 0, "period": 1, "count": 1}, r"words must be a whole number of at least 1, not 0"),
    ({"words": 2, "period": 1, "count": 1},
     r"period must be at least the words of a line \(2\), not 1"),
    ({"words": 1, "period": 1, "count": 0}, r"count must be a whole number of at least 1, not 0"),
    ({"words": 1, "period": 100, "count": 24_962},
     r"a tile must take 8 nREFI \(99840 clocks\) at most, or a refresh is late, not the 99844 .*"),
    ({"words": 1, "period": 1 << 29, "count": 3},
     r"a tile must end by word 1073741824, the end of DDR4-3200AA x16 .*, not 1073741825"),
    ({"words": 1 << 20, "period": 1 << 20, "count": 1025},
     r"a tile must end by word 1073741824, the end of .*, not 1074790400")])
def test_impossible_tiles(tile, says):
    with pytest.raises(NotCovered, match=f"^{says}$"):
        tile_2d_issue_delay(part=X16, write=0, **tile)


def test_tiles_larger_than_the_part():
    with pytest.raises(NotCovered, match=r"^bursts must be at most 4, those of small, not 5$"):
        tile_issue_delay(part=SMALL, bursts=5, write=0)


def test_long_work_is_reported():
    """Bounds of many lines take minutes; `progress` hears of both steps, and not beyond."""
    heard = []
    part = dataclasses.replace(PARTS[X16], name="narrow", columns=16)
    lines = {"words": 20, "period": 331, "count": 40}
    longest_lines.cache_clear()
    with progress(lambda *report: heard.append(report)):
        longest_lines(part, **lines, write=False)
    steps = {step for step, _, _ in heard}
    assert steps == {"bursts compared", "lines followed"}
    for step in steps:
        done = [(done, total) for name, done, total in heard if name == step]
        assert done == sorted(done)
        assert all(0 <= number < total for number, total in done)
    count = len(heard)
    longest_lines.cache_clear()
    longest_lines(part, **lines, write=False)
    assert len(heard) == count
