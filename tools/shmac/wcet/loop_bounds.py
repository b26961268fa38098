"""How often each loop goes round, and which addresses each access may have.

The graph is gone through loop by loop, outer ones first. In a loop, every register and every word
of the stack first gets a symbol, for what it holds at the head in the present round. One pass over
the body then shows what a round adds to each: nothing, a number (it is *counted*), or anything. A
branch that leaves the loop, and that no round can do without, is a *test*; where both sides of what
it compares are counted, or do not change, the rounds until it leaves follow from their values at
the entry (`stays`). With this number the symbols have ranges, and a second pass finds the bounds of
the loops inside, what accesses may address, and which branches only ever go one way.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cyclebound.tools.shmac.wcet.code import WcetError
from cyclebound.tools.shmac.wcet.graph import Node, RouteGraph, destination, instruction_at
from cyclebound.tools.shmac.wcet.loops import Loop, nest, round_without
from cyclebound.tools.shmac.wcet.values import (
    ANY,
    ZERO,
    Condition,
    Environment,
    Range,
    State,
    Symbol,
    Value,
    as_range,
    decided,
    entry_state,
    minus,
    narrowed,
    number,
    plus,
    resolved,
    run,
)

__all__ = ["Analysed", "Edge", "LoopBound", "Test", "analysed", "stays"]

_MASK = 0xFFFF_FFFF
_SPAN = 1 << 32
_MOST_WORK = 1_000_000  # instructions that are gone through: about half a minute
_MOST_LOOKS = 200_000  # instructions that are gone through, round by round
_POINTERS = (29, 30)  # registers that a round is first taken to leave as they are

Edge = tuple[Node, Node | None]


class Test(NamedTuple):
    """A branch that every round comes to, and the edge by which the loop goes on.

    It is taken so at least ``least`` times and at most ``most`` times after an entry, if nothing
    else leaves the loop.
    """

    stay: Edge
    least: int
    most: int


@dataclass
class LoopBound:
    """What bounds a loop.

    Attributes
    ----------
    tests : list of Test
        What is inferred.
    counted : int or None
        How often its head is executed for each entry, by tests of which a round needs only one.
    stated : int or None
        How often its head is executed for each entry, as its author says.
    around : Loop or None
        The loop around it, if the bound is another one in each of that one's rounds.
    by_round : list of LoopBound or None
        These, in order; None where that round does not come to it.
    """

    tests: list[Test] = field(default_factory=list)
    counted: int | None = None
    stated: int | None = None
    around: Loop | None = None
    by_round: list["LoopBound | None"] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """How often the head is executed at most, for each entry: once, if nothing leads back."""
        return min(self.limits, default=1)

    @property
    def limits(self) -> list[int]:
        """The same by each of what bounds it."""
        return [*(test.most + 1 for test in self.tests),
                *(count for count in (self.counted, self.stated) if count is not None)]

    @property
    def inferred(self) -> bool:
        """Whether it follows from the program."""
        return self.stated is None or self.rounds < self.stated


@dataclass
class Analysed:
    """What `analysed` finds.

    Attributes
    ----------
    whole : Loop
        The function, with its loops.
    bounds : dict
        Of each loop that is entered.
    edges : set of Edge
        Those that can be taken.
    addresses : dict
        Of each instruction with an access: least and greatest address.
    overflows : set of int
        Addresses of ADD, ADDI and SUB; nothing shows that their result fits.
    """

    whole: Loop
    bounds: dict[Loop, LoopBound] = field(default_factory=dict)
    edges: set[Edge] = field(default_factory=set)
    addresses: dict[Node, tuple[int, int]] = field(default_factory=dict)
    overflows: set[int] = field(default_factory=set)


def analysed(graph: RouteGraph, registers: Mapping[int, tuple[int, int]] | None = None
             ) -> Analysed:
    """The loops of a function, with their bounds.

    ``registers`` are ranges of values at its beginning. Raises `WcetError` for a loop that nothing
    bounds.
    """
    return _Pass(graph, registers or {}).result


class _Through(NamedTuple):
    """What goes out of a part of the graph: states on its edges, and what its branches are on."""

    states: dict[Edge, State]
    conditions: dict[Node, tuple[Condition, Edge, Edge]]  # with where it goes if so, and if not


class _Pass:
    def __init__(self, graph: RouteGraph, registers: Mapping[int, tuple[int, int]]) -> None:
        self._graph = graph
        self.result = Analysed(nest(graph))
        self._check_facts()
        state, self._environment = entry_state(registers)
        self._work = 0
        self._looked: dict[Loop, LoopBound | None] = {}  # of one pass; None: nothing bounds it
        # of loops in others, for each round of these
        self._by_round: dict[Loop, tuple[Loop, list[LoopBound | None], int]] = {}
        self._body(self.result.whole, state, final=True)

    def _check_facts(self) -> None:
        program = self._graph.program
        heads = {loop.head.pc for loop in self.result.whole.all()}
        reached = {node.pc for node in self._graph.nodes}
        for address in program.facts:
            if address in reached and address not in heads:
                named = ", ".join(program.place(head) for head in sorted(heads)) or "none"
                raise WcetError(f"a bound is stated at {program.place(address)}, which is no "
                                f"loop's head; heads of loops are {named}")

    def _body(self, region: Loop, state: State, *, final: bool,
              refined: Mapping[Edge, Mapping[object, Value]] | None = None) -> _Through:
        """Go once through a region, whose head has this state."""
        at: dict[Node, State] = {region.head: state}
        out: dict[Edge, State] = {}
        conditions: dict[Node, tuple[Condition, Edge, Edge]] = {}

        def deliver(edge: Edge, state: State) -> None:
            if refined and edge in refined:
                state = state.copy()
                for place, value in refined[edge].items():
                    _set(state, place, value)
            target = edge[1]
            if final:
                self.result.edges.add(edge)
            if target is None or target not in region.nodes or target == region.head:
                out[edge] = state
            elif target in at:
                at[target] = at[target].join(state, self._environment)
            else:
                at[target] = state

        for part in region.order:
            if isinstance(part, Loop):
                if part.head in at:
                    for edge, left in self._loop(part, at[part.head], final=final).items():
                        deliver(edge, left)
            elif part in at:
                for edge, left, condition in self._instruction(
                        part, at[part], final, region is self.result.whole):
                    deliver(edge, left)
                    if condition is not None:
                        conditions[part] = condition
        return _Through(out, conditions)

    def _instruction(self, node: Node, state: State, final: bool, once: bool
                     ) -> Iterable[tuple[Edge, State,
                                         tuple[Condition, Edge, Edge] | None]]:
        self._work += 1
        if self._work > _MOST_WORK:
            raise WcetError(f"its loops, in each other, take more than {_MOST_WORK:,} steps to "
                            "bound")
        encoding, word = instruction_at(self._graph.program, node.pc)
        state = state.copy()
        register = destination(encoding, word)
        if final and encoding.form == "rt immediate(rs)":
            self.result.addresses[node] = resolved(state.address(word),
                                                   self._environment).unsigned()
        if final and encoding.name in ("add", "addi", "sub") and not self._fits(
                encoding.name, word, state):
            self.result.overflows.add(node.pc)
        condition = run(encoding, word, node.pc, node.following or 0, state, self._environment,
                        register)
        edges: list[Edge] = [(node, follower) for follower in self._graph.after[node]]
        if condition is None or len(edges) == 1:
            for edge in edges:
                yield edge, state, None
            return
        known = decided(condition, self._environment)
        compared = [word >> 21 & 31] + ([word >> 16 & 31] if encoding.form == "rs rt offset"
                                        else [])
        taken, other = edges
        for edge, way in ((taken, True), (other, False)):
            if known in (None, way):
                holds = condition if way else condition.opposite()
                yield edge, self._narrowed(state, compared, holds, once), (condition, taken, other)

    def _narrowed(self, state: State, compared: Iterable[int], holds: Condition, once: bool
                  ) -> State:
        """A state after a branch, in which the registers that it compares are what it says.

        Of a symbol's number that is said of this round only, so symbols stay: but for those of the
        beginning, where nothing goes round (``once``).
        """
        found: dict[int, Value] = {}
        for register in compared:
            value = state.registers[register]
            if not isinstance(value, Range) or value not in (holds.left, holds.right):
                continue
            if value.base is None or (once and value.base in self._environment):
                less = narrowed(value, holds, self._environment)
                if less is not None:
                    found[register] = less
        if not found:
            return state
        state = state.copy()
        for register, value in found.items():
            state.registers[register] = value
        return state

    def _fits(self, name: str, word: int, state: State) -> bool:
        """Whether a sum of signed numbers is one."""
        (low, high), (least, most) = (
            resolved(state.registers[word >> at & 31], self._environment).signed()
            for at in (21, 16))
        if name == "addi":
            least = most = (word & 0xFFFF) - ((word & 0x8000) << 1)
        if name == "sub":
            least, most = -most, -least
        return low + least >= -_SPAN >> 1 and high + most < _SPAN >> 1

    def _loop(self, loop: Loop, entry: State, *, final: bool) -> dict[Edge, State]:
        """Bound a loop that is entered with this state, and what it leaves by each edge."""
        env = self._environment
        outer, before = env.hopeful, env.hoped
        env.hopeful, env.hoped = True, False
        head, through, steps, bound, most = self._rounds(loop, entry)
        env.hopeful, hoped = outer, env.hoped
        if hoped and not outer:
            # with the ranges that follow, stores must leave the stack as it was hoped
            self._set_ranges(loop, entry, steps, most)
            checked = self._body(loop, head, final=False)
            self._forget_ranges(loop)
            found = self._found(loop, entry, head, checked)
            if found[0] == steps and self._as_hoped(loop, head, checked, steps) and (
                    most is None or (found[2] is not None and found[2] <= most)):
                through, (steps, bound, most) = checked, found
            else:
                head, through, steps, bound, most = self._rounds(loop, entry)
        env.hoped = before or (hoped and outer)
        if final and loop in self._by_round:
            around, bounds, longest = self._by_round[loop]
            if most is None:
                bound.counted, most = longest, longest - 1
            if loop in around.inner:
                bound.around, bound.by_round = around, bounds
        if most is None and final:
            raise WcetError(
                f"the loop at {self._graph.program.place(loop.head.pc)} has no bound: nothing that "
                "counts its rounds was found; state how often its first instruction is executed "
                "for each entry")
        self._set_ranges(loop, entry, steps, most)
        if final:
            self._check_stated(loop, bound, through)
            if loop in self.result.bounds:
                raise AssertionError("a loop is bounded twice")
            self.result.bounds[loop] = bound
            refined = {test.stay: self._at_most(loop, head, through.states.get(test.stay), steps,
                                                entry, min(test.most - 1, most or 0))
                       for test in bound.tests if test.most}
            if most and loop.inner:
                self._look_at_rounds(loop, head, entry, steps, most)
            through = self._body(loop, head, final=True, refined=refined)
        else:
            self._looked[loop] = None if most is None else bound
        left = {}
        exits = {conditions[2 if conditions[1] == test.stay else 1]: test
                 for test in bound.tests
                 for conditions in [through.conditions.get(test.stay[0])] if conditions}
        for edge, state in through.states.items():
            if edge[1] == loop.head:
                continue
            test = exits.get(edge)
            rounds = (0, most) if test is None or most is None else (
                min(test.least, most), min(test.most, most))
            left[edge] = self._without(loop, state, entry, steps, rounds)
        self._forget_ranges(loop)
        return left

    def _look_at_rounds(self, loop: Loop, head: State, entry: State,
                        steps: Mapping[object, int], most: int) -> None:
        """Bound the loops in a loop for each of its rounds, if that makes a difference.

        Where they are counted by what another counter of this loop limits, only this shows it.
        """
        inner = list(loop.all())

        def look(first: int, last: int) -> dict[Loop, LoopBound | None]:
            for place, step in steps.items():
                self._environment[Symbol(loop, place)] = _counted(
                    as_range(_get(entry, place)), step, first, last)
            self._looked = {}
            self._body(loop, head, final=False)
            return self._looked

        def said(found: dict[Loop, LoopBound | None]) -> list[int | None]:
            return [None if bound is None else bound.rounds
                    for bound in (found.get(one, LoopBound(stated=0)) for one in inner)]

        general = said(look(0, most))
        if (most + 1) * len(loop.nodes) <= _MOST_LOOKS and any(
                said(look(number, number)) != general for number in (0, most)):
            looks = [look(number, number) for number in range(most + 1)]
            for one in inner:
                known = [found[one] for found in looks if one in found]
                if None not in known:
                    self._by_round[one] = loop, [found.get(one) for found in looks], max(
                        (bound.rounds for bound in known if bound is not None), default=1)
        self._set_ranges(loop, entry, steps, most)

    def _rounds(self, loop: Loop, entry: State
                ) -> tuple[State, _Through, dict[object, int], LoopBound, int | None]:
        """The state at the head, what a round does, and how often the loop comes back to it."""
        head, through = self._symbols(loop, entry)
        return head, through, *self._found(loop, entry, head, through)

    def _found(self, loop: Loop, entry: State, head: State, through: _Through
               ) -> tuple[dict[object, int], LoopBound, int | None]:
        """What a round adds, what bounds the loop, and how often it comes back to its head."""
        steps = self._steps(loop, head, through)
        bound = self._bound(loop, entry, through, steps)
        latches = any(edge[1] == loop.head for edge in through.states)
        limits = bound.limits if latches or bound.limits else [1]
        return steps, bound, min(limits) - 1 if limits else None

    def _as_hoped(self, loop: Loop, head: State, through: _Through, steps: Mapping[object, int]
                  ) -> bool:
        """Whether a round leaves everything at the head as it was, or counts it on."""
        for edge, state in through.states.items():
            for place, value in _places(head) if edge[1] == loop.head else ():
                if not isinstance(place, int) and place not in state.stack:
                    return False
                if isinstance(value, Range) and value.base is not None and (
                        value.base.where is loop):
                    if place in steps and _get(state, place) != plus(
                            value, number(steps[place], steps[place])):
                        return False
                elif _get(state, place) != value:
                    return False
        return True

    def _forget_ranges(self, loop: Loop) -> None:
        for symbol in [symbol for symbol in self._environment if symbol.where is loop]:
            del self._environment[symbol]

    def _symbols(self, loop: Loop, entry: State) -> tuple[State, _Through]:
        """The state at the head in any round, and a pass over the body from it.

        What the body does not write stays as it is at the entry, and so does what a pass shows to
        come back to that.
        """
        written = {register for node in loop.nodes
                   for register in [destination(*instruction_at(self._graph.program, node.pc))]}
        written.discard(0)
        exact = {place for place, value in _places(entry) if as_range(value).exact}
        kept = {place for place in exact if (place not in written or place in _POINTERS)
                if isinstance(place, int)}
        kept_words = {at for at in entry.stack if at in exact}
        gone: set[Range] = set()
        while True:
            head = State(
                [as_range(value) if register in kept else Range(Symbol(loop, register), 0)
                 for register, value in enumerate(entry.registers)],
                stack={at: as_range(value) if at in kept_words else Range(Symbol(loop, at), 0)
                       for at, value in entry.stack.items() if at not in gone})
            through = self._body(loop, head, final=False)
            backs = [state for edge, state in through.states.items() if edge[1] == loop.head]
            changed = {register for register in kept for state in backs
                       if as_range(state.registers[register]) != head.registers[register]}
            lost = {at for at in head.stack for state in backs if at not in state.stack}
            changed_words = {at for at in kept_words - lost - gone for state in backs
                             if as_range(state.stack[at]) != head.stack[at]}
            if not changed and not lost and not changed_words:
                return head, through
            kept -= changed
            kept_words -= changed_words
            gone |= lost

    def _steps(self, loop: Loop, head: State, through: _Through) -> dict[object, int]:
        """What each round adds to each symbol, where that is a known number."""
        backs = [state for edge, state in through.states.items() if edge[1] == loop.head]
        steps: dict[object, int] = {}
        for place, value in _places(head):
            if not isinstance(value, Range) or value.base is None or value.base.where is not loop:
                continue
            if any(not isinstance(place, int) and place not in state.stack for state in backs):
                continue
            after = [as_range(_get(state, place)) for state in backs]
            added = {(one.low + (1 << 31) & _MASK) - (1 << 31) for one in after
                     if one.base == value.base and one.exact}
            if not backs:  # there is one round only
                steps[place] = 0
            elif len(added) == 1 and all(one.base == value.base and one.exact for one in after):
                steps[place] = added.pop()
        return steps

    def _bound(self, loop: Loop, entry: State, through: _Through, steps: Mapping[object, int]
               ) -> LoopBound:
        fact = self._graph.program.facts.get(loop.head.pc)
        said = [count for count in (fact.bound, fact.total) if count is not None] if fact else []
        bound = LoopBound(stated=min(said, default=None))
        others: dict[object, list[Node]] = {}  # tests that rounds can do without, by what they say
        for node, (condition, taken, other) in through.conditions.items():
            inside = [edge[1] in loop.nodes for edge in (taken, other)]
            if sum(inside) != 1:
                continue
            stay, to_stay = (taken, condition) if inside[0] else (other, condition.opposite())
            sides = self._sides(loop, condition, entry, steps)
            found = stays(to_stay, sides, self._environment)
            if found is None:
                continue
            if not round_without(loop, self._after, {node}):
                bound.tests.append(Test(stay, *found))
            else:
                same = to_stay.kind, to_stay.holds, tuple(sides), found
                others.setdefault(same, []).append(node)
                if not round_without(loop, self._after, set(others[same])):
                    bound.counted = min(found[1] + 1, bound.counted or found[1] + 1)
        return bound

    def _after(self, node: Node) -> Iterable[Node | None]:
        return self._graph.after[node]

    def _sides(self, loop: Loop, condition: Condition, entry: State, steps: Mapping[object, int]
               ) -> list[tuple[Range, int] | None]:
        """Both sides of a condition: in the first round, and what each round adds."""
        sides: list[tuple[Range, int] | None] = []
        for side in (condition.left, condition.right):
            if side.base is None or side.base.where is not loop:
                # if it is not exact, it may be another number in each round
                sides.append((side, 0) if side.exact or condition.kind != "equal" else None)
            elif side.exact and side.base.what in steps:
                first = plus(as_range(_get(entry, side.base.what)), side._replace(base=None))
                sides.append((first, steps[side.base.what]))
            else:
                sides.append(None)
        return sides

    def _check_stated(self, loop: Loop, bound: LoopBound, through: _Through) -> None:
        """Refuse what is said of a loop if a counter shows the opposite."""
        ways_out = {edge[0] for edge in through.states if edge[1] not in loop.nodes}
        for test in bound.tests:
            if bound.stated is not None and ways_out == {test.stay[0]} and (
                    bound.stated <= test.least):
                place = self._graph.program.place(loop.head.pc)
                raise WcetError(f"the loop at {place} is said to execute its head {bound.stated} "
                                f"times, and executes it {test.least + 1} times at least")

    def _set_ranges(self, loop: Loop, entry: State, steps: Mapping[object, int],
                    most: int | None) -> None:
        """Give the symbols of a loop their ranges, in up to ``most`` rounds after the first."""
        for place, step in steps.items():
            self._environment[Symbol(loop, place)] = _counted(
                as_range(_get(entry, place)), step, 0, most)

    def _at_most(self, loop: Loop, head: State, state: State | None, steps: Mapping[object, int],
                 entry: State, most: int) -> dict[object, Value]:
        """What counted registers hold where a test says to stay: this is not the last round."""
        refined: dict[object, Value] = {}
        for place, value in _places(state) if state is not None else ():
            if (isinstance(value, Range) and value.base is not None and value.base.where is loop
                    and value.base.what in steps):
                what = value.base.what
                refined[place] = plus(_counted(as_range(_get(entry, what)), steps[what], 0, most),
                                      value._replace(base=None))
        return refined

    def _without(self, loop: Loop, state: State, entry: State, steps: Mapping[object, int],
                 rounds: tuple[int, int | None]) -> State:
        """A state in which the symbols of a loop that ends are replaced by their ranges."""
        def replaced(value: Value) -> Range:
            found = as_range(value)
            if found.base is None or found.base.where is not loop:
                return found
            what = found.base.what
            if what not in steps:
                return ANY
            return plus(_counted(as_range(_get(entry, what)), steps[what], *rounds),
                        found._replace(base=None))

        return State([replaced(value) for value in state.registers], replaced(state.high),
                     replaced(state.low), {at: replaced(value) for at, value in state.stack.items()
                                           if at.base is None or at.base.where is not loop})


def _places(state: State) -> Iterable[tuple[object, Value]]:
    """Registers and words of the stack, with what they hold."""
    yield from enumerate(state.registers)
    yield from state.stack.items()


def _get(state: State, place: object) -> Value:
    return state.registers[place] if isinstance(place, int) else state.stack[place]  # type: ignore


def _set(state: State, place: object, value: Value) -> None:
    if isinstance(place, int):
        state.registers[place] = value
    elif place in state.stack:
        state.stack[place] = value


def _counted(first: Range, step: int, least: int, most: int | None) -> Range:
    """What has been counted after ``least`` to ``most`` rounds."""
    if step == 0:
        return first
    if most is None or abs(step) * most >= _SPAN:
        return ANY
    low, high = sorted((step * least, step * most))
    return plus(first, number(low, high, abs(step)))


def stays(stay: Condition, sides: list[tuple[Range, int] | None], environment: Environment
          ) -> tuple[int, int] | None:
    """How often a test says to stay, at least and at most, before it says to leave.

    ``sides`` are what it compares: in the first round, and what each further round adds. None:
    nothing is known.
    """
    if sides[0] is None or sides[1] is None:
        return None
    (left, grows), (right, other_grows) = sides[0], sides[1]
    if stay.kind == "equal":
        return _until_equal(left, right, grows - other_grows, stay.holds, environment)
    if stay.holds:  # left < right
        return _while_below(left, grows, right, other_grows, 0, stay.kind == "less", environment)
    # right <= left
    return _while_below(right, other_grows, left, grows, 1, stay.kind == "less", environment)


def _apart(one: Range, other: Range, environment: Environment) -> Range:
    """A difference."""
    if one.base == other.base:
        return minus(one, other)
    return minus(resolved(one, environment), resolved(other, environment))


def _until_equal(left: Range, right: Range, step: int, equal: bool, environment: Environment
                 ) -> tuple[int, int] | None:
    apart = _apart(left, right, environment)
    if apart.base is not None or apart == ANY:
        return None
    if equal:  # which it is not in two rounds, one after the other
        if apart.exact and apart != ZERO:
            return 0, 0
        return (int(apart == ZERO), 1) if step % _SPAN else None
    size = abs(step)
    least = (apart.low if step < 0 else -apart.low - apart.more) % _SPAN
    if step and least % size == 0 and (apart.exact or apart.stride % size == 0) and (
            least + apart.more < _SPAN):  # it meets each of them
        return least // size, (least + apart.more) // size
    if not apart.exact or step == 0:
        return (0, 0) if apart == ZERO else None
    # the smallest k with apart + k step = 0, modulo 2^32
    shift = (step & -step).bit_length() - 1
    if apart.low % (1 << shift):
        return None
    modulus = _SPAN >> shift
    rounds = -(apart.low >> shift) * pow(step >> shift, -1, modulus) % modulus
    return rounds, rounds


def _while_below(low: Range, low_step: int, high: Range, high_step: int, equal: int, signed: bool,
                 environment: Environment) -> tuple[int, int] | None:
    """While ``low < high + equal``: numbers that do not wrap around."""
    step = low_step - high_step
    if step <= 0:
        return None
    bottom, top = (-_SPAN >> 1, (_SPAN >> 1) - 1) if signed else (0, _MASK)
    ranges = [resolved(side, environment) for side in (low, high)]
    (least, most), (floor, ceiling) = (
        (side.signed() if signed else side.unsigned()) for side in ranges)
    if top - bottom in (most - least, ceiling - floor):
        return None  # one of them may be anything
    nearest, farthest = floor - most, ceiling - least
    if low.base == high.base and low.base is not None:
        apart = minus(high, low).signed()
        if -_SPAN >> 1 <= nearest <= farthest < _SPAN >> 1:
            nearest, farthest = max(nearest, apart[0]), min(farthest, apart[1])
    times = [max(0, -(-(distance + equal) // step)) for distance in (nearest, farthest)]
    # neither side may pass the end of the numbers before the test leaves
    last = times[1]
    if high_step == 0:
        safe = max(most, ceiling + equal - 1 + low_step) <= top if last else True
    elif low_step == 0:
        safe = min(floor, least - equal + 1 + high_step) >= bottom if last else True
    else:
        safe = all(bottom <= end + grown * last <= top for end, grown in (
            (least, low_step), (most, low_step), (floor, high_step), (ceiling, high_step)))
    return (times[0], times[1]) if safe else None
