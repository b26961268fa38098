"""The adversary of indexed requests, its witnesses, and the table in the documents."""

import random
import re
from functools import cache
from pathlib import Path

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.timing import PARTS
from cyclebound.tools.dram.index_search import Order, bursts_in, longest_order
from cyclebound.tools.dram.index_witnesses import witnesses

pytestmark = pytest.mark.unit

X16, X8 = "ddr4-3200aa-x16", "ddr4-3200aa-x8"
TABLE = Path(__file__).parents[2] / "docs" / "dram.md"
COLUMNS = (4, 8, 16, 64)


def rows_covered(part, bursts):
    """Rows of the smallest buffer that holds these bursts, counted burst by burst."""
    return len({(place_of(part, burst).bank, place_of(part, burst).row)
                for burst in range(min(bursts), max(bursts) + 1)})


def test_witnesses_are_what_they_say():
    known = witnesses()
    assert {(witness.part, witness.write) for witness in known} == {
        (part, write) for part in (X16, X8) for write in (0, 1)}
    for witness in known:
        part = PARTS[witness.part]
        assert witness.order.delay(part, write=witness.write) == witness.delay <= witness.bound
        assert rows_covered(part, bursts_in(part, witness.order)) <= witness.rows
    assert witnesses(X8) == [witness for witness in known if witness.part == X8]
    assert max(witness.bursts for witness in known) == 64


@pytest.mark.parametrize(("part", "write", "rows", "banks", "found"), [
    (X16, 0, 2, "01", 83), (X16, 0, 3, "102", 94), (X16, 1, 3, "102", 108),
    (X16, 0, 5, "01234", 122), (X16, 1, 5, "01234", 136), (X16, 0, 8, "04237561", 149),
    (X16, 1, 8, "503462", 147), (X8, 0, 4, "0", 74), (X8, 1, 4, "0", 88), (X8, 0, 5, "325411", 109),
    (X8, 0, 16, "0c26f85e3b91a", 179),
])
def test_orders_by_name(part, write, rows, banks, found):
    order = Order(0, tuple(int(bank, 16) for bank in banks))
    assert order.delay(PARTS[part], write=write) == found <= indexed_issue_delay(
        part=part, bursts=len(banks), rows=rows, write=write)


@pytest.mark.parametrize(("part", "write", "banks", "found"), [
    *((X16, write, banks, found + 14 * write) for write in (0, 1) for banks, found in (
        ("02", 85), ("024", 97), ("0246", 108), ("01246", 122), ("012346", 133),
        ("0123457", 142))),
    (X16, 0, "02346517", 149), (X16, 1, "71230655", 164),
    (X8, 0, "048", 90), (X8, 0, "048c", 98), (X8, 0, "0158c", 109), (X8, 1, "0158c", 123),
    (X8, 0, "fa71cbd86495" + 8 * "2", 217), (X8, 1, "fa71cbd86495" + 4 * "2", 217),
    (X8, 1, "fa71cbd86495" + 12 * "2", 281), (X8, 1, "fa71cbd86495" + 116 * "2", 1113),
])
def test_orders_that_take_as_long_as_the_bound(part, write, banks, found):
    order = Order(0, tuple(int(bank, 16) for bank in banks))
    assert order.delay(PARTS[part], write=write) == found == indexed_issue_delay(
        part=part, bursts=len(banks), rows=PARTS[part].banks, write=write)


@pytest.mark.parametrize("write", [0, 1])
def test_a_bank_left_for_last(write):
    """Longer than two banks of one group, which had been the longest known."""
    part = PARTS[X16]
    order = Order(0, tuple(int(bank) for bank in "27774356" + 12 * "1"))
    pair = Order(0, (3, *(19 * [5])))
    assert order.delay(part, write=write) == pair.delay(part, write=write) + 1
    assert order.delay(part, write=write) <= indexed_issue_delay(part=part, bursts=20, rows=8,
                                                                 write=write)


@pytest.mark.parametrize(("part", "rows"), [(X16, 8), (X16, 7), (X8, 16), (X8, 9)])
def test_tails_at_random_keep_the_bound(part, rows):
    """One word or a few for most banks, the rest in one bank, by itself at the end or not."""
    device, rng = PARTS[part], random.Random(f"{part} {rows}")
    for _ in range(60):
        places = rng.sample(range(rows), rng.randint(4, rows))
        banks = places + rng.choices(places, k=rng.randrange(4))
        rng.shuffle(banks)
        banks += [rng.choice(places)] * rng.randrange(14)
        write = rng.randrange(2)
        assert Order(0, tuple(banks)).delay(device, write=write) <= indexed_issue_delay(
            part=part, bursts=len(banks), rows=rows, write=write)


def test_a_buffer_may_begin_in_any_bank():
    for part in (PARTS[X16], PARTS[X8]):
        for first in range(part.banks):
            banks = [(first + row) % part.banks for row in range(5)]
            assert rows_covered(part, bursts_in(part, Order(first, tuple(banks)))) == 5


def test_adversary_finds_the_worst_of_a_few():
    """Four words over four rows, where the worst of all 4 ** 4 is known; and never a shorter one.
    """
    found, order = longest_order(part=X16, bursts=4, rows=4, write=0, steps=600,
                                 rng=random.Random(1))
    assert found == order.delay(PARTS[X16], write=0) == 101
    again, _ = longest_order(part=X16, bursts=4, rows=4, write=0, steps=1, rng=random.Random(2),
                             start=order)
    assert again == found
    longer, order = longest_order(part=X16, bursts=6, rows=4, write=0, steps=1, start=order,
                                  rng=random.Random(2))
    assert len(order.banks) == 6
    assert longer >= found


@pytest.mark.parametrize(("part", "bursts", "known"), [(X16, 20, 243), (X8, 24, 272)])
def test_adversary_knows_tails(part, bursts, known):
    """A bank left for last takes longer than two banks of one group, which need no such order."""
    found, order = longest_order(part=part, bursts=bursts, rows=PARTS[part].banks, write=1,
                                 steps=4000, rng=random.Random({X16: 1, X8: 3}[part]))
    assert found == order.delay(PARTS[part], write=1) > known
    assert len(set(order.banks[-5:])) == 1


@pytest.mark.parametrize(("request_", "kind", "message"), [
    ({"rows": 9}, ValueError, r"^rows must be from 1 to 8, not 9$"),
    ({"rows": 0}, ValueError, r"^rows must be from 1 to 8, not 0$"),
    ({"steps": 0}, ValueError, r"^steps must be at least 1, not 0$"),
    ({"bursts": 0}, NotCovered, r"^bursts must be a whole number of at least 1, not 0$"),
])
def test_no_search(request_, kind, message):
    with pytest.raises(kind, match=message):
        longest_order(**{"part": X16, "bursts": 2, "rows": 2, "write": 0, "steps": 1,
                         "rng": random.Random(1), **request_})


LOOSE = {(X8, 0, 15, 17): 4, (X8, 0, 16, 17): 13, (X8, 0, 16, 18): 7}
"""Clocks between the bound and the longest known, for all kinds of request where there are any."""


@pytest.mark.parametrize("write", [0, 1])
@pytest.mark.parametrize("part", [X16, pytest.param(X8, marks=pytest.mark.thorough)])
def test_a_request_takes_as_long_as_the_bound(part, write):
    """Of 1 to 48 words over any number of rows: a witness, or one with more words in its last bank.
    """
    device, loose = PARTS[part], {}
    delay = cache(lambda order: order.delay(device, write=write))
    for rows in range(1, device.banks + 1):
        longest = Order(0, ())
        for bursts in range(1, 49):
            orders = [witness.order for witness in witnesses(part) if witness.write == write
                      and witness.rows <= rows and witness.bursts == bursts]
            more = (*longest.banks, *(longest.banks[-1:] or (0,)))
            longest = max((*orders, Order(longest.first, more)), key=delay)
            missing = indexed_issue_delay(part=part, bursts=bursts, rows=rows,
                                          write=write) - delay(longest)
            if missing:
                loose[part, write, rows, bursts] = missing
    assert loose == {kind: missing for kind, missing in LOOSE.items()
                     if kind[:2] == (part, write)}


def test_table_in_the_documents():
    """Bound and longest found, for each part, direction and number of rows."""
    best = {}
    for witness in witnesses():
        key = witness.part, witness.write, witness.rows, witness.bursts
        best[key] = max(best.get(key, 0), witness.delay)
    lines = re.findall(r"^\| (x16|x8) \| (read|write) \| (\d+) \|(.*)\|$", TABLE.read_text(),
                       flags=re.MULTILINE)
    assert len(lines) == 2 * (7 + 8)
    for name, way, rows, cells in lines:
        part, write = {"x16": X16, "x8": X8}[name], int(way == "write")
        assert [cell.strip() for cell in cells.split("|")] == [
            "{} / {}".format(indexed_issue_delay(part=part, bursts=bursts, rows=int(rows),
                                                 write=write), best[part, write, int(rows), bursts])
            for bursts in COLUMNS]
