"""The worst-case execution time of a kernel on a grid, under a policy of the work-group scheduler.

The machine is `golden.simd.accelerator`'s, with the delays of ``dram.controller``. The bound holds
for any content of the kernel's buffers, as long as annotated loops keep their annotations.

Ref: Sim-D, sections 4 and 5; docs/simd_wcet.md.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property

from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.accelerator import Phase, Policy
from cyclebound.golden.simd.isa import Kind as OperandKind
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.memory_timing import DramTimeline, load_cycles
from cyclebound.golden.simd.program import Program
from cyclebound.tools.simd.wcet.access_costs import AccessCost, AccessCosts
from cyclebound.tools.simd.wcet.chains import STARTS, Block, Chain, Chained, Pair, chain, pairs_of
from cyclebound.tools.simd.wcet.flow_facts import without_known_branches
from cyclebound.tools.simd.wcet.followed_indexes import MOST_WORDS, FollowedIndexes
from cyclebound.tools.simd.wcet.graph import Edge, Node, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.known_exits import without_known_exits
from cyclebound.tools.simd.wcet.known_places import BranchesByPlace
from cyclebound.tools.simd.wcet.lane_values import LaneValues
from cyclebound.tools.simd.wcet.live_lanes import without_dead_pops
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.pairs import Clocks, PairGraph, RoleCosts
from cyclebound.tools.simd.wcet.phases import START, PhaseGraph, Prices
from cyclebound.tools.simd.wcet.phases import Place as PhasePlace
from cyclebound.tools.simd.wcet.pipeline_costs import EdgeCosts
from cyclebound.tools.simd.wcet.places import Kind, Places, kinds_of
from cyclebound.tools.simd.wcet.tile_delays import TileDelays
from cyclebound.tools.simd.wcet.uniform import is_uniform
from cyclebound.tools.simd.wcet.worst_route import WorstRoute
from cyclebound.tools.simd.wcet.worst_schedule import worst_schedule

__all__ = ["Analysis"]

_PRICED = ("routes", "sums", "serial", "lower", "_scratchpad_as_compute")
_FIRST_PRICE = 16  # compute cycles
_SWEEPS = 2  # over the flow facts
_SHARES = (8, 7, 6, 5, 4)  # eighths


class Analysis:
    """A kernel with a grid and a DRAM, and what each step of the analysis found.

    Parameters
    ----------
    program : Program
        The kernel.
    grid : Grid
        Its items; the machine is the grid's.
    part : Part
        The DRAM.
    start : str
        What is known of refreshes when the kernel starts (`chains.STARTS`).
    most_words : int
        Words of requests index by index that are followed (`FollowedIndexes`).
    wait : int
        Clocks that each request waits at most for other clients of the controller, of which none
        may have a refresh put off for longer (`golden.dram.client_bounds.client_grant`).
    late : int
        Clocks before the start at which a refresh may have fallen due that was put off until then,
        if these are more: the longest request of clients that are silent now.

    Raises
    ------
    WcetError
        For a kernel that has no bound, with line.
    """

    def __init__(self, program: Program, grid: Grid, part: Part, start: str = "idle",
                 most_words: int = MOST_WORDS, wait: int = 0, late: int = 0) -> None:
        self._most_words, self.wait, self.late = most_words, wait, max(wait, late)
        self.program, self.grid, self.part, self.start = program, grid, part, start
        if grid.machine.one_clock and grid.machine.compute_ps < part.tck_ps:
            raise WcetError(f"a compute clock of {grid.machine.compute_ps} ps is faster than "
                            f"DRAM's of {part.tck_ps} ps, and the accelerator has one clock")
        graph = without_dead_pops(RouteGraph(program))
        while True:
            while (less := without_known_branches(graph, grid)) is not graph:
                graph = less
            self.graph, self.loops = graph, BoundedLoops(graph, grid)
            self.lanes = LaneValues(graph, self.loops.values, grid)
            graph = without_known_exits(graph, self.lanes, grid)
            if graph is self.graph:
                break
        self.edge_costs = EdgeCosts(self.graph, grid.machine)
        self._prices: tuple[int, ...] | None = None
        self._held: dict[Node, int] = {}
        self._by_place = BranchesByPlace(self.graph, self.loops.values, grid)
        self._priced_at = Prices()
        self._phases_of: dict[frozenset[Edge], PhaseGraph] = {}
        self.clocks = Clocks(grid.machine, part)
        self._chained: dict[Policy, Chained] = {}

    @cached_property
    def promises(self) -> list[tuple[int, str]]:
        """The annotations that the bounds rest on, which no analysis has found to hold: line and
        text of each."""
        program, loops = self.program, self.loops
        used = {bound.branch.at for bound in loops.bounds.values() if not bound.inferred}
        used |= {edge.source.at for edge, fact in self.phases.facts.items() if not fact.inferred}
        used |= {node.at for node, edges in self.graph.after.items()
                 if node.at in program.branches and len(edges) == 1
                 and not isinstance(self._tested(node), int)}
        found = [(flow.line, flow.text) for flow in program.flows]
        for index in used & program.branches.keys():
            each = program.branches[index]
            pattern = f"{each.taken} {each.not_taken} {each.start}"
            found.append((program.lines[index], f"#bound branchcycle {pattern}"))
        for node in self.graph.after:
            said, source = program.values.get(node.at), self.graph.instruction(node).operand("B")
            if said is not None and source is not None and source.kind is OperandKind.SCALAR \
                    and ("s", source.value) not in loops.values.before(node):
                found.append((program.lines[node.at], f"#bound value {said}"))
        return sorted(set(found))

    @property
    def unused(self) -> list[int]:
        """Lines of branches with a pattern that no bound rests on."""
        used = {line for line, text in self.promises if "branchcycle" in text}
        return sorted({self.program.lines[index] for index in self.program.branches} - used)

    def _tested(self, node: Node) -> object:
        """What a branch tests, if that is known."""
        tested = self.graph.instruction(node).operand("A")
        return None if tested is None else self.loops.values.before(node).get(("s", tested.value))

    @property
    def phases(self) -> PhaseGraph:
        """The kernel, as all work-groups together may find it."""
        return self._phases_without(frozenset())

    def phases_of(self, kind: Kind) -> PhaseGraph:
        """The kernel without outcomes of branches that no work-group of this kind has."""
        return self._phases_without(self._never[kind])

    def _phases_without(self, never: frozenset[Edge]) -> PhaseGraph:
        if never not in self._phases_of:
            self._phases_of[never] = PhaseGraph(self.loops, self.edge_costs, self._held,
                                                self._priced_at, never)
        return self._phases_of[never]

    @cached_property
    def _never(self) -> dict[Kind, frozenset[Edge]]:
        return {kind: self._by_place.never(places) for kind, places in self.places.items()}

    # -- flow facts --------------------------------------------------------------------------------

    def priced(self, prices: Sequence[int]) -> "Analysis":
        """This analysis with a price, in compute cycles, for each ``#flow`` of the kernel.

        Whatever the prices, its bounds hold for runs that keep to these facts.
        """
        of: dict[int, int] = {}
        for price, flow in zip(prices, self.program.flows, strict=True):
            for place, times in flow.terms.items():
                of[place] = of.get(place, 0) - price * times
        _ = self.costs_of, self.uniform  # which no price changes
        found = copy(self)
        for name in _PRICED:
            found.__dict__.pop(name, None)
        found._prices, found._chained, found._phases_of = tuple(prices), {}, {}
        found._priced_at = Prices(of, sum(
            price * flow.most for price, flow in zip(prices, self.program.flows, strict=True)))
        return found

    @cached_property
    def _cheapest(self) -> tuple[int, ...]:
        """The prices at which `serial` is least, as far as a search one by one finds them."""
        known: dict[tuple[int, ...], int] = {}

        def cycles(prices: tuple[int, ...]) -> int:
            if prices not in known:
                known[prices] = self.priced(prices).upper
            return known[prices]

        prices = (0,) * len(self.program.flows)
        # facts that contradict each other, such as two of which each is paid with the other
        high, every = 4 * cycles(prices), range(len(prices))
        for dear in [*itertools.combinations(every, 1), *itertools.combinations(every, 2),
                     tuple(every)]:
            cycles(tuple(high * (place in dear) for place in every))
        for _ in range(min(len(prices), _SWEEPS)):
            for place in range(len(prices)):
                def at(price: int, place: int = place, others: tuple[int, ...] = prices) -> int:
                    return cycles((*others[:place], price, *others[place + 1:]))

                # it falls with a price, if it does at all, and then rises
                nothing = at(0)
                if min(at(_FIRST_PRICE), at(16 * _FIRST_PRICE)) >= nothing:
                    continue
                step = _FIRST_PRICE
                while step < nothing and at(4 * step) <= at(step):
                    step *= 4
                low, high = 0, 4 * step
                while high - low > max(2, high // 64):
                    third = (high - low) // 3
                    if at(low + third) <= at(high - third):
                        high -= third
                    else:
                        low += third
                prices = min(known, key=lambda each: known[each])
        return prices

    def _cheap(self) -> Iterator["Analysis"]:
        """With these prices, and with less: an access that overlaps costs less than by itself."""
        yield self.priced((0,) * len(self.program.flows))
        if any(self._cheapest):
            for share in _SHARES:
                yield self.priced([price * share // 8 for price in self._cheapest])

    @cached_property
    def places(self) -> dict[Kind, Places]:
        """The work-groups of each kind, which have the same costs; the first one's kind comes
        first."""
        whole = self._costs_at(next(iter(kinds_of(self.grid).values())))
        columns, lines = whole.empty_from(self._accesses)
        return kinds_of(self.grid, [*columns, *self._by_place.columns],
                        [*lines, *self._by_place.lines])

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kind of each work-group, in order; there may be very many."""
        found = {place.number: kind for kind, places in self.places.items()
                 for place in places.each()}
        return [found[number] for number in range(self.grid.count)]

    @cached_property
    def counts(self) -> dict[Kind, int]:
        """How many work-groups there are of each kind; the first one's comes first."""
        return {kind: places.total for kind, places in self.places.items()}

    @cached_property
    def blocks(self) -> list[Block]:
        """The pairs, in order, by the kinds of their work-groups."""
        lines: dict[range, list[tuple[Kind, int]]] = {}
        for kind, places in self.places.items():
            lines.setdefault(places.tops, []).append((kind, len(places.lefts)))
        return pairs_of([(line, len(tops)) for tops, line in lines.items()])

    @cached_property
    def _accesses(self) -> list[Node]:
        return [place[1] for place in self.phases.after
                if place[0] == "access" and place[1] is not None]

    def _costs_at(self, places: Places) -> AccessCosts:
        return AccessCosts(self.loops, self.grid, self.part, places, self._delays, self._followed)

    @cached_property
    def _delays(self) -> TileDelays:
        return TileDelays(self.part, self.wait)

    @cached_property
    def _followed(self) -> FollowedIndexes:
        return FollowedIndexes(self.lanes, self.grid, self.part, self._most_words)

    @cached_property
    def costs_of(self) -> dict[Kind, dict[Node, AccessCost]]:
        """By kind of work-group, the cost of every access that it may reach."""
        costs = {kind: self._costs_at(places) for kind, places in self.places.items()}
        for access in self._accesses:
            faults = {table.fault(access) for table in costs.values()}
            if None not in faults:
                raise WcetError(f"{self.program.where(access.at)}: hardware refuses this access in "
                                f"every work-group: {min(map(str, faults))}")
        for table in costs.values():
            for access in self._accesses:
                table.ask(access)
        return {kind: {access: each.cost(access) for access in self._accesses}
                for kind, each in costs.items()}

    @cached_property
    def costs(self) -> dict[Node, AccessCost]:
        """The cost of every access, at most over all kinds of work-groups."""
        return longest_of(self.costs_of.values())

    @cached_property
    def uses_scratchpad(self) -> bool:
        return any(cost.resource == "scratchpad" for cost in self.costs.values())

    @cached_property
    def load(self) -> int:
        """Compute cycles until the program is read, without a refresh."""
        waits = -(-self.wait * self.clocks.dram // self.clocks.compute)
        return load_cycles(self.program, self.grid.machine, DramTimeline(self.part)) + waits

    @cached_property
    def uniform(self) -> bool:
        return is_uniform(self.phases)

    def _uniform_pair(self, pair: Pair) -> bool:
        """`uniform`, or both are of one kind, in which all are."""
        if self.uniform or pair[1] is None:
            return self.uniform
        never = self._never[pair[0]]
        return bool(never) and self._never[pair[1]] == never and is_uniform(
            self._phases_without(never))

    def first_accesses(self, kind: Kind, policy: Policy) -> set[Node]:
        """The accesses that a work-group may make before any that waits for a store of the pair
        before: under ``yield``, transfers of its scratchpad do not wait for it."""
        first, waiting, seen = set[Node](), [START], set[PhasePlace]()
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            for segment in self.phases_of(kind).after[place]:
                if segment.target[0] == "header":
                    waiting.append(segment.target)
                elif segment.target[1] is not None:
                    first.add(segment.target[1])
                    if (policy is Policy.YIELD
                            and self.costs[segment.target[1]].resource == "scratchpad"):
                        waiting.append(segment.target)
        return first

    def overtakes(self, kind: Kind, policy: Policy) -> bool:
        """A pair's first work-group, of this kind, may go on before its second one is launched: its
        first access moves nothing, and is over when the store of the pair before frees the second
        slot."""
        costs = self.costs_of[kind]
        return self.grid.count > 2 and any(costs[node].resource == "dram" and costs[node].least == 0
                   for node in self.first_accesses(kind, policy))

    def pair_graphs(self, policy: Policy, before: Pair, pair: Pair) -> list[PairGraph]:
        """Every way in which two work-groups of these kinds take turns under a policy; in several
        graphs, by which of them ends last, if they may be in different rounds of a loop."""
        paired = pair[1] is not None
        overtakes = paired and self.overtakes(pair[0], policy)
        uniform = self._uniform_pair(pair) and not overtakes and (
            policy is not Policy.YIELD or not self.uses_scratchpad)
        kinds = (pair[0], pair[1] or pair[0], before[0], before[1] or before[0])
        costs = RoleCosts(*(self.costs_of[kind] for kind in kinds))
        classes = (0, 1) if paired and self.phases.moving and not uniform else (None,)
        of_role = [self.phases_of(kind) for kind in kinds[:2]]
        graphs = [PairGraph(self.phases, of_role, costs, self.clocks, policy, paired=paired,
                            uniform=uniform, outlives=outlives, overtakes=overtakes)
                  for outlives in classes]
        while len(classes) > 1:  # a pair of one kind may come after one of the other
            ends = list(dict.fromkeys(end for graph in graphs for end in graph.ends))
            if all(end in graph.begins for end in ends for graph in graphs):
                break
            for graph in graphs:
                graph.begin_after(ends)
        return graphs

    def wcet(self, policy: Policy) -> Chained:
        """The bound under a policy.

        Raises `WcetError` under ``pairwise``, where transfers of both scratchpads and the DRAM
        overlap in any order, for kernels with scratchpad accesses; and under ``unconstrained``.
        """
        if policy is Policy.UNCONSTRAINED or (policy is Policy.PAIRWISE and self.uses_scratchpad):
            raise WcetError(f"{self.program.name}: policy {policy.value} has no bound besides that "
                            "of one work-group after the other; ask for access or compute")
        if not self.uses_scratchpad:
            policy = Policy.ACCESS  # policies differ in what waits for a scratchpad
        if policy is Policy.COMPUTE:
            return self._scratchpad_as_compute.wcet(Policy.ACCESS)
        if policy not in self._chained and self._unpriced:
            self._chained[policy] = min((priced.wcet(policy) for priced in self._cheap()),
                                        key=lambda found: found.cycles)
        if policy not in self._chained:
            setup = self.grid.machine.setup_clocks
            longest = max(-(-self.load * self.clocks.compute // self.clocks.dram),
                          *(setup + cost.lead + cost.delay for cost in self.costs.values()
                            if cost.resource == "dram"), 0)
            pairs = Chain(self.blocks, lambda before, pair: self.pair_graphs(policy, before, pair),
                          self.load * self.clocks.compute)
            chained = chain(pairs, self.clocks, self.part, start=self.start,
                            longest_access=longest, late=self.late)
            # of short kernels, whose work-groups hardly overlap, what holds for any policy is less:
            # it rounds up to an edge of a clock once for each access
            self._chained[policy] = min(chained, self.serial, key=lambda found: found.cycles)
            self._check_kept(self._chained[policy].cycles)
        return self._chained[policy]

    @property
    def _unpriced(self) -> bool:
        """Whether prices of flow facts are still to be found."""
        return self._prices is None and bool(self.program.flows)

    def _check_kept(self, cycles: int) -> None:
        """Raise `WcetError` for a bound below 0: no run keeps the facts that have a price."""
        if cycles < 0:
            facts = "; ".join(f"line {flow.line}: {flow.text}" for price, flow in zip(
                self._prices or (), self.program.flows, strict=True) if price)
            raise WcetError(f"{self.program.name}: no route keeps the flow facts of {facts}")

    @cached_property
    def _scratchpad_as_compute(self) -> "Analysis":
        return _ScratchpadAsCompute(self.program, self.grid, self.part, self.start,
                                    self._most_words, self.wait, self.late)

    # -- what a reader wants to know ---------------------------------------------------------------

    @cached_property
    def routes(self) -> dict[Kind, WorstRoute]:
        """By kind of work-group, the route of the greatest sum; which may pass more than flow facts
        let it: they are priced (`priced`)."""
        if self._unpriced:
            return self.priced(self._cheapest).routes
        return {kind: WorstRoute(self.phases_of(kind), costs, self.clocks)
                for kind, costs in self.costs_of.items()}

    @cached_property
    def sums(self) -> dict[str, int]:
        """Cycles of each resource, if all work-groups take their worst routes."""
        found = {"compute": 0, "dram": 0, "scratchpad": 0}
        for kind, count in self.counts.items():
            for resource, cycles in self.routes[kind].sums().items():
                found[resource] += count * cycles
        return found

    @cached_property
    def serial(self) -> Chained:
        """Eq. 10, with refreshes: one work-group after the other. No policy takes longer
        (docs/simd_wcet.md)."""
        if self._unpriced:
            return self.priced(self._cheapest).serial
        self._check_kept(min(route.cost for route in self.routes.values()))
        bare = self.load + sum(count * (self.routes[kind].cost + 1)
                               for kind, count in self.counts.items())
        clocks, more, part = self.clocks, STARTS[self.start], self.part
        # each refresh delays a request of its own, which ends at an edge of the compute clock
        delay = -(-part.nRFC * clocks.dram // clocks.compute)
        lasting = bare * clocks.compute + clocks.dram * (
            more * part.nREFI + (part.nRFC + self.late if more else 0))
        refreshes = lasting // max(1, part.nREFI * clocks.dram - delay * clocks.compute)
        return Chained(bare + refreshes * delay, bare, refreshes)

    @property
    def upper(self) -> int:
        """Cycles of `serial`."""
        return self.serial.cycles

    @cached_property
    def lower(self) -> int:
        """Eq. 14: the busiest resource, or two work-groups that never wait for each other; no
        scheduler has a lower bound on these routes."""
        costs = {kind: sum(self.routes[kind].sums().values()) for kind in self.counts}
        pairs = sum(times * count * max(costs[kind] for kind in pair if kind is not None)
                    for runs, times in self.blocks for pair, count in runs)
        lower = self.load + max(*self.sums.values(), pairs)
        return min(lower, self.upper) if self.program.flows else lower

    def schedule(self, policy: Policy, most: int = 1 << 40, until: int = 1 << 62
                 ) -> tuple[list[Phase], int]:
        """`worst_schedule` of this grid."""
        return worst_schedule(
            self.grid.count, lambda group: self.routes[self.kinds[group]].steps(),
            lambda group, node: self.costs_of[self.kinds[group]][node], self.phases.final,
            self.clocks, policy=policy, load=self.load, most=most, until=until)


class _ScratchpadAsCompute(Analysis):
    """`Analysis` with transfers of scratchpads as parts of compute phases: policy ``compute``.

    Nothing issues during a transfer, and then its work-group goes on. So what it computes and
    transfers up to the next access to DRAM is one phase (Sim-D, section 5.6), and two resources are
    left, which a pair's work-groups swap in lock-step, as under ``access``.
    """

    def __init__(self, program: Program, grid: Grid, part: Part, start: str,
                 most_words: int, wait: int, late: int) -> None:
        super().__init__(program, grid, part, start, most_words, wait, late)
        held = {node: self.clocks.access_time(cost) // grid.machine.compute_ps
                for node, cost in self.costs.items() if cost.resource == "scratchpad"}
        self._held = held
        self._phases_of.clear()

    @cached_property
    def uses_scratchpad(self) -> bool:
        """False: no transfer of a scratchpad is a phase of its own."""
        return False


def longest_of(costs: Iterable[Mapping[Node, AccessCost]]) -> dict[Node, AccessCost]:
    """The longest of several costs of each access."""
    found: dict[Node, AccessCost] = {}
    for by_node in costs:
        for node, cost in by_node.items():
            if node not in found or cost.delay + cost.lead > found[node].delay + found[node].lead:
                found[node] = cost
    return found
