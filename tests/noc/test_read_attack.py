"""The bound of reads among other masters, searched on models; what the search has to find."""

import random
from dataclasses import replace

import pytest

from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.small_part import SMALL_SYSTEM
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, Part
from cyclebound.golden.noc import end_to_end_read as bounds
from cyclebound.tools.noc.read_attack import WRITER, Other, ReadAttack, System, search
from kit.parts import random_ddr3

unit = pytest.mark.unit
FEW_CLOCKS = replace(SMALL_SYSTEM, rows=1 << 16, columns=1024, nREFI=300)


def drawn(rng: random.Random, *, writers: bool) -> Part:
    """Any part, with refreshes so far apart that there is a bound. Beside others than ``writers``,
    one whose four-activate window never waits: they open rows of other banks, too."""
    part = replace(random_ddr3(rng), rows=1 << 16, columns=1024)
    least = max(part.nRFC, refresh_delay(part) + row_change(part)) + 1
    return replace(part, nREFI=2 * least + rng.choice((0, 1, 5, 50, 300, 1000)),
                   nFAW=part.nFAW if writers else 0)


def worst_share(seed: int, tries: int) -> float:
    """Of a drawn part, system and kind of others: the greatest share of the bound."""
    rng, writers = random.Random(seed), seed % 2 == 0
    system = System(rng.randint(2, 8), rng.choice((1, 2, 3, 6, 10)),
                    rng.choice((1, 2, 3, 5, 7, 8, 9, 9, 12, 40)), drawn(rng, writers=writers),
                    rng.choice((1, 1, 2)))
    found = search(system, tries, rng, writers=writers)
    assert found.value is not None
    assert found.value <= system.allowed, (seed, system, found.candidate)
    return found.value / system.allowed


@unit
@pytest.mark.parametrize("batch", [0, *(pytest.param(batch, marks=pytest.mark.thorough)
                                        for batch in range(1, 9))])
def test_no_attack_breaks_the_bound_of_any_part(batch):
    """Right after reset, among refreshes, beside masters of any kind, with any cap."""
    shares = [worst_share(1000 * batch + seed, 16 if batch else 6)
              for seed in range(30 if batch else 4)]
    assert 0.5 < max(shares) <= 1


@unit
def test_a_part_with_a_long_turn_from_write_to_read():
    """1,270 cycles, where the bound was 1,171: it asked no nWTR (59 here, of t_conflict 31)."""
    assert 0.4 < worst_share(5015, 16) <= 1


@unit
@pytest.mark.parametrize("masters", [2, 3, 8])
def test_the_search_finds_a_bound_without_what_rule_4_costs(masters, monkeypatch):
    """With n issues in the queue for cap + n - 1, as of a write: exceeded."""
    monkeypatch.setattr(bounds, "residence", lambda *, entries, cap: entries)
    short = System(masters, 1, part=FEW_CLOCKS)
    found = search(short, 30, random.Random(1), writers=True)
    assert found.value > short.allowed


@unit
@pytest.mark.parametrize("writers", [True, False])
def test_the_search_finds_a_cap_that_is_not_kept(writers):
    """Of a reorder core whose oldest request may be overtaken 60 times for 9."""
    says = System(3, 4, cap=9, part=FEW_CLOCKS)
    found = search(says, 30, random.Random(2), writers=writers,
                   cycles=lambda attack: attack.cycles(replace(says, cap=60)))
    assert found.value > says.allowed


@unit
@pytest.mark.thorough
def test_the_search_finds_that_the_withdrawn_bound_does_not_hold():
    """It allowed 1,612 cycles for eight bursts, N_trans = 3 and a cap of 40: the count of
    departures from a full queue. Right after reset the queue is empty."""
    found = search(System(3, 8, cap=40, postpone=1), 80, random.Random(3), writers=True)
    assert found.value > 1612
    assert found.candidate.start < 500


@unit
def test_an_attack_by_hand():
    """No other master asks: the bound of a read alone, without a refresh and with no row open."""
    part = DDR3_1600_MODULE
    idle = ReadAttack(100, (replace(WRITER, asks=0),))
    assert idle.cycles(System(2, 2)) == 7 + part.nRCD + part.nCCD_S + part.nCAS + part.nBURST


@unit
def test_beside_masters_of_other_banks_nfaw_may_cost_more():
    """They are not those that `read_data` speaks of: of this part, whose four-activate window is
    four times as long as a change of rows, it is exceeded beside one of them."""
    part = replace(
        DDR3_1600_MODULE, name="few activates", nRCD=2, nCAS=8, nCWD=5, nRP=4, nRAS=18, nRC=22,
        nRTP=1, nWR=13, nWTR_S=8, nWTR_L=8, nRRD_S=7, nRRD_L=7, nFAW=110, nRFC=1, nREFI=1062)
    reader = Other(tuple(letter == "w" for letter in "rrwrrwrrwrrr"), banks=part.banks)
    system = System(3, 10, cap=2, part=part)
    assert (ReadAttack(37, (WRITER, reader)).cycles(system), system.allowed) == (1112, 1110)
    assert ReadAttack(37, (WRITER, WRITER)).cycles(system) <= system.allowed
