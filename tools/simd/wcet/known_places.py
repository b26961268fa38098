"""Branches of whole work-groups that follow from a work-group's place in the grid.

Where the register that a `sicj` tests is made of a work-group's offsets and known numbers, on every
route to it (`scalars`), each work-group has one outcome, and all of a rectangle of the grid often
have the same one. The grid is cut where outcomes change (`places`), and a rectangle's work-groups
have no route over the other outcome.
"""

import itertools
from collections.abc import Iterator

from cyclebound.golden.simd import arithmetic
from cyclebound.golden.simd.machine import Grid, Place
from cyclebound.tools.simd.wcet.graph import Edge, How, Node, RouteGraph
from cyclebound.tools.simd.wcet.places import Places, kinds_of
from cyclebound.tools.simd.wcet.scalars import ScalarValues, Value, offsets_of

__all__ = ["BranchesByPlace"]

_MOST_PLACES = 4096  # outcomes that are looked at, of a branch in a rectangle
_MOST_CUTS = 3       # of the grid's columns, and of its lines


class BranchesByPlace:
    """The branches of a kernel whose outcomes follow from a work-group's place.

    Parameters
    ----------
    graph : RouteGraph
        The kernel.
    values : ScalarValues
        Its known registers.
    grid : Grid
        The work-groups.

    Attributes
    ----------
    columns, lines : list of int
        First items and first lines of work-groups at which an outcome changes.
    """

    def __init__(self, graph: RouteGraph, values: ScalarValues, grid: Grid) -> None:
        self._graph, self._values = graph, values
        self._tested: dict[Node, Value] = {}
        for node, edges in graph.after.items():
            tested = graph.instruction(node).operand("A")
            if graph.instruction(node).name == "sicj" and tested is not None and len(edges) == 2:
                value = values.before(node).get(("s", tested.value))
                if value is not None and not isinstance(value, int):
                    self._tested[node] = value
        self.columns = self._cuts("wg_off_x", grid)
        self.lines = self._cuts("wg_off_y", grid)

    def _taken(self, node: Node, places: Iterator[Place]) -> Iterator[bool]:
        compare = arithmetic.CONDITIONS[self._graph.instruction(node).sub]
        for place in places:
            value = self._values.evaluated(self._tested[node], place)
            yield compare(value ^ 0x8000_0000, 0x8000_0000)

    def _cuts(self, offset: str, grid: Grid) -> list[int]:
        """Where outcomes that depend on one offset alone change; of branches with so many changes
        that the grid would be cut too often, none."""
        whole = list(kinds_of(grid).values())
        firsts = [first for places in whole for first in
                  (places.lefts if offset == "wg_off_x" else places.tops)]
        firsts = sorted(set(firsts))
        cuts: set[int] = set()
        for node, value in self._tested.items():
            if offsets_of(value) != {offset} or len(firsts) > _MOST_PLACES:
                continue
            outcomes = list(self._taken(node, (
                Place(0, first, 0) if offset == "wg_off_x" else Place(0, 0, first)
                for first in firsts)))
            found = {first for (one, other), first in zip(
                itertools.pairwise(outcomes), firsts[1:], strict=True) if one != other}
            if len(cuts | found) <= _MOST_CUTS:
                cuts |= found
        return sorted(cuts)

    def never(self, places: Places) -> frozenset[Edge]:
        """The edges that none of these work-groups takes."""
        gone: set[Edge] = set()
        for node, value in self._tested.items():
            alike = places.along(offsets_of(value))
            if alike.total > _MOST_PLACES:
                continue
            outcomes = set(self._taken(node, alike.each()))
            gone |= {edge for edge in self._graph.after[node]
                     if (edge.how is How.TAKEN) not in outcomes}
        return frozenset(gone)
