"""How long a request takes at the page controller."""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["refresh_delay", "request_time", "row_change"]

Refreshes = Annotated[int, Range(0, 1, says="refreshes that may be done; 0 where it is known that "
                                            "none is under way or falls due")]
_LOOKS = 2  # cycles from a request's offer to its first command on the pins


def _turn(part: Part) -> int:
    """From the last beat of a read to a write's first one, that included: the bus turns around."""
    return max(2, 1 + part.nWPRE) + 1


def _four_activates(part: Part) -> int:
    """Least distance from the first of four activates to the read or write of the fourth.

    Each request looks at its bank `_LOOKS` cycles after the read or write before it.
    """
    cas = min(part.nCCD_S, part.nCAS + part.nBURST + _turn(part) - 1 - part.nCWD,
              part.nCWD + part.nBURST + part.nWTR_S)
    activate, last = 0, part.nRCD
    for _ in range(3):
        activate = max(activate + part.nRRD_S, last + _LOOKS)
        last = max(activate + part.nRCD, last + cas)
    return last


def refresh_delay(part: Part) -> int:
    """By how many cycles a refresh delays a request that has to open its row in any case: nRFC.

    (Two at least, in which the controller looks at the request once more.)
    """
    return max(part.nRFC, _LOOKS)


def row_change(part: Part) -> int:
    """From one write to the next one, of another row of the same bank: t_conflict, at most.

    Of usual parts nCWD + nBURST + nWR + nRP + nRCD. The activate was nRCD or more before its write,
    so that nRC and nRRD from it to the next activate are as many from write to write; of five
    activates, the first four are three times t_conflict apart at least. A write that finds its row
    open, after nCCD, becomes such a one by a refresh in that very cycle.
    """
    change = max(part.nCWD + part.nBURST + part.nWR, part.nCCD_S) + part.nRP + part.nRCD
    return max(change, part.nRC, part.nRRD_S, part.nFAW - 3 * change)


@bound(formula="of DDR3-1600 nWR + nRP + nRCD + nCAS + nBURST + refreshes * nRFC; of any part the "
               "greater of max(max(p + nRP, a, c) + nRCD, r) + nCAS + nBURST and w + nCWD + "
               "nBURST, with a refresh of max(max(p, a, r) + nRP, c) + nRFC + nRCD + nCAS + "
               "nBURST and w + nRP + nRFC + nRCD + nCWD + nBURST",
       source="memory-composition, V.B.2 (t_req^max); other parts, refreshes: this project",
       environment="the requests before it were of any banks, rows and directions, and came in any "
                   "cycles")
def request_time(*, part: Part | str, refreshes: Refreshes) -> int:
    """DDR cycles of a request; of DDR3-1600, a read of another row after a write takes longest.

    Counted to the cycle of its last beat of data, from the one after the last beat of the
    request before, or from that in which the controller first sees it, whichever is later; both
    included. Of ``refreshes``, one at most is done in between, or not over yet at its beginning.
    Raises `NotCovered` with ``refreshes`` where two may be: for a part whose nREFI is less than
    twice that time.

    Derivation: let e be the last beat of the request before. Its read was on the pins in cycle
    e + 1 - nCAS - nBURST, or its write in e + 1 - nCWD - nBURST, and its activate nRCD or more
    before that; all requests before that one left each of these cycles earlier. A request that
    comes after e has its first command on the pins two cycles after it is seen. So, from e + 1,

    - a precharge (of the request's bank, or of all for a refresh) is legal after at most
      p = max(nWR, nRTP - nCAS - nBURST, nRAS - nRCD - nCWD - nBURST, 2) cycles;
    - the activate of a closed bank after a = max(nRRD, nFAW - f) - nRCD - nCWD - nBURST, where f is
      the least distance from the first to the last of four activates, each of a request of its own;
      of the bank activated last, nRC allows it after c = nRC - nRCD - nCWD - nBURST;
    - a read of an open row after r = max(nWTR, nCCD - nCAS - nBURST), since a write before it is
      nCWD + nBURST + nWTR earlier; a write of one after w = max(nCCD - nBURST, 2, 1 + nWPRE) - nCWD
      (after a write, or a read).

    Without a refresh a request's first command waits as long as that, and nRP, nRCD, nCAS or nCWD
    and nBURST follow. A refresh is begun before the request's first command, so at the latest in
    the cycle in which that would have been issued: all banks' precharge takes place then, nRP later
    the refresh, nRFC (two at least, in which the controller looks at the request once more) until
    the activate. Of the bank activated last no activate can be waiting when a refresh begins, as
    it was open; there the refresh itself waits for nRC.
    """
    part = part_named(part)
    before = part.nRCD + part.nCWD + part.nBURST  # from the last activate to e + 1, at least
    precharge = max(part.nWR, part.nRTP - part.nCAS - part.nBURST, part.nRAS - before, _LOOKS)
    activate = max(part.nRRD_S - before,
                   part.nFAW - _four_activates(part) - part.nCWD - part.nBURST)
    cycle = part.nRC - before
    read = max(part.nWTR_S, part.nCCD_S - part.nCAS - part.nBURST)
    write = max(part.nCCD_S - part.nBURST, _turn(part) - 1) - part.nCWD
    reading, writing = part.nCAS + part.nBURST, part.nCWD + part.nBURST
    if not refreshes:
        return max(max(precharge + part.nRP, activate, cycle) + part.nRCD + reading,
                   read + reading, write + writing)
    refresh = refresh_delay(part) + part.nRCD
    longest = max(max(max(precharge, activate, read) + part.nRP, cycle) + refresh + reading,
                  write + part.nRP + refresh + writing)
    if 2 * longest > part.nREFI:
        raise NotCovered(f"{part.name}: two refreshes must be further apart than a request takes: "
                         f"nREFI must be at least {2 * longest}, not {part.nREFI}")
    return longest
