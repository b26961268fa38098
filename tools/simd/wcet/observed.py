"""Runs against the graph: which edges a work-group took, and how often its loops came back.

What the analysis takes from ``#bound`` is that a loop comes back so many times at most for each
entry. A run that shows more contradicts the annotation: that is an error in the kernel's source,
and no violated bound.
"""

from collections.abc import Iterator, Sequence

from cyclebound.golden.simd.work_group import INJECTED, TAKEN
from cyclebound.tools.simd.wcet.graph import Edge, How, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.loops import Loop

__all__ = ["check_rounds", "edges_of"]


def edges_of(graph: RouteGraph, trace: Sequence[int]) -> Iterator[Edge]:
    """The edges of a work-group's whole trace, from its first instruction to its end.

    Raises `WcetError` for a step that the graph does not have: that would be an error in it.
    """
    node, place = graph.start, 1
    while True:
        taken = injected = 0
        while place < len(trace) and trace[place] < 0:
            taken += trace[place] == TAKEN
            injected += trace[place] == INJECTED
            place += 1
        target = trace[place] if place < len(trace) else None
        place += 1
        found = [edge for edge in graph.after[node]
                 if edge.injected == injected and (edge.how is How.TAKEN) == bool(taken)
                 and (edge.target.index if edge.target else None) == target]
        if len(found) != 1:
            raise WcetError(f"{graph.program.where(node.index)}: {len(found)} edges for a step to "
                            f"{target} with {injected} injected pops")
        yield found[0]
        if found[0].target is None:
            return
        node = found[0].target


def check_rounds(loops: BoundedLoops, trace: Sequence[int]) -> dict[Loop, int]:
    """How often each loop came back at most, for one entry.

    Raises `WcetError` where that is more than the loop's bound, with the annotation's line.
    """
    most: dict[Loop, int] = {}
    rounds: dict[Loop, int] = {}
    by_header: dict[object, list[Loop]] = {}
    for loop in loops.loops:
        by_header.setdefault(loop.header, []).append(loop)
    for edge in edges_of(loops.graph, trace):
        for loop in by_header.get(edge.target, ()):
            if edge.source not in loop.body:
                rounds[loop] = 0
            elif edge in loop.back:
                rounds[loop] += 1
                most[loop] = max(most.get(loop, 0), rounds[loop])
                bound = loops.bounds[loop]
                if rounds[loop] > bound.most:
                    where = loops.graph.program.where
                    raise WcetError(
                        f"{where(bound.branch.index)}: #bound branchcycle says that the loop at "
                        f"{where(loop.header.index)} comes back at most {bound.most} times, and "
                        f"it came back {rounds[loop]} times")
    return most
