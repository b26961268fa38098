"""The longest route, loop by loop: the second of two ways to the same number.

Innermost loops come first. A loop whose head is executed R times at most goes round R - 1 times,
each time by its longest way from head to head, and then from the head to where it leaves; between
the head and what is around it there is no cycle, so that this is a longest path. A test (see
`cyclebound.tools.shmac.wcet.loop_bounds.Test`) that says to stay M times at most is passed in each
round, and by the last part of the route, too, where that lies beyond it: then there are M - 1
rounds. A loop whose bound is another one in each round of the loop around it makes these rounds
differ; they are then added up one by one.
"""

from collections.abc import Mapping, Set

from cyclebound.tools.shmac.wcet.code import WcetError
from cyclebound.tools.shmac.wcet.costs import Cost
from cyclebound.tools.shmac.wcet.graph import Node
from cyclebound.tools.shmac.wcet.loop_bounds import Analysed, Edge, LoopBound
from cyclebound.tools.shmac.wcet.loops import Loop

__all__ = ["longest"]


def longest(analysed: Analysed, costs: Mapping[Edge, Cost]) -> int:
    """Cycles from the first instruction to the end. Raises `WcetError` if no route ends."""
    after: dict[Node, list[Edge]] = {}
    for edge in analysed.edges:
        after.setdefault(edge[0], []).append(edge)
    cycles = {edge: cost.cycles for edge, cost in costs.items()}
    ends = _Routes(analysed, after, cycles).paths(analysed.whole)
    if not ends:
        raise WcetError("no route ends")
    return max(ends.values())


class _Routes:
    def __init__(self, analysed: Analysed, after: Mapping[Node, list[Edge]],
                 cycles: Mapping[Edge, int]) -> None:
        self._bounds, self._after, self._cycles = analysed.bounds, after, cycles

    def paths(self, region: Loop, without: Set[Edge] = frozenset(), number: int = 0
              ) -> dict[Edge, int]:
        """The longest way from a region's head over each edge that leaves it or comes back.

        ``number`` is that of the round, from 0 on.
        """
        at = {region.head: 0}
        out: dict[Edge, int] = {}
        for part in region.order:
            head = part.head if isinstance(part, Loop) else part
            if head not in at:
                continue
            if isinstance(part, Loop):
                bound = self._bounds[part]
                found = self.loop(part, bound.by_round[number] if (
                    bound.around is region and number < len(bound.by_round)) else bound)
            else:
                found = {edge: self._cycles[edge] for edge in self._after.get(part, ())}
            for edge, taken in found.items():
                if edge in without:
                    continue
                target = edge[1]
                if target is None or target not in region.nodes or target == region.head:
                    out[edge] = at[head] + taken
                else:
                    at[target] = max(at.get(target, 0), at[head] + taken)
        return out

    def loop(self, loop: Loop, bound: LoopBound | None) -> dict[Edge, int]:
        """The longest way through a loop, from its entry over each edge that leaves it."""
        if bound is None:  # nothing comes to it in this round of the loop around it
            return {}
        differ = any(self._bounds[inner].around is loop for inner in loop.inner
                     if inner in self._bounds)
        most = bound.rounds - 1
        if differ:
            return self._one_by_one(loop, bound, most)
        paths = self.paths(loop)
        again = [taken for edge, taken in paths.items() if edge[1] == loop.head]
        if not again:
            most = 0
        left: dict[Edge, int] = {}
        for number in (most - 1, most):
            if number >= 0:
                self._leave(left, loop, self._last(loop, bound, number, paths),
                            number * max(again, default=0))
        return left

    def _one_by_one(self, loop: Loop, bound: LoopBound, most: int) -> dict[Edge, int]:
        left: dict[Edge, int] = {}
        so_far = 0
        for number in range(most + 1):
            paths = self.paths(loop, number=number)
            self._leave(left, loop, self._last(loop, bound, number, paths), so_far)
            again = [taken for edge, taken in paths.items() if edge[1] == loop.head]
            if not again:
                break
            so_far += max(again)
        return left

    def _last(self, loop: Loop, bound: LoopBound, number: int, paths: dict[Edge, int]
              ) -> dict[Edge, int]:
        """The ways through a round that is the last one, after ``number`` others."""
        spent = frozenset(test.stay for test in bound.tests if test.most == number)
        return self.paths(loop, spent, number) if spent else paths

    @staticmethod
    def _leave(left: dict[Edge, int], loop: Loop, ways: dict[Edge, int], so_far: int) -> None:
        for edge, taken in ways.items():
            if edge[1] != loop.head:
                left[edge] = max(left.get(edge, 0), so_far + taken)
