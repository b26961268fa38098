"""The longest issue delays of indexed requests, as the exact search found them.

``indexed_longest.csv`` beside this file has a line for each kind of request, of a named part, that
`longest_request` was asked about: ``cyclebound dram table`` makes all of them again. ``settled``
is the number of words from which on each takes nCCD_L, and nothing else changes; or 0.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from cyclebound.golden.csv_rows import read_rows
from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.timing import PARTS, Part

__all__ = ["FILE", "IndexedDelay", "known_delays", "longest_known"]

FILE = Path(__file__).with_name("indexed_longest.csv")


class IndexedDelay(NamedTuple):
    """The exact delay of the longest request of this kind, in clocks."""

    part: str
    write: int
    rows: int
    bursts: int
    delay: int
    settled: int


@cache
def known_delays() -> tuple[IndexedDelay, ...]:
    """Every line of the table of searched requests."""
    return tuple(IndexedDelay(**row) for row in read_rows(
        FILE, {"part": _part, **dict.fromkeys(IndexedDelay._fields[1:], int)}))


def _part(name: str) -> str:
    if name not in PARTS:
        raise ValueError(name)
    return name


def longest_known(part: Part, *, bursts: int, rows: int, write: int) -> int | None:
    """The longest delay of requests of this kind, in clocks; None if no search covers it.

    A buffer of more rows has all requests of one with fewer. A write activates and writes in the
    cycles in which the same read would activate and read, since these are decided before a bank
    has to recover: it takes longer than the read by the difference of their recoveries.
    """
    def longer(row: IndexedDelay) -> int:
        recovers = recovery(part, write) - recovery(part, row.write)
        return row.delay + (bursts - row.bursts) * part.nCCD_L + recovers

    return min((longer(request) for request in known_delays()
                if request.write <= write and request.rows >= rows and PARTS[request.part] == part
                and (request.bursts == bursts or 0 < request.settled <= bursts)), default=None)
