"""Pairs of work-groups: every way in which two of them can take turns, as one graph.

A node is what both work-groups of a pair do when one of them begins to compute: the *mover* at its
place, the other one with an access that is committed. Two points in time go with it, and each of
them has a node of its own, because a step takes the later of two sums:

- ``k``: when the compute unit is free, which is when that access was committed;
- ``a``: when the access before it ends, which is the mover's own.

A step is the mover's segment, up to its next access, which takes the time ``c``, and meanwhile the
other's access, with its lead ``L`` and its delay ``d``:

    k' = max(k, a) + c        a' = max(k + L, a) + d

What crossing the clocks takes is added, and after ``a`` the lead counts as well if one of the two
accesses is to a scratchpad. Then the other one moves.

Under policy ``yield``, a segment may end in the scratchpad: then the other one moves, if its access
has ended (``both``), or the mover goes on (``on``); both are in the graph.

A pair ends when the second one's last store is committed, or it has ended; that is where the next
pair begins. docs/simd_wcet.md derives the steps from the machine's rules.

Ref: Sim-D, sections 4.2 and 5.7.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.golden.simd.machine import Crossing, Machine
from cyclebound.tools.simd.wcet.access_costs import AccessCost
from cyclebound.tools.simd.wcet.graph import Node
from cyclebound.tools.simd.wcet.longest import Arc, LoopedGraph
from cyclebound.tools.simd.wcet.phases import END, START, PhaseGraph, Place, Segment

__all__ = ["FIRST", "Clocks", "End", "PairGraph", "RoleCosts"]

GOES_ON, LAUNCHED, DONE = "goes on", "launched", "done"

_GRAIN, _GRAINS = 4, 16  # compute cycles, and parts of the longest access, that are told apart


class Clocks:
    """Costs in ps of steps between the two clocks.

    Cycle *n* of a clock is at *n* times its period, ``compute`` or ``dram``, whatever the machine's
    crossing makes of it. Going from one clock to the other takes ``to_dram`` or ``to_compute`` at
    most, and ``there_and_back`` from the DRAM's over the other and back. Besides, an access is with
    its memory ``setup`` after its commit, and DRAM's completion is seen ``resume`` later.
    """

    def __init__(self, machine: Machine, part: Part) -> None:
        self.compute, self.dram = machine.compute_ps, part.tck_ps
        self.setup = machine.setup_clocks * self.dram
        self.resume = machine.resume_clocks * self.dram
        self.crossing = crossing = Crossing(machine, self.dram)
        # from one edge that both have to the next
        period = math.lcm(self.compute, self.dram)
        self._cycles = range(period // self.compute)
        cycle_of = {clock: crossing.cycle(clock) for clock in range(1, period // self.dram + 1)}
        self.to_dram = self.dram - math.gcd(self.compute, self.dram)
        self.to_compute = max(cycle * self.compute - clock * self.dram
                              for clock, cycle in cycle_of.items())
        self.there_and_back = self.dram * max(crossing.clock(cycle) - clock
                                              for clock, cycle in cycle_of.items())
        self.slack = self.to_compute + self.compute + self.dram

    def compute_time(self, clocks: int) -> int:
        """The longest time in ps from an edge of the compute clock to its first edge after
        ``clocks`` clocks of DRAM."""
        crossing = self.crossing
        return self.compute * max(crossing.cycle(crossing.clock(cycle) + clocks) - cycle
                                  for cycle in self._cycles)

    def access_time(self, cost: AccessCost) -> int:
        """Cycles of an access that nothing delays, from its commit to its end."""
        dram = cost.resource == "dram"
        return self.compute_time(cost.lead + cost.delay
                                 + (self.setup + dram * self.resume) // self.dram)


class RoleCosts(NamedTuple):
    """`AccessCost` of each access: of a pair's first and second work-group, and of those of the
    pair before, one of which may have its last store in flight."""

    first: Mapping[Node, AccessCost]
    second: Mapping[Node, AccessCost]
    first_before: Mapping[Node, AccessCost]
    second_before: Mapping[Node, AccessCost]


class End(NamedTuple):
    """The end of a pair: the work-group whose last store is in flight (``access`` None: none), and
    one of the two times, k or a."""

    access: Node | None
    role: int
    time: str


FIRST = (End(None, 0, "k"), End(None, 0, "a"))
"""The ends before the first pair: the compute unit and the DRAM are free."""


class _Other(NamedTuple):
    """The work-group that does not move: its committed access, and what it does after that."""

    access: Node | None
    then: str
    before: int | None = None  # of the pair before: which of its work-groups


class _Turn(NamedTuple):
    """A kind of step: ``how`` is ``swap``, ``on`` or ``both``; ``trail``: loops that the first
    work-group of a pair has left or gone round in this step, and the second has to; None: it is
    free;
    ``early``: for so many ps of the mover's computing and scratchpad accesses at least, the other's
    access is not over."""

    how: str
    role: int
    place: Place
    other: _Other
    trail: tuple | None = None
    early: int = 0


class PairGraph(LoopedGraph):
    """The graph of a kernel's pairs under a policy: one may be the first, or come after another of
    its own; `begin_after` adds those after pairs that end otherwise.

    Parameters
    ----------
    phases : PhaseGraph
        The kernel.
    of_role : sequence of PhaseGraph
        As the first and the second work-group of a pair find it: without what none of their kind
        does.
    costs : RoleCosts
        Of the accesses.
    clocks : Clocks
        Of machine and DRAM.
    policy : Policy
        ``access``, ``yield`` or ``pairwise``; pairwise only without scratchpad accesses. Under
        ``compute``, transfers of scratchpads are parts of segments, and the rest is ``access``.
    paired : bool
        There is a second work-group.
    uniform : bool
        All work-groups make the same rounds (`uniform.py`), and so do those of a pair.
    outlives : int or None
        Which work-group of the pair ends last; None: either.
    overtakes : bool
        The first work-group may go on after an access that moves nothing (`AccessCost.least` 0)
        before the second one is launched. Not if ``uniform``.

    Attributes
    ----------
    begins, ends : dict
        Nodes in which a pair begins after one that ended so, and in which it ends.
    """

    def __init__(self, phases: PhaseGraph, of_role: Sequence[PhaseGraph], costs: RoleCosts,
                 clocks: Clocks, policy: Policy, *, paired: bool = True, uniform: bool = False,
                 outlives: int | None = None, overtakes: bool = False) -> None:
        # The two work-groups' rounds of a loop have prices of their own.
        # So has what is rare in them.
        self._facts = {loop: phases.facts_in(loop) for loop in phases.moving}
        most: dict[Hashable, int] = {}
        depth: dict[Hashable, int] = {}
        for loop, facts in self._facts.items():
            for role in (0, 1):
                most[loop, role], depth[loop, role] = phases.loops.bounds[loop].most, loop.depth
                for fact in facts:
                    most[fact, role], depth[fact, role] = fact.most, loop.depth
        super().__init__(most, depth)
        self._outlives, self._overtakes = outlives, overtakes
        self._phases, self._costs, self.clocks = phases, costs, clocks
        self._of_role = of_role
        self._policy, self._uniform = policy, uniform
        self._in_chip = any(cost.resource == "scratchpad" for cost in costs.first.values())
        self._grain = max([_GRAIN * clocks.compute,
                           *(cost.least * clocks.dram // _GRAINS for cost in costs.first.values())])
        self.ends: dict[End, int] = {}
        self._waiting: list[tuple] = []
        self._then = LAUNCHED if paired else DONE
        self.begins: dict[End, int] = {}
        self.begin_after(FIRST)
        while paired and not self.ends.keys() <= self.begins.keys():
            self.begin_after(list(self.ends))  # the next one is like it

    def begin_after(self, ends: Iterable[End]) -> None:
        """Pairs that begin after others which ended so."""
        for end in ends:
            if end not in self.begins:
                self.begins[end] = self._begin(end)
        while self._waiting:
            self._expand(self._waiting.pop())

    def prefers(self, turn: Hashable) -> bool:
        """Prefer the rounds of the work-group that never runs by itself: the price of the other's
        is that of its rounds by itself."""
        return self._outlives is not None and turn[1] != self._outlives  # type: ignore[index]

    def _begin(self, end: End) -> int:
        """The node in which a pair begins after one that ended so."""
        before = None if end.access is None else end.role
        other = _Other(end.access, self._then, before)
        paired = self._then == LAUNCHED
        return self._node((self._swap(0, START, other, self._trail(paired)), end.time))

    def _swap(self, role: int, place: Place, other: _Other, trail: tuple | None = None) -> _Turn:
        """A step in which ``role`` computes, and the other one's access is under way."""
        early = 0
        if self._policy is Policy.YIELD and other.access is not None and self._in_chip:
            of = 1 - role if other.before is None else 2 + other.before
            least = self._costs[of][other.access].least * self.clocks.dram - self.clocks.slack
            early = self._coarse(least)
        return _Turn("swap", role, place, other, trail, early)

    def _coarse(self, time: int) -> int:
        """Rounded down, so that there are few of them."""
        return max(0, time) // self._grain * self._grain

    def _trail(self, paired: bool) -> tuple | None:
        """The first work-group's trail at the beginning of a step; None where none is kept."""
        return () if self._uniform and paired else None

    def last(self, end: End, extra: int) -> int:
        """Time in ps from the end of the last pair to the end of the store still in flight."""
        if end.access is None:
            return self._seen(START) if end.time == "a" else 0
        cost, dram = self._access(end.access, end.time, START, self._costs[2 + end.role])
        return cost + self._seen(START) + (extra if dram else 0)

    def _seen(self, before: Place) -> int:
        """Time in ps from the end of the access at ``before``, or of the one before START, until
        its work-group may issue."""
        return self.clocks.to_compute + (0 if self._of_scratchpad(before) else self.clocks.resume)

    def _of_scratchpad(self, place: Place) -> bool:
        return place[0] == "access" and place[1] is not None and \
            self._costs.first[place[1]].resource == "scratchpad"

    def _node(self, name: tuple) -> int:
        number, new = self.number(name)
        if new:
            if name[0] == "end":
                self.ends[name[1]] = number
            else:
                self._waiting.append(name)
        return number

    # -- steps -----------------------------------------------------------------------------------

    def _expand(self, name: tuple) -> None:
        if name[0] == "alone":
            self._expand_alone(*name[1:])
        elif name[0] == "overtakes":
            self._expand_overtaking(*name[1:])
        elif isinstance(name[0], _Turn):
            self._expand_turn(*name)
        else:
            _, mode, turn, place = name
            self._walk(self.numbers[name], mode, turn, place, 0, False)

    def _expand_turn(self, turn: _Turn, time: str) -> None:
        """Both halves of a step: the mover's segment, and the other's access."""
        number = self.numbers[turn, time]
        launch = self.clocks.compute if turn.place == START else 0
        if time == "a":
            if turn.how == "swap":
                self._walk(number, "k", turn, turn.place, self._seen(turn.place) + launch, False)
        else:
            first = launch if turn.role == 0 and turn.how == "swap" else 0
            self._walk(number, "k", turn, turn.place, first, False)
        if turn.how == "both" or turn.other == _Other(None, DONE):
            return  # no access is under way
        if turn.how == "on" or turn.other.access is None:
            if time == "a":  # it goes on, or there is none
                self._walk(number, "a", turn, turn.place, 0, False)
            return
        before = turn.other.before
        of = 1 - turn.role if before is None else 2 + before
        cost, dram = self._access(turn.other.access, time, turn.place, self._costs[of])
        self._walk(number, "a", turn, turn.place, cost, dram)

    def _access(self, access: Node, time: str, before: Place, costs: Mapping[Node, AccessCost]
                ) -> tuple[int, bool]:
        """An access from its commit (``k``), or from the end of the one at ``before`` (``a``)."""
        cost, clocks = costs[access], self.clocks
        dram, after_scratchpad = cost.resource == "dram", self._of_scratchpad(before)
        if time == "k":
            return (clocks.to_dram + clocks.setup + clocks.dram * (cost.lead + cost.delay)), dram
        if dram and not after_scratchpad:  # its lead was over, or is hidden
            return clocks.dram * cost.delay, dram
        return (clocks.there_and_back + clocks.dram * (cost.lead + cost.delay)
                + (0 if after_scratchpad else clocks.resume)), dram

    def _expand_alone(self, role: int, access: Node, time: str) -> None:
        """The other one is done: the access, and then the next segment."""
        number = self.numbers["alone", role, access, time]
        after = self._node((_Turn("swap", role, ("access", access), _Other(None, DONE)), "a"))
        cost, dram = self._access(access, time, START, self._costs[role])
        self.arcs[number].append(Arc(after, cost, dram=dram))

    def _expand_overtaking(self, access: Node, time: str) -> None:
        """The second one is not launched before the first one's access is over."""
        number = self.numbers["overtakes", access, time]
        after = self._node((_Turn("swap", 0, ("access", access), _Other(None, LAUNCHED)), "a"))
        cost, dram = self._access(access, time, START, self._costs.first)
        self.arcs[number].append(Arc(after, cost, dram=dram))

    def _walk(self, number: int, mode: str, turn: _Turn, place: Place, cost: int, dram: bool
              ) -> None:
        """The segments from a place; their cycles count in mode k only, and prices always."""
        for segment in self._of_role[turn.role].after[place]:
            trail = turn.trail
            if trail is not None:
                passed = self._passed(segment)
                if turn.role == 0:
                    if segment.back in trail:
                        continue  # all its rounds have accesses (`is_uniform`): one in between
                    trail = (*trail, *passed)
                elif trail[:len(passed)] != passed:
                    continue
                else:
                    trail = trail[len(passed):]
            moved = turn._replace(trail=trail, early=self._coarse(
                turn.early - self.clocks.compute * segment.cycles))
            back = None if segment.back is None else (segment.back, turn.role)
            enters = tuple((what, turn.role) for loop in segment.enters
                           for what in (loop, *self._facts[loop]))
            rare = tuple((fact, turn.role) for fact in segment.rare)
            total = cost + self.clocks.compute * (segment.cost if mode == "k" else segment.paid)
            for target, more in self._arrivals(mode, moved, segment):
                self.arcs[number].append(Arc(target, total + more, back, enters, dram, rare))

    def _passed(self, segment: Segment) -> tuple:
        """The loops that a segment leaves, the innermost first, and the one that it goes round."""
        source, target = segment.source[1], segment.target[1]
        left = [("left", loop) for loop in self._phases.moving
                if source in loop.body and target not in loop.body]
        return (*left, segment.back) if segment.back is not None else tuple(left)

    def _arrivals(self, mode: str, turn: _Turn, segment: Segment) -> Iterator[tuple[int, int]]:
        """Yield the nodes that a segment leads to, each with the time that this adds."""
        kind, node = segment.target
        if kind == "header":
            yield self._node(("walk", mode, turn, segment.target)), 0
        elif turn.role == 1 and turn.trail:
            return  # the first went round a loop, or left it
        elif segment.target == END:
            yield from self._ended(mode, turn)
        elif node is not None and self._policy is Policy.YIELD \
                and self._costs.first[node].resource == "scratchpad":
            yield from self._in_scratchpad(mode, turn, segment.target)
        elif node is not None:
            yield from self._committed(mode, turn, node)

    def _next_place(self, turn: _Turn) -> Place:
        return START if turn.other.then == LAUNCHED else ("access", turn.other.access)

    def _committed(self, mode: str, turn: _Turn, node: Node) -> Iterator[tuple[int, int]]:
        """The mover has committed an access that others have to wait for."""
        final = node in self._phases.final
        role, other = turn.role, turn.other
        if final and role == self._outlives and other.then != DONE:
            return
        if turn.how == "both":
            then = self._swap(1 - role, ("access", other.access),
                              _Other(node, DONE if final else GOES_ON))
            yield self._node((then, "k")), 0
        elif other.then == DONE:
            yield self._node(("end", End(node, role, mode)) if final
                             else ("alone", role, node, mode)), 0
        else:
            then = self._swap(1 - role, self._next_place(turn),
                              _Other(node, DONE if final else GOES_ON), turn.trail)
            yield self._node((then, mode)), 0
            cost = self._costs.first[node]
            if self._overtakes and other.then == LAUNCHED and role == 0 and not final \
                    and (turn.place == START or turn.how == "on") \
                    and cost.resource == "dram" and cost.least == 0:
                yield self._node(("overtakes", node, mode)), 0

    def _in_scratchpad(self, mode: str, turn: _Turn, place: Place) -> Iterator[tuple[int, int]]:
        """The mover transfers to or from its scratchpad; neither computes meanwhile."""
        assert place[1] is not None
        taken = self.clocks.access_time(self._costs[turn.role][place[1]])
        took = taken if mode == "k" else 0
        role, other = turn.role, turn.other
        early = self._coarse(turn.early - taken)
        if turn.how == "both":
            then = _Turn("both", 1 - role, ("access", other.access), _Other(place[1], GOES_ON))
            yield self._node((then, "k")), took
            return
        if other == _Other(None, DONE):
            yield self._node((_Turn("swap", role, place, other), mode)), took
            return
        yield self._node((_Turn("on", role, place, other, early=early), mode)), took
        if other.then != DONE and mode == "k" and not early:
            then = _Turn("both", 1 - role, self._next_place(turn), _Other(place[1], GOES_ON))
            yield self._node((then, "k")), took

    def _ended(self, mode: str, turn: _Turn) -> Iterator[tuple[int, int]]:
        """The mover has ended without a last store."""
        alone = _Other(None, DONE)
        if turn.role == self._outlives and turn.other.then != DONE:
            return
        if turn.how == "both":
            then = _Turn("swap", 1 - turn.role, ("access", turn.other.access), alone)
            yield self._node((then, "k")), 0
        elif turn.other.then == DONE:
            yield self._node(("end", End(None, 0, mode))), 0
        else:
            then = _Turn("swap", 1 - turn.role, self._next_place(turn), alone,
                         turn.trail if turn.role == 0 else None)
            yield self._node((then, mode)), 0
