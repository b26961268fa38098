"""The page about allocations: what formulas and searches give is what it says."""

import re

import pytest

from cyclebound.golden.noc.end_to_end import total
from cyclebound.golden.noc.execution_model_bounds import scheduled_write
from cyclebound.tools.noc.ddr3_attack import Attack, allowed
from kit.pages import Page

pytestmark = pytest.mark.unit

PAGE = Page("noc-allocation.md")
WRITE = {"nbytes": 4096, "delta": 5, "window": 512, "period": 1024, "quarters": 3, "cap": 9,
         "part": "ddr3-1600-module"}
MASTERS = 1, 2, 4, 8


def scheduled(masters, requesters=1, **others):
    return scheduled_write(requesters=requesters, masters=masters, routers=4, crossing=24,
                           **{"met": 0, "mixed": 0, **others}, **WRITE)


def test_bounds_of_the_table():
    rows = PAGE.rows("| bound | K = 1 | 2 | 4 | 8 |")
    for (_, *cells), bound in zip(rows, (
            lambda k: total(requesters=1, competitors=k, **WRITE),
            lambda k: scheduled(k, met=k - 1, mixed=1),
            lambda k: scheduled(k, met=k - 1), scheduled), strict=True):
        assert cells == [f"{bound(masters):,}" for masters in MASTERS]


def test_what_was_searched_is_within_the_bounds():
    rows = PAGE.rows("| N_req | others | K = 2 | 4 | 8 |")
    kinds = (lambda r, k: total(requesters=r, competitors=k, **WRITE), lambda r, k: scheduled(k, r),
             lambda r, k: scheduled(k, r, mixed=1), lambda r, k: scheduled(k, r))
    for (requesters, _, *cells), bound in zip(rows, kinds, strict=True):
        for masters, cell in zip(MASTERS[1:], cells, strict=True):
            if cell:
                measured, allowed = (int(number.replace(",", ""))
                                     for number in re.findall(r"[\d,]+", cell))
                assert measured <= allowed == bound(int(requesters), masters)


def test_what_it_gains():
    random, private = ({k: claim(k) for k in MASTERS} for claim in (
        lambda k: total(requesters=1, competitors=k, **WRITE), scheduled))
    gain = {k: f"{1 - private[k] / random[k]:.0%}".replace("%", " %") for k in MASTERS[1:]}
    assert PAGE.says(
        f"Of the whole write it leaves {gain[8]} with K = 8 ({random[8]:,} to {private[8]:,};",
        f"{gain[4]} with 4 and {gain[2]} with 2",
        f"K costs {private[4] - private[2]} cycles from 2 to 4",
        f"with N_req = 11 and K = 8 the bound is {total(requesters=11, competitors=8, **WRITE):,}",
        f"make it {private[8]:,}, one for two buffers of an application (N_req = 2) "
        f"{scheduled(8, 2):,}")


def test_the_worst_alternations_that_were_found():
    rows = [[int(cell.replace(",", "")) for cell in row] for row in PAGE.rows(
        "| K | m | allowed, each decision turns the bus | allowed, one direction |")]
    assert [row[:2] for row in rows] == [[k, m] for k in MASTERS[1:] for m in (1, 8, 32)]
    for masters, requests, mixed, one, with_rule, without, alike in rows:
        assert mixed == allowed(masters, requests, 9, mixed=1) >= without > with_rule > one
        assert one == allowed(masters, requests, 9, mixed=0) >= alike
        if requests == 1:
            assert alike == max(Attack(way, ((way,),) * (masters - 1)).cycles(requests, 9)
                                for way in (False, True))
    assert with_rule / mixed < 0.46
    assert without / mixed > 0.95
