"""The longest indexed requests that were found, by part, direction, rows and words.

They stand in ``indexed_witnesses.csv`` beside this file: words known from the paper's classes, and
what the adversary of ``index_search.py`` made of them. ``found`` is their issue delay on the golden
model, in DRAM clocks; the bound is `indexed_issue_delay`.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.index_search import Order

__all__ = ["FILE", "Witness", "witnesses"]

FILE = Path(__file__).with_name("indexed_witnesses.csv")


@dataclass(frozen=True)
class Witness:
    """An indexed request that takes ``found`` clocks, the most known of its kind."""

    part: str
    write: int
    rows: int
    found: int
    order: Order

    @property
    def bursts(self) -> int:
        """Words, and so bursts."""
        return len(self.order.banks)

    @property
    def bound(self) -> int:
        """`indexed_issue_delay`."""
        return indexed_issue_delay(part=self.part, bursts=self.bursts, rows=self.rows,
                                   write=self.write)


def witnesses(part: str | None = None) -> list[Witness]:
    """All of them, or those of one part; a bank is a hexadecimal digit in the file."""
    with FILE.open(newline="") as file:
        found = [Witness(row["part"], int(row["write"]), int(row["rows"]), int(row["found"]),
                         Order(int(row["first"]), tuple(int(bank, 16) for bank in row["banks"])))
                 for row in csv.DictReader(file)]
    return [each for each in found if part in (None, each.part)]
