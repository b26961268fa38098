"""The pages about networks on chip: tables that formulas give are what the formulas say."""

from fractions import Fraction
from pathlib import Path as File

import pytest

from cyclebound.golden.noc.composition import Path, Transaction, row_conflict
from cyclebound.golden.noc.composition_corrected import end_to_end
from cyclebound.golden.noc.shmac_bounds import shared_read, shared_write

DOCS = File(__file__).parents[2] / "docs"
pytestmark = pytest.mark.unit


def table(page, head):
    """The cells below the row of a page that begins with ``head``, by row."""
    lines = iter((DOCS / page).read_text().splitlines())
    assert any(line.startswith(head) for line in lines)
    assert next(lines).startswith("| ---")
    rows = []
    for line in lines:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip() for cell in line.split("|")[1:-1]])
    return rows


def numbers(cell):
    """The numbers of a cell such as "45,113.5" or "32, 45"."""
    return [Fraction(number.replace(",", "")) for number in cell.split(", ")]


def test_stages_of_the_end_to_end_bound():
    rows = table("noc.md", "| N_req | N_trans | printed, divided |")
    assert len(rows) == 4
    for row in rows:
        requesters, competitors, *printed = (numbers(cell)[0] for cell in row)
        transaction = Transaction(Path(), requesters=int(requesters), competitors=int(competitors))
        ours = end_to_end(transaction, row_conflict())
        assert printed == [time.amount for time in (
            transaction.total(transaction.eq7), transaction.total(transaction.eq7_times),
            ours.total, ours.fill, ours.read, ours.network, ours.memory)]


def test_the_worst_read_of_a_shared_ram():
    alone, two, three = table("shmac.md", "| masters | 1 | 2 | 3 | 4 | 5 | 6 to 8 |")
    assert [numbers(cell) for cell in alone[1:5]] == [
        [shared_read(links=1, sharing=1, inputs=inputs)] for inputs in range(1, 5)]
    for row, sharing in ((two, 2), (three, 3)):
        assert numbers(row[-1].removesuffix(" (7)")) == [
            shared_read(links=links, sharing=sharing, inputs=4) for links in (1, 2)]


def test_the_worst_write_to_a_shared_ram():
    rows = table("shmac.md", "| inputs | 1 | 2 | 3 | 4 |")
    assert [[numbers(cell) for cell in row[1:]] for row in rows] == [
        [[shared_write(links=links, sharing=sharing, inputs=inputs) for links in (1, 2)]
         for inputs in range(1, 5)] for sharing in (1, 2, 3)]
