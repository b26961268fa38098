"""The route of a work-group whose segments and accesses take the longest together.

For reading and drawing: which lines a bound comes from. The bound itself is that of pairs, whose
two work-groups may take different routes. Loops are not unrolled: each has its longest rounds, and
how often they are made.

Ref: Sim-D, sections 4.5 and 5.5.
"""

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cyclebound.tools.simd.wcet.access_costs import AccessCost
from cyclebound.tools.simd.wcet.flow_facts import FlowFact
from cyclebound.tools.simd.wcet.graph import Edge, Node
from cyclebound.tools.simd.wcet.loops import Loop
from cyclebound.tools.simd.wcet.pairs import Clocks
from cyclebound.tools.simd.wcet.phases import (
    END,
    START,
    PhaseGraph,
    Place,
    Segment,
    most_of,
    subsets,
)
from cyclebound.tools.simd.wcet.pipeline_costs import EdgeCosts

__all__ = ["LineCost", "Round", "WorstRoute"]


@dataclass(frozen=True)
class Round:
    """``times`` rounds of a loop, each along ``route``."""

    times: int
    route: "Route"


Route = tuple["Segment | Round", ...]


@dataclass
class LineCost:
    """An instruction's executions on the route, and the cycles that all of them take."""

    times: int = 0
    compute: int = 0
    access: int = 0


@dataclass
class _Found:
    cost: int
    route: Route
    rare: frozenset[FlowFact] = frozenset()


class _Step(NamedTuple):
    """From one place to the place ``after``; None: the end, or that of a round."""

    cost: int
    route: Route
    after: Place | None
    rare: frozenset[FlowFact] = frozenset()


@dataclass
class WorstRoute:
    """The route with the greatest sum of costs.

    Attributes
    ----------
    route : tuple
        `Segment` and `Round`, in order.
    cost : int
        Compute cycles of all segments and accesses, with what ``#flow`` prices them at.
    """

    phases: PhaseGraph
    costs: Mapping[Node, AccessCost]
    clocks: Clocks
    route: Route = ()
    cost: int = 0
    _rounds: dict[Loop, _Found] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for loop in self.phases.moving:  # the innermost first
            most = self.phases.loops.bounds[loop].most
            rounds = [found for left_out in subsets(self.phases.facts_in(loop))
                      if (found := self._best(("header", loop.header), loop, left_out))]
            cost, times = most_of(most, [(found.cost, found.rare, found.route)
                                         for found in rounds])
            self._rounds[loop] = _Found(cost, tuple(itertools.starmap(Round, times)))
        best = self._best(START, None)
        assert best is not None
        self.route, self.cost = best.route, best.cost

    def cycles(self, access: Node) -> int:
        """Compute cycles of an access, from its commit."""
        cost = self.costs[access]
        return self.clocks.access_time(cost) // self.clocks.compute

    def _best(self, first: Place, loop: Loop | None, left_out: Collection[FlowFact] = ()
              ) -> _Found | None:
        """The longest route from a place to the end, or to the end of a round of ``loop``, without
        what is left out.

        Without recursion: a kernel may have 2,000 accesses in a row.
        """
        known: dict[Place, _Step | None] = {}  # None: there is no such route from this place
        waiting = [first]
        while waiting:
            place = waiting[-1]
            if place in known:
                waiting.pop()
                continue
            steps = [_Step(0, (), None)] if place[1] in self.phases.final and loop is None \
                else [step for step in self._steps(place, loop)
                      if step.rare.isdisjoint(left_out)]
            unknown = [step.after for step in steps
                       if step.after is not None and step.after not in known]
            if unknown:
                waiting += unknown
                continue
            best: _Step | None = None
            for step in steps:
                rest = _Step(0, (), None) if step.after is None else known[step.after]
                if rest is not None and (best is None or step.cost + rest.cost > best.cost):
                    best = step._replace(cost=step.cost + rest.cost)
            known[place] = best
        found = known[first]
        if found is None:
            return None
        route, rare = list[Segment | Round](), set[FlowFact]()
        at: Place | None = first
        while at is not None:
            following = known[at]
            assert following is not None
            route += following.route
            rare |= {fact for fact in following.rare if fact.loop is loop}
            at = following.after
        return _Found(found.cost, tuple(route), frozenset(rare))

    def _steps(self, place: Place, loop: Loop | None) -> Iterator[_Step]:
        """The segments from a place, with all rounds of the loops that they enter."""
        for segment in self.phases.after.get(place, ()):  # no route leads to some headers
            target, cost = segment.target, segment.cost
            route: Route = (segment,)
            if segment.back is not None and segment.back is not loop:
                continue
            if segment.back is None and loop is not None and (
                    target == END or target[1] not in loop.body):
                continue
            for entered in segment.enters:
                if entered is loop:
                    continue
                route += self._rounds[entered].route
                cost += self._rounds[entered].cost
            if target[0] == "access" and target[1] is not None:
                cost += self.cycles(target[1])
            yield _Step(cost, route, None if segment.back is not None or target == END else target,
                        segment.rare)

    # -- what it is made of ----------------------------------------------------------------------

    def steps(self) -> Iterator[tuple[int, Node | None]]:
        """Compute cycles and the access after them (None: the end), round by round."""
        cycles = 0
        for segment in _unrolled(self.route):
            cycles += segment.cycles
            if segment.target[0] == "access":
                yield cycles, segment.target[1]
                cycles = 0
            elif segment.target == END:
                yield cycles, None

    def sums(self) -> dict[str, int]:
        """Cycles in which each resource is occupied, at least: leads may overlap, and edges of the
        two clocks coincide."""
        found = {"compute": 0, "dram": 0, "scratchpad": 0}

        def add(route: Route, times: int) -> None:
            for step in route:
                if isinstance(step, Round):
                    add(step.route, times * step.times)
                    continue
                found["compute"] += times * step.cycles
                kind, node = step.target
                if kind == "access" and node is not None:
                    cost = self.costs[node]
                    found[cost.resource] += times * (
                        cost.delay * self.clocks.dram // self.clocks.compute)

        add(self.route, 1)
        return found

    def lines(self, edge_costs: EdgeCosts) -> dict[int, LineCost]:
        """The cost of each instruction on the route, by index."""
        found: dict[int, LineCost] = {}

        turns = list(self.phases.round_routes.items())  # the innermost loops first

        def executed(edges: tuple[Edge, ...], times: int, within: int) -> None:
            """``within``: the first of ``turns`` whose rounds cannot begin on these edges."""
            for edge in edges:
                line = found.setdefault(edge.source.at, LineCost())
                line.times += times
                line.compute += times * edge_costs.cost(edge)
                for number, (loop, rounds) in enumerate(turns[:within]):
                    if loop.header == edge.source:
                        for turned, route in rounds:
                            executed(route, times * turned, number)

        def add(route: Route, times: int) -> None:
            for step in route:
                if isinstance(step, Round):
                    add(step.route, times * step.times)
                    continue
                executed(step.route, times, len(turns))
                kind, node = step.target
                if kind == "access" and node is not None:
                    found[node.at].access += times * self.cycles(node)

        add(self.route, 1)
        return found


def _unrolled(route: Route) -> Iterator[Segment]:
    for step in route:
        if isinstance(step, Round):
            for _ in range(step.times):
                yield from _unrolled(step.route)
        else:
            yield step
