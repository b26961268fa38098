"""Worst-case formulas of the networks on chip."""

from cyclebound.golden.bound import bound, check_count

__all__ = ["round_robin_wait"]


@bound(formula="N_req", source="memory-composition, III.A (round robin)")
def round_robin_wait(*, requesters: int) -> int:
    """Accepted grants from a request up to and including its own.

    Counted in grants: with a grant accepted in every cycle these are cycles, from the first cycle
    of the request to the cycle of its grant, both included. Each of the other N_req - 1
    requesters is served at most once before: after its turn it stands behind the one that waits.
    """
    check_count("requesters", requesters)
    return requesters
