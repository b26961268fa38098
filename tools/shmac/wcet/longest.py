"""The longest route, loop by loop: the second of two ways to the same number.

Innermost loops come first. A loop whose head is executed R times at most goes round R - 1 times,
each time by its longest way from head to head, and then from the head to where it leaves; between
the head and what is around it there is no cycle, so that this is a longest path. A test (see
`cyclebound.tools.shmac.wcet.loop_bounds.Test`) that says to stay M times at most is passed in each
round, and by the last part of the route, too, where that lies beyond it: then there are M - 1
rounds.
"""

from collections.abc import Mapping, Set

from cyclebound.tools.shmac.wcet.code import WcetError
from cyclebound.tools.shmac.wcet.costs import Cost
from cyclebound.tools.shmac.wcet.graph import Node
from cyclebound.tools.shmac.wcet.loop_bounds import Analysed, Edge
from cyclebound.tools.shmac.wcet.loops import Loop

__all__ = ["longest"]


def longest(analysed: Analysed, costs: Mapping[Edge, Cost]) -> int:
    """Cycles from the first instruction to the end. Raises `WcetError` if no route ends."""
    after: dict[Node, list[Edge]] = {}
    for edge in analysed.edges:
        after.setdefault(edge[0], []).append(edge)
    cycles = {edge: cost.cycles for edge, cost in costs.items()}
    ends = _paths(analysed.whole, analysed, after, cycles, frozenset())
    if not ends:
        raise WcetError("no route ends")
    return max(ends.values())


def _paths(region: Loop, analysed: Analysed, after: Mapping[Node, list[Edge]],
           cycles: Mapping[Edge, int], without: Set[Edge]) -> dict[Edge, int]:
    """The longest way from a region's head over each edge that leaves it or comes back."""
    at = {region.head: 0}
    out: dict[Edge, int] = {}
    for part in region.order:
        head = part.head if isinstance(part, Loop) else part
        if head not in at:
            continue
        found = (_loop(part, analysed, after, cycles) if isinstance(part, Loop) else
                 {edge: cycles[edge] for edge in after.get(part, ())})
        for edge, taken in found.items():
            if edge in without:
                continue
            target = edge[1]
            if target is None or target not in region.nodes or target == region.head:
                out[edge] = at[head] + taken
            else:
                at[target] = max(at.get(target, 0), at[head] + taken)
    return out


def _loop(loop: Loop, analysed: Analysed, after: Mapping[Node, list[Edge]],
          cycles: Mapping[Edge, int]) -> dict[Edge, int]:
    """The longest way through a loop, from its entry over each edge that leaves it."""
    bound = analysed.bounds[loop]
    paths = _paths(loop, analysed, after, cycles, frozenset())
    rounds = [taken for edge, taken in paths.items() if edge[1] == loop.head]
    most = bound.rounds - 1 if rounds else 0
    last = frozenset(test.stay for test in bound.tests if test.most == most)
    routes: list[tuple[int, dict[Edge, int]]] = [
        (most, _paths(loop, analysed, after, cycles, last) if last else paths)]
    if last and most:
        routes.append((most - 1, paths))
    left: dict[Edge, int] = {}
    for times, ways in routes:
        for edge, taken in ways.items():
            if edge[1] != loop.head:
                left[edge] = max(left.get(edge, 0), taken + times * max(rounds, default=0))
    return left
