"""Bounds of the host's register interface."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound

__all__ = ["register_read", "register_write"]

_BUS = "the host takes each answer at once; no write waits for a mapping"


@bound(formula="3 + maps", source="this project", environment=_BUS)
def register_write(*, maps: Annotated[int, Range(0, 1, "whether it is to MAP")]) -> int:
    """Clocks from a write's address and data, both on offer, to its answer, both included.

    Both are taken in the first clock into registers; in the second the write is carried out; its
    answer is on offer in the third. A mapping is handed on in a clock between the two.
    """
    return 3 + maps


@bound(formula="3", source="this project", environment=_BUS)
def register_read() -> int:
    """Clocks from a read's address on offer to its word, both included.

    Taken in the first, looked up in the second, on offer in the third.
    """
    return 3
