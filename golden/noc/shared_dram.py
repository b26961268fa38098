"""When reads of one row leave a DRAM that other masters write to: in which order, and how late.

Part of the bounds of the end-to-end read. All masters are equals at the front end. The others ask
in every cycle, and each of their requests writes another row of the same bank.

Ref: memory-composition, section IV.C.3 (the reorder core's rules).
"""

from functools import lru_cache
from itertools import pairwise

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.timing import Part

__all__ = ["QUEUE", "decided_reads", "departures"]

QUEUE = 8   # n: places in the reorder core
_LOOKS = 2  # from a decision to the next one's first command


@lru_cache(maxsize=1 << 10)
def departures(reads: int, *, masters: int, cap: int) -> tuple[bool, ...]:
    """By departure from the reorder core, from the first one after a grant that the transaction
    just missed to its last read's: whether it is a read of the transaction.

    Raises `NotCovered` without an age cap.

    Derivation: in the cycle after a departure, the request that the front end had granted before
    enters the queue, and the front end grants the next. So one enters for each that leaves, and the
    queue is full. The grant that was missed was that of the port after the transaction's, at worst,
    so that each of the other masters but one has its turn first; from then on each N_trans-th
    request is a read. The queue has only writes until the first one. Of those in the queue, the
    oldest leaves if it has seen ``cap`` departures; else the oldest of the same kind as the last
    one, if there is any: after a read its row is open (rule 2), and after a write no row of the
    queue's is, so that a write goes before a read (rule 4). The oldest, if there is none.

    None of this depends on times. Nor does it on refreshes: there is always a request on offer to
    the page controller, to the only bank, whose row will be opened again, so that the reorder core
    goes on as if it were open.
    """
    if cap < 1:
        raise NotCovered(f"cap must be at least 1, not {cap!r}: without one, there is no bound")
    queue = [(False, -place) for place in range(QUEUE, 0, -1)]  # with the departures before it came
    left: list[bool] = []
    ahead, coming, granted = masters - 1, False, 0  # grants before the next read; who enters next
    while sum(left) < reads:
        place = 0
        if len(left) - queue[0][1] < cap:
            last = bool(left) and left[-1]
            place = next((place for place, (mine, _) in enumerate(queue) if mine == last), 0)
        left.append(queue.pop(place)[0])
        queue.append((coming, len(left)))
        ahead -= 1
        coming = ahead == 0 and granted < reads
        granted += coming
        ahead = ahead or masters
    return tuple(left)


@lru_cache(maxsize=1 << 10)
def decided_reads(reads: int, *, masters: int, cap: int, part: Part
                  ) -> tuple[tuple[int, ...], ...]:
    """DDR cycles from a departure, after which the transaction just misses a grant, until each of
    its ``reads``, all of one row, is decided on, at most: some courses, of which none is later than
    another for each read.

    Raises `NotCovered` without an age cap, and for a part whose refreshes are too close.

    Derivation: a request leaves the reorder core in the cycle in which the one before is decided
    on. So `departures`, the one before these included, are decided on one after the other, each as
    early as the page controller may: a read after a read nCCD later, any other one when the row
    before may be closed, and nRP + nRCD after. Only refreshes may differ, and their first due
    cycle decides about all: each is tried, from when the request had begun whose decision is that
    departure. A refresh waits for a request that has begun, and is done before the next one's
    first command if it is due by then. All banks' precharge takes the place of the row's own, nRFC
    later the activate comes; a read of the open row has it closed and opened again.
    """
    import numpy as np  # late: who loads a block's page needs none

    delay, hit, change = refresh_delay(part), max(part.nCCD_S, part.nBURST), row_change(part)
    if part.nREFI <= delay + change:
        raise NotCovered(f"{part.name}: nREFI must be at least {delay + change + 1}, for a request "
                         f"to be decided on between two refreshes, not {part.nREFI}")
    beats = part.nCWD + part.nBURST
    apart = {(False, False): hit, (True, True): hit, (False, True): beats + part.nWTR_S,
             (True, False): part.nCAS + part.nBURST + max(2, 1 + part.nWPRE) - part.nCWD}
    # when the first refresh falls due that comes after the write which is decided on in cycle 0
    due = np.arange(1 + beats + part.nWR - change, 1 + part.nREFI - part.nRP - part.nRCD)
    decided = np.zeros_like(due)
    least = min(part.nRC, part.nRCD + beats + part.nWR + part.nRP)
    acts = [decided - part.nRCD - before * least for before in (3, 2, 1, 0)]
    last, found = False, []
    for mine in (False, *departures(reads, masters=masters, cap=cap)):
        closes = np.maximum(decided + (part.nRTP if last else beats + part.nWR),
                            acts[-1] + part.nRAS)
        goes_on = mine and last  # its row is open
        first = decided + hit if goes_on else np.maximum(closes, decided + _LOOKS)
        opens = np.maximum.reduce([
            (np.maximum(closes, due) if goes_on else first) + part.nRP,
            acts[-1] + max(part.nRC, part.nRRD_S), acts[-4] + part.nFAW])
        met = more = due <= first
        while more.any():  # again, if the next one is due before the activate
            opens, due = opens + delay * more, due + part.nREFI * more
            more = more & (due <= opens)
        activated = met if goes_on else True
        decided = np.maximum(np.where(activated, opens + part.nRCD, first),
                             decided + apart[last, mine])
        acts = [np.where(activated, later, act) for act, later in pairwise([*acts, opens])]
        last = mine
        if mine:
            found.append(decided)
    courses = np.unique(np.transpose(found), axis=0)
    return tuple(tuple(map(int, course)) for course in courses
                 if (courses >= course).all(axis=1).sum() == 1)
