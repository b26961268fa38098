"""How long a request takes at the page controller."""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["request_time"]

Refreshes = Annotated[int, Range(0, 1, says="refreshes that may be done; 0 where it is known that "
                                            "none is under way or falls due")]


@bound(formula="nWR + nRP + nRCD + nCAS + nBURST + refreshes * nRFC",
       source="memory-composition, V.B.2 (t_req^max); refreshes: this project",
       environment="the requests before it were of any banks, rows and directions, and came in any "
                   "cycles")
def request_time(*, part: Part | str, refreshes: Refreshes) -> int:
    """DDR cycles of a request: a read of another row after a write takes longest.

    Counted to the cycle of its last beat of data, from the one after the last beat of the
    request before, or from that in which the controller first sees it, whichever is later; both
    included. Of ``refreshes``, one at most is done in between, or not over yet at its beginning.

    Derivation: let e be the last beat of the request before. If that was a write, its bank may be
    precharged nWR cycles after its data, in cycle e + nWR + 1; the activate follows nRP later, the
    read nRCD, its last beat nCAS + nBURST - 1: in all nWR + nRP + nRCD + nCAS + nBURST cycles from
    e + 1. Another bank, another direction or an earlier write leave less to wait for, if the part's
    numbers are as they are checked here; so does a request that comes later, as its first command
    is on the pins two cycles after it is seen. A refresh takes all banks' precharge, nRP, then
    nRFC until the activate, in place of the precharge and nRP.
    """
    part = part_named(part)
    written = part.nCWD + part.nBURST
    recovery = part.nWR + part.nRP + part.nRCD + part.nCAS + part.nBURST
    for least, what in (
            # (from the last beat of a read) the row must have been open for nRAS, or nRC
            (max(part.nRAS, part.nRC - part.nRP) - part.nRCD - part.nCAS, "a row's least time"),
            (part.nRTP - part.nCAS, "a read's distance to a precharge"),
            (part.nFAW - 4 * part.nRCD + part.nWR, "the four-activate window"),
            # pins come two cycles after the request, where nothing else is to be waited for
            (2, "the controller's own two cycles")):
        if least > part.nWR:
            raise NotCovered(f"{part.name}: {what} must be covered by nWR")
    if refreshes and 2 * (recovery + part.nRFC) > part.nREFI:
        raise NotCovered(f"{part.name}: two refreshes must be further apart than a request takes")
    if part.nRAS - part.nRCD > written + part.nWR:
        raise NotCovered(f"{part.name}: nRAS must be over when a write has recovered")
    return recovery + refreshes * part.nRFC
