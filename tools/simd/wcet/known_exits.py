"""Exits by predicates that are known (`lane_values`): where it is known whether they leave a lane
active, the route that no work-group takes is no part of the graph.

Without this, an ``exit`` that never ends a work-group, such as one for items beyond a buffer that
the grid does not reach, keeps the two of a pair from being in step.
"""

from cyclebound.golden.simd.machine import Grid
from cyclebound.tools.simd.wcet.graph import Edge, Node, RouteGraph
from cyclebound.tools.simd.wcet.lane_values import LaneValues
from cyclebound.tools.simd.wcet.places import kinds_of

__all__ = ["without_known_exits"]

_MOST_PLACES = 1024  # work-groups, of each kind, in which an exit is looked at


def without_known_exits(graph: RouteGraph, lanes: LaneValues, grid: Grid) -> RouteGraph:
    """``graph`` without edges that no work-group of the grid takes; itself if there are none."""
    gone = {edge for node in graph.after for edge in _impossible(graph, node, lanes, grid)}
    return graph.without(gone) if gone else graph


def _impossible(graph: RouteGraph, node: Node, lanes: LaneValues, grid: Grid) -> list[Edge]:
    """The edges that leave an exit and that no work-group takes."""
    before, instruction = lanes.before(node), graph.instruction(node)
    predicate = instruction.operand("A")
    if instruction.name != "exit" or predicate is None or before is None:
        return []
    leaves = before.known.get(("p", predicate.value))
    if leaves is None:
        return []
    after = before._replace(ended=(*before.ended, leaves))
    goes_on, ends = False, before.fewer  # others may have left before: then any may be the last
    for places in kinds_of(grid).values():
        alike = places.along(lanes.offsets(after.ended))
        if alike.total > _MOST_PLACES:
            return []
        for place in alike.each():
            stay = bool(lanes.active(after, place).any())
            goes_on |= stay
            # one without an active lane has ended before
            ends |= not stay and bool(lanes.active(before, place).any())
    if not goes_on and not ends:  # no work-group comes here
        return []
    return [edge for edge in graph.after[node] if not (ends if edge.target is None else goes_on)]
