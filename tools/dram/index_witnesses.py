"""The longest indexed requests that were found, by part, direction, rows and words.

They stand in ``indexed_witnesses.csv`` beside this file: words known from the paper's classes, and
what the adversary of ``index_search.py`` made of them. ``found`` is their issue delay on the golden
model, in DRAM clocks; the bound is `indexed_issue_delay`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cyclebound.golden.csv_rows import read_rows
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.tools.dram.index_search import Order

__all__ = ["FILE", "Witness", "witnesses"]

FILE = Path(__file__).with_name("indexed_witnesses.csv")


@dataclass(frozen=True)
class Witness:
    """An indexed request that takes ``delay`` clocks, the most known of its kind."""

    part: str
    write: int
    rows: int
    delay: int
    order: Order

    @property
    def bursts(self) -> int:
        """Number of words: each is a burst."""
        return len(self.order.banks)

    @property
    def bound(self) -> int:
        """The bound on the request's issue delay, in clocks: `indexed_issue_delay`."""
        return indexed_issue_delay(part=self.part, bursts=self.bursts, rows=self.rows,
                                   write=self.write)


def witnesses(part: str | None = None) -> list[Witness]:
    """All of them, or those of one part; a bank is a hexadecimal digit in the file."""
    columns: dict[str, Callable[[str], object]] = {
        "part": str, "write": int, "rows": int, "delay": int, "first": int,
        "banks": _banks}
    rows = [Witness(row["part"], row["write"], row["rows"], row["delay"],
                    Order(row["first"], row["banks"])) for row in read_rows(FILE, columns)]
    return [witness for witness in rows if part in (None, witness.part)]


def _banks(digits: str) -> tuple[int, ...]:
    return tuple(int(bank, 16) for bank in digits)
