"""How long a request waits at the multi-port front end."""

from collections.abc import Sequence
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound

__all__ = ["front_end_wait", "starvation", "top_wait"]


_ANY_TRAFFIC = "requests may come at any other port in any cycle"
_STALLS = f"{_ANY_TRAFFIC}; the sink of requests may stall"

Port = Annotated[int, Range(0, says="number of the port")]


@bound(formula="L_p + N_starving", source="this project", environment=_STALLS)
def starvation(*, limits: Sequence[int], port: Port) -> int:
    """Cycles from a request's first to its grant, whatever its priority and the others'.

    ``limits`` has every port's limit, 0 where there is none; L_p is this port's. Both cycles are
    included, and cycles in which the source is stalled (on offer, and not taken) are left out.
    Raises `NotCovered` where this port has no limit, or is not there.

    Derivation: after L_p cycles the request starves. From then on only requests that starve are
    granted, and among them it is round robin: each of the other N_starving - 1 ports that may
    starve has one turn at most before this one. With a grant in every cycle in which the source is
    not stalled, that is L_p + N_starving cycles, the grant's among them.
    """
    _checked(port, limits)
    if not limits[port]:
        raise NotCovered(f"port {port} must have a limit, not 0")
    return limits[port] + sum(limit > 0 for limit in limits)


@bound(formula="W = N_equal + sum over q of ceil(W / (L_q + 1))", source="this project",
       environment=f"{_ANY_TRAFFIC}; the sink of requests takes one in every cycle")
def top_wait(*, priorities: Sequence[int], limits: Sequence[int], port: Port) -> int:
    """Grants from a request of the greatest priority, up to and including its own.

    ``port`` has no limit itself; q are the ports that have one. Without any this is N_equal, as
    memory-composition counts in Eq. 3. Counted in grants: with one in every cycle, cycles. Raises
    `NotCovered` where this port has a limit or another a greater priority, and where ports that
    starve may take every grant, so that no W is found (in 1,000 steps).

    Derivation: while the request waits, no lower priority is granted. Each of its equals
    is granted once at most by round robin. A port q that starves is granted besides; the next
    time it starves it has waited for L_q cycles, so that its grants of this kind are L_q + 1
    cycles apart: at most ceil(W / (L_q + 1)) of them fall into W cycles. W is the least number that
    satisfies the equation. (With fewer grants than cycles, the ports starve more often for each
    grant: then it holds for a source that is taken from in every cycle only.)
    """
    _checked(port, limits)
    if priorities[port] != max(priorities) or limits[port]:
        raise NotCovered(f"port {port} must have the greatest priority and no limit")
    equals = sum(priority == priorities[port] for priority in priorities)
    total = 0
    for _ in range(1000):
        before, total = total, equals + sum(-(-total // (limit + 1)) for limit in limits if limit)
        if total == before:
            return total
    raise NotCovered("ports that starve must leave grants to others: their limits are too low")


@bound(formula="L_p + N_starving; of the greatest priority without a limit, W",
       source="this project",
       environment=f"{_STALLS}, but only for ports with a limit")
def front_end_wait(*, priorities: Sequence[int], limits: Sequence[int], port: Port) -> int:
    """Cycles from a request's first to its grant, at any port that has a bound. Raises
    `NotCovered` for a port that has none, or that is not there.

    Derivation: `starvation` where the port has a limit, `top_wait` where it has none and the
    greatest priority. Any other port's requests may wait for ever.
    """
    _checked(port, limits)
    if limits[port]:
        return starvation(limits=limits, port=port)
    return top_wait(priorities=priorities, limits=limits, port=port)


def _checked(port: int, limits: Sequence[int]) -> None:
    if port >= len(limits):
        raise NotCovered(f"port must be one of the {len(limits)}, counted from 0, not {port}")
