"""The address mapping of Sim-D's command generator: bank, row and column of a burst.

From the lowest bit of a burst's number: one bit chooses between a bank and its sibling, the next
ones the column, then come the other bank bits, then the row. Adjacent bursts therefore alternate
between two banks of different groups until that pair's row is used up, and the rows of all banks
are used up before a row is left.

Ref: Sim-D, section 3.2.2 ("Paired Bank-Group Interleaving").
"""

from dataclasses import dataclass

from cyclebound.golden.dram.timing import Part

__all__ = ["Place", "burst_at", "place_of"]


@dataclass(frozen=True)
class Place:
    """A burst's bank, row and first column."""

    bank: int
    row: int
    column: int


def place_of(part: Part, burst: int) -> Place:
    """The place of burst number ``burst`` (byte address / 64); beyond the device, rows wrap."""
    rest, sibling = divmod(burst, 2)
    rest, column = divmod(rest, part.bursts_per_row)
    row, pair = divmod(rest, part.banks // 2)
    return Place(2 * pair + sibling, row % part.rows, 8 * column)


def burst_at(part: Part, *, bank: int, row: int, column: int) -> int:
    """The number of the burst at a place; the inverse of `place_of`."""
    pair, sibling = divmod(bank, 2)
    return ((row * (part.banks // 2) + pair) * part.bursts_per_row + column // 8) * 2 + sibling
