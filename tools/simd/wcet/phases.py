"""The phase graph: the work of a work-group between two accesses.

Its *places* are the start, the accesses, and the headers of loops that have accesses. A `Segment`
is the longest of all routes from one place to the next. Loops without accesses are part of a
segment: their longest round, as often as they may come back. Other loops stay loops: a segment that
enters one or comes back to its header says so, and which rare outcomes of their branches
(`flow_facts`) it passes: routes that pass others are segments of their own.

The last store and an ``exit`` after it are one (docs/simd.md): such an access is `final`.

Ref: Sim-D, sections 5.4 and 5.6; docs/simd_wcet.md.
"""

import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cyclebound.tools.simd.wcet.flow_facts import FlowFact, facts_of
from cyclebound.tools.simd.wcet.graph import Edge, Node, RouteGraph
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.loops import Loop
from cyclebound.tools.simd.wcet.pipeline_costs import EdgeCosts

__all__ = ["PhaseGraph", "Place", "Prices", "Segment"]

Place = tuple[str, Node | None]
"""("start", None), ("access", node), ("header", node) or ("end", None)."""

START: Place = ("start", None)
END: Place = ("end", None)

_PER_SEGMENT = 6  # rare outcomes that a segment tells apart

_COST, _PAID, _CYCLES = range(3)  # the sums of a route that are looked at


@dataclass(frozen=True)
class Prices:
    """What ``#flow`` makes a route cost besides its cycles: a price for each of its facts, times
    what the route leaves of it.

    A run that keeps to a fact leaves 0 at least, so that no route of a run costs less than it
    takes. ``of``: by instruction, for each execution; ``base``: of each work-group, once.
    """

    of: Mapping[int, int] = field(default_factory=dict)
    base: int = 0


@dataclass(frozen=True)
class Segment:
    """The longest route from one place to another without an access or a header between them.

    Attributes
    ----------
    source, target : Place
        From where to where.
    cost : int
        Compute cycles; those of the access at its end, but none of the one at its beginning. With
        what its instructions are priced at.
    back : Loop or None
        The loop that it comes back to the header of.
    enters : tuple of Loop
        Loops that it enters.
    route : tuple of Edge
        What is executed; loops without accesses: one round of each, then the way on.
    rare : frozenset of FlowFact
        What of it can occur only so often for an entry of its loop.
    paid : int
        The greatest price of such a route, where its cycles do not count because an access takes
        longer.
    cycles : int
        The most cycles of such a route, whatever its price.
    """

    source: Place
    target: Place
    cost: int
    back: Loop | None
    enters: tuple[Loop, ...]
    route: tuple[Edge, ...]
    rare: frozenset[FlowFact] = frozenset()
    paid: int = 0
    cycles: int = 0

    def is_less(self, other: "Segment") -> bool:
        """The other one takes as long at least, and passes less that is rare."""
        return (self.rare > other.rare and self.cost <= other.cost
                and self.paid <= other.paid and self.cycles <= other.cycles
                and (self.target, self.back, self.enters) == (
                    other.target, other.back, other.enters))


def subsets(facts: Sequence[FlowFact]) -> list[tuple[FlowFact, ...]]:
    """All of them, the empty one first."""
    return [chosen for count in range(len(facts) + 1)
            for chosen in itertools.combinations(facts, count)]


def most_of(most: int, rounds: Iterable[tuple[int, frozenset[FlowFact], tuple]]
            ) -> tuple[int, list[tuple[int, tuple]]]:
    """Cycles that ``most`` rounds of a loop take at most, and routes that take about as many.

    ``rounds``: the cycles of each kind of round, what of it is rare, and its route. Each has a
    price, and what is rare in it as well (`longest`): a round takes no more than its prices.
    """
    ranked = sorted(rounds, key=lambda each: min(
        (fact.most for fact in each[1]), default=most + 1), reverse=True)
    price, prices = 0, dict[FlowFact, int]()
    for cycles, rare, _ in ranked:
        over = cycles - price - sum(prices.get(fact, 0) for fact in rare)
        if over > 0 and not rare:
            price += over
        elif over > 0:
            rarest = min(rare, key=lambda fact: fact.most)
            prices[rarest] = prices.get(rarest, 0) + over
    total = min(most * price + sum(min(fact.most, most) * paid for fact, paid in prices.items()),
                most * max((cycles for cycles, _, _ in ranked if cycles > 0), default=0))
    left, times = most, list[tuple[int, tuple]]()
    used = dict[FlowFact, int]()
    for _, rare, route in sorted(ranked, key=lambda each: each[0], reverse=True):
        turns = min([left, *(fact.most - used.get(fact, 0) for fact in rare)])
        if turns > 0:
            left -= turns
            used |= {fact: used.get(fact, 0) + turns for fact in rare}
            times.append((turns, route))
    return total, times


class PhaseGraph:
    """The phase graph of a kernel.

    ``held`` are accesses that end no phase, with the compute cycles for which they hold the compute
    unit (policy ``compute``). ``prices``: of what ``#flow`` counts. ``never``: edges that none of
    the work-groups takes.

    Attributes
    ----------
    after : dict
        The segments that leave each place.
    final : set of Node
        Stores with which a work-group ends.
    moving : list of Loop
        Loops that have accesses, the innermost first.
    facts : dict
        What is rare in a loop's rounds, by its edge.
    """

    def __init__(self, loops: BoundedLoops, costs: EdgeCosts,
                 held: Mapping[Node, int] | None = None, prices: Prices | None = None,
                 never: Collection[Edge] = ()) -> None:
        self._held, self._prices, self._never = held or {}, prices or Prices(), never
        self.loops, self.graph, self._costs = loops, loops.graph, costs
        graph = self.graph
        self.final = {node for node in graph.after if _final(graph, node)}
        self.moving = [loop for loop in loops.loops
                       if any(map(self._ends, loop.body))]
        self.facts = facts_of(loops)
        still = [loop for loop in loops.loops if loop not in self.moving]
        self._headers = {loop.header for loop in self.moving}
        self._back = {edge for loop in loops.loops for edge in loop.back}
        # of loops whose rounds are part of a segment, whose header may be another loop's, too
        self._still_back = {edge for loop in still for edge in loop.back}
        # cycles of held accesses, and, by header, of loops without accesses; by kind of sum
        self._rounds: dict[int, dict[Node, int]] = {_COST: dict(self._held)}
        if self._prices.of:
            self._rounds |= {_PAID: {}, _CYCLES: dict(self._held)}
        self.round_routes: dict[Loop, list[tuple[int, tuple[Edge, ...]]]] = {}
        for loop in still:
            self._round(loop)
        self.after: dict[Place, list[Segment]] = {}
        waiting = [START]
        while waiting:
            place = waiting.pop()
            if place in self.after:
                continue
            self.after[place] = self._segments(place)
            waiting += [segment.target for segment in self.after[place]
                        if segment.target != END]

    def _ends(self, node: Node) -> bool:
        """Whether the node is an access that ends a phase."""
        return self.graph.is_access(node) and node not in self._held

    def _round(self, loop: Loop) -> None:
        """The longest rounds of a loop without accesses; those within it are done."""
        most, facts = self.loops.bounds[loop].most, self.facts_in(loop)
        totals = {}
        for what in self._rounds:
            rounds: list[tuple[int, frozenset[FlowFact], tuple[Edge, ...]]] = []
            for left_out in subsets(facts):
                found = self._longest(loop.header, loop.body, left_out, what)
                backs = [(found[edge.source][0] + self._of_edge(edge, what), edge)
                         for edge in loop.back
                         if edge.source in found and self._may(edge, left_out)]
                if backs:
                    longest, last = max(backs, key=lambda back: back[0])
                    route = (*self._route(found, last.source), last)
                    rounds.append((longest, self._rare(route, facts), route))
            totals[what], routes = most_of(most, rounds)
            if what == _COST:
                self.round_routes[loop] = routes
        for what, total in totals.items():
            held = self._rounds[what]
            held[loop.header] = held.get(loop.header, 0) + total

    def _of_edge(self, edge: Edge, what: int) -> int:
        """What an edge adds to a kind of sum."""
        cycles = self._costs.cost(edge) if what != _PAID else 0
        if what == _CYCLES or not self._prices.of:
            return cycles
        cycles += self._prices.of.get(edge.source.at, 0)
        if edge.source in self.final:  # and the exit that is part of it
            cycles += self._prices.of.get(edge.source.at + 1, 0)
        return cycles

    def facts_in(self, loop: Loop) -> list[FlowFact]:
        """What is rare in the rounds of a loop, the rarest first."""
        return sorted((fact for fact in self.facts.values() if fact.loop is loop),
                      key=lambda fact: fact.most)

    def _may(self, edge: Edge, left_out: Collection[FlowFact]) -> bool:
        return edge not in self._never and self.facts.get(edge) not in left_out

    def _rare(self, route: Iterable[Edge], among: Iterable[FlowFact]) -> frozenset[FlowFact]:
        return frozenset(among) & {self.facts.get(edge) for edge in route}

    def _longest(self, first: Node, body: set[Node] | None, left_out: Collection[FlowFact] = (),
                 what: int = _COST) -> dict[Node, tuple[int, Edge | None]]:
        """The greatest sum up to each node that can be reached from ``first`` without an access, a
        header of a loop with accesses, a way back or what is left out; and the last edge of that
        route."""
        order, rounds = self.loops.dominators.place, self._rounds[what]
        found: dict[Node, tuple[int, Edge | None]] = {first: (0, None)}
        waiting = [(order[first], first)]
        done = set()
        while waiting:
            _, node = heapq.heappop(waiting)
            if node in done:
                continue
            done.add(node)
            cycles, last = found[node]
            cycles += rounds.get(node, 0)
            found[node] = cycles, last
            if self._ends(node):
                continue
            for edge in self.graph.after[node]:
                target = edge.target
                if target is None or edge in self._back or target in self._headers \
                        or (body is not None and target not in body) \
                        or not self._may(edge, left_out):
                    continue
                total = cycles + self._of_edge(edge, what)
                if target not in found or total > found[target][0]:
                    found[target] = total, edge
                    heapq.heappush(waiting, (order[target], target))
        return found

    @staticmethod
    def _route(found: dict[Node, tuple[int, Edge | None]], node: Node) -> tuple[Edge, ...]:
        route: list[Edge] = []
        while (edge := found[node][1]) is not None:
            route.append(edge)
            node = edge.source
        return tuple(reversed(route))

    def _segments(self, place: Place) -> list[Segment]:
        kind, node = place
        if node is not None and kind == "access":
            if node in self.final:
                return []
            (edge,) = self.graph.after[node]
            assert edge.target is not None
            if edge.target in self._headers:
                return [self._ending(place, edge, ())]
            first = edge.target
        elif node is not None:
            first = node
        else:
            first = self.graph.start
            if first in self._headers:
                enters = tuple(loop for loop in self.moving if loop.header == first)
                return [self._based(Segment(place, ("header", first), 0, None, enters, ()))]
        passed = {self.facts.get(edge) for node in self._longest(first, None)
                  for edge in self.graph.after[node]}
        rare = sorted((fact for fact in passed if fact is not None and fact.loop in self.moving),
                      key=lambda fact: fact.most)[:_PER_SEGMENT]
        ends: dict[object, Segment] = {}
        for left_out in subsets(rare):
            for segment in self._segments_from(place, first, rare, left_out):
                key = segment.target, segment.back, segment.enters, segment.rare
                other = ends.get(key, segment)
                longer = segment if segment.cost > other.cost else other
                ends[key] = replace(longer, paid=max(segment.paid, other.paid),
                                    cycles=max(segment.cycles, other.cycles))
        kept = [segment for segment in ends.values()
                if not any(map(segment.is_less, ends.values()))]
        return list(map(self._based, kept)) if place == START else kept

    def _based(self, segment: Segment) -> Segment:
        """A work-group's first segment, with what it is priced at once."""
        base = self._prices.base
        return replace(segment, cost=segment.cost + base, paid=segment.paid + base)

    def _segments_from(self, place: Place, first: Node, rare: Collection[FlowFact],
                       left_out: Collection[FlowFact]) -> Iterator[Segment]:
        """The longest routes without what is left out."""
        sums = {what: self._longest(first, None, left_out, what) for what in self._rounds}
        found = sums[_COST]

        def summed(segment: Segment, edge: Edge) -> Segment:
            totals = {what: each[edge.source][0] + self._of_edge(edge, what)
                      for what, each in sums.items()}
            return replace(segment, cost=totals[_COST], paid=totals.get(_PAID, 0),
                           cycles=totals.get(_CYCLES, totals[_COST]),
                           rare=self._rare(segment.route, rare))

        for node in found:
            route = self._route(found, node)
            if self._ends(node):
                (edge,) = self.graph.after[node]
                yield summed(Segment(place, ("access", node), 0, None, (), (*route, edge)), edge)
                continue
            for edge in self.graph.after[node]:
                if self._may(edge, left_out) and (edge.target is None or (
                        edge.target in self._headers and edge not in self._still_back)):
                    yield summed(self._ending(place, edge, (*route, edge)), edge)

    def _ending(self, place: Place, edge: Edge, route: tuple[Edge, ...]) -> Segment:
        """A segment whose last edge leads to a header, or to the end; its sums are still 0."""
        if edge.target is None:
            return Segment(place, END, 0, None, (), route)
        here = [loop for loop in self.moving if loop.header == edge.target]
        back = next((loop for loop in here if edge in loop.back), None)
        enters = tuple(loop for loop in here if edge.source not in loop.body)
        return Segment(place, ("header", edge.target), 0, back, enters, route)

    def places(self) -> Iterable[Place]:
        return self.after


def _final(graph: RouteGraph, node: Node) -> bool:
    """A store to DRAM after which all that is left is an exit of all lanes."""
    following = node.at + 1
    instructions = graph.program.instructions
    if not graph.instruction(node).name.startswith("stg") or node.stack:
        return False
    then = instructions[following]
    return then.name == "exit" and then.operand("A") is None
