"""Requests of masters to a shared DRAM, as front end and reorder core see them.

Ref: memory-composition, section IV.C.3 (priorities 4 and 7 are those of its Example 4).
"""

from typing import NamedTuple

__all__ = ["HIGHEST", "PRIORITY_BITS", "QueuedRequest"]

PRIORITY_BITS = 3
HIGHEST = (1 << PRIORITY_BITS) - 1
"""The greatest priority, which goes first."""


class QueuedRequest(NamedTuple):
    """A burst that is read or written. ``tag`` names it to its master."""

    priority: int
    write: bool
    bank: int
    row: int
    column: int = 0
    tag: int = 0
