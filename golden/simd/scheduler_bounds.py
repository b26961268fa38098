"""Bounds of the work-group scheduler: it decides in the cycle in which it can."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound
from cyclebound.golden.simd.machine import SLOTS

__all__ = ["launch_after_slot", "turn"]

Slot = Annotated[int, Range(0, SLOTS - 1, "of the machine's slots")]


@bound(formula="1 + slot", source="this project",
       environment="work-groups are left, none has to wait for its pair; the other slot may be "
                   "free as well")
def launch_after_slot(*, slot: Slot) -> int:
    """Compute cycles from a slot's being free to its next work-group, both included.

    One work-group is launched in a cycle, the lower slot's first: slot 0 gets one at once, slot 1
    in the next cycle if both are free.
    """
    return 1 + slot


@bound(formula="1", source="this project",
       environment="policy access; the other slot's access was committed earlier; grids have "
                   "items; one work-group at a time ends or commits an access, one that has a slot "
                   "and none under way; an access is over once, and only if it was allowed to "
                   "begin; a last store is one to DRAM")
def turn() -> int:
    """Compute cycles from the end of an access to the turn of the one that waits, both included.

    The end is seen in the cycle in which it is told, and the turn passes on in it.
    """
    return 1
