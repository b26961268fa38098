"""The closed formula of 1D tiles: equal to what following the rules finds, wherever it speaks."""

import itertools
import random
import re
from dataclasses import replace

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.tile_chains import tile_chains, tile_limit
from cyclebound.golden.dram.timing import PARTS
from cyclebound.golden.dram.worst_case import worst_issue_delay

pytestmark = pytest.mark.unit

X16, X8, SLOW, DDR3 = "ddr4-3200aa-x16", "ddr4-3200aa-x8", "ddr4-1866m-x16", "ddr3-1600-module"
NAMED = (X16, X8, SLOW, DDR3)


def agree(part, sizes, *, write):
    for bursts in sizes:
        request = {"part": part, "bursts": bursts, "write": write}
        assert tile_chains(**request) == tile_issue_delay(**request), request


@pytest.mark.parametrize("part", [
    X16, DDR3, *(pytest.param(part, marks=pytest.mark.thorough) for part in (X8, SLOW))])
def test_two_derivations_agree(part):
    small = replace(PARTS[part], columns=128)
    for write in (0, 1):
        agree(small, [*range(1, 41), 64, *range(tile_limit(small) - 8, tile_limit(small) + 1)],
              write=write)


@pytest.mark.thorough
@pytest.mark.parametrize("write", [0, 1], ids=["read", "write"])
@pytest.mark.parametrize("part", NAMED)
def test_two_derivations_agree_on_whole_parts(part, write):
    agree(PARTS[part], range(1, tile_limit(PARTS[part]) + 1), write=write)


def synthetic(kind, rng):
    """A part with numbers of a kind that the closed formula covers."""
    short = 4
    base, again, first, group, row = {
        "wide": lambda: (X16, n := rng.choice([7, 8]), n + 1, rng.randint(n + 2, 2 * n + 1),
                         rng.choice([a for a in range(2 * n + 4, 40) if a != 3 * n + 3])),
        "narrow": lambda: (X16, n := rng.choice([5, 6]), n, rng.randint(n, 2 * n - 1),
                           rng.choice([a for a in range(n + 3, 40) if a not in (2 * n, 3 * n)])),
        "four": lambda: (X8, rng.randint(5, 8), 4, rng.randint(4, 12),
                         rng.choice([a for a in range(9, 40) if a != 12])),
        "one": lambda: (DDR3, 4, 5, 5, rng.choice([a for a in range(8, 33) if a not in (10, 15)])),
    }[kind]()
    while True:
        held, closing = rng.randint(4, 16), rng.randint(8, 26)
        active = row + rng.randint(0, 60)
        cycle = active + closing + rng.randint(0, 2)
        if cycle <= held + closing + min(row + 26, 32 if kind == "one" else 64):
            break
    return replace(PARTS[base], nCCD_S=short, nCCD_L=again, nRRD_S=first, nRRD_L=group, nRCD=row,
                   nRTP=held, nRP=closing, nRAS=active, nRC=cycle, nWR=rng.randint(8, 30),
                   nCWD=rng.randint(6, 18), nCAS=40, nFAW=rng.choice([0, rng.randint(4, 54)]))


@pytest.mark.parametrize("kind", ["wide", "narrow", "four", "one"])
def test_the_conditions_of_the_closed_formula(kind):
    rng = random.Random(kind)
    for _ in range(5):
        part = replace(synthetic(kind, rng), columns=128)
        for bursts, write in itertools.product((*range(1, 11), 22), (0, 1)):
            request = {"part": part, "bursts": bursts, "write": write}
            assert tile_chains(**request) == tile_issue_delay(**request), request


NO_KIND = ("tile_chains must have timing numbers of a kind that it was derived for; "
           "tile_issue_delay covers any")


@pytest.mark.parametrize(("part", "change"), [
    (X16, {"columns": 8}), (X16, {"columns": 64}), (X8, {"banks": 4}),
    (X16, {"nRCD": 18}), (X16, {"nRCD": 27}), (X16, {"nRCD": 19}), (X16, {"nRCD": 40}),
    (X16, {"nRRD_S": 10, "nRRD_L": 11}), (X16, {"nRRD_L": 18}), (X16, {"nRRD_L": 9}),
    (X16, {"nCCD_S": 5}), (X16, {"nCCD_L": 9}), (X16, {"nRC": 34 + 22 + 27}),
    (X16, {"nRCD": 39, "nRC": 34 + 65}),
    (SLOW, {"nRCD": 7}), (SLOW, {"nRCD": 10}), (SLOW, {"nRCD": 15}), (SLOW, {"nRRD_L": 10}),
    (X8, {"nRRD_S": 5}), (X8, {"nCCD_L": 4}), (X8, {"nRCD": 8}), (X8, {"nRCD": 12}),
    (X8, {"nRTP": 2}), (X8, {"nBURST": 2}),
    (DDR3, {"nRRD_S": 6, "nRRD_L": 6}), (DDR3, {"nRCD": 10}), (DDR3, {"nRCD": 7}),
    (DDR3, {"nRC": 50}), (DDR3, {"nRCD": 33})])
def test_numbers_that_no_closed_formula_covers(part, change):
    row = change.get("nRCD", PARTS[part].nRCD)
    active = max(PARTS[part].nRAS, row)
    changed = replace(PARTS[part], **{"nRAS": active, "nRC": active + PARTS[part].nRP} | change)
    with pytest.raises(NotCovered, match=f"^{re.escape(changed.name)}: {NO_KIND}$"):
        tile_chains(part=changed, bursts=4, write=0)
    assert tile_issue_delay(part=changed, bursts=4, write=0) == worst_issue_delay(
        part=changed, bursts=4, write=0)[0]


def test_tiles_that_come_back_to_a_bank():
    with pytest.raises(NotCovered, match=r"^bursts must be at most 769 for tile_chains, those of a "
                                         r"tile that comes back to no bank, not 770$"):
        tile_chains(part=X16, bursts=770, write=0)
