"""What each ``#bound branchcycle`` says: how often its branch stays in a loop, or which pattern it
follows.

The analysis leaves routes out of the graph that a grid never takes, and with them the loops that
they make; a run is followed on the whole graph. So what an annotation says is told on the whole
graph, for both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from cyclebound.golden.simd.program import Branches
from cyclebound.tools.simd.wcet.graph import Edge, How, Node, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.loops import Dominators, Loop, loops_of, nested, parts_of

__all__ = ["Stays", "annotations_of"]


@dataclass(frozen=True)
class Stays:
    """``edge`` is taken ``most`` times at most for each entry into ``loop``, in which it stays."""

    edge: Edge
    loop: Loop
    most: int

    def bounds(self, loop: Loop) -> bool:
        """Whether it holds for each entry into ``loop``, which may have fewer routes: this is one
        entry into the annotation's own loop then."""
        return loop.header == self.loop.header and loop.body <= self.loop.body


def annotations_of(graph: RouteGraph) -> Mapping[Node, Stays | Branches]:
    """What is said of the branches of the whole graph that ``graph`` is a part of: stays of a
    branch that leaves a loop, or the pattern of one that leaves none.

    Of a branch that never leaves its loop nothing is said, and neither is of those of a kernel in
    which a loop is entered at two places.
    """
    return _of_whole(graph.whole) if graph.program.branches else {}


@lru_cache(maxsize=8)
def _of_whole(graph: RouteGraph) -> dict[Node, Stays | Branches]:
    try:
        loops = loops_of(graph, Dominators(graph))
    except WcetError:
        return {}
    # two branches to one label are two loops, the one within the other
    loops += nested([part for loop in loops for part in parts_of(graph, loop)])
    found = {node: _said(graph, node, loops) for node in graph.after
             if node.at in graph.program.branches}
    return {node: said for node, said in found.items() if said is not None}


def _said(graph: RouteGraph, node: Node, loops: list[Loop]) -> Stays | Branches | None:
    pattern, edges = graph.program.branches[node.at], graph.after[node]
    for loop in loops:  # the innermost first
        leaving = [loop.leaves(edge) for edge in edges]
        if sum(leaving) == 1:
            stays = edges[leaving.index(False)]
            most, leaves = ((pattern.taken, pattern.not_taken) if stays.how is How.TAKEN
                            else (pattern.not_taken, pattern.taken))
            return Stays(stays, loop, most) if leaves else None
    return pattern
