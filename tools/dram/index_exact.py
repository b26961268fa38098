"""The longest indexed request of up to nB rows, exactly: every order of banks, cycle by cycle.

No bank holds two rows, so that a request is a sequence of banks. All of them are followed at once:
a state is what the arbiter knows in a cycle, with *roles* in place of banks (``index_steps.py``),
and with it goes the set of worlds in which some request leads to it. Requests that lead to the same
state are one from then on. Where a choice depends on the numbers of banks, the set is divided.

States that cannot lead to what is asked for are left. What they can lead to, `Latest` says; where a
set of worlds is large, it does so in an `Outline` of all requests, which is drawn first.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from cyclebound.golden.dram.bounds import check_request
from cyclebound.golden.dram.timing import Part
from cyclebound.tools.dram.index_latest import Latest, check_search
from cyclebound.tools.dram.index_search import Order, check_rows
from cyclebound.tools.dram.index_steps import State, Steps
from cyclebound.tools.dram.index_worlds import AnyWorld, Role, Worlds

__all__ = ["Longest", "Outline", "longest_request"]


class Outline:
    """A first, coarse search, which does not care which bank is which.

    States through which some request may go that takes ``least`` clocks or more. Whatever might be
    chosen in any world, is (`AnyWorld`), and groups have no numbers: some of its requests do not
    exist, but none is missing, so that what cannot take long here cannot take long.

    Attributes
    ----------
    followed : int
        Steps of the search.
    """

    def __init__(self, latest: Latest, write: int, least: int,
                 tell: Callable[[str], None] = lambda stage: None) -> None:
        self._steps = Steps(latest.part, AnyWorld(latest.part, latest.rows), latest.bursts, write)
        self._latest, self._least, self._tell = latest, least, tell
        self.followed = 0
        self._before = self._forward()
        self._promised = self._backward()

    def promised(self, state: State, cycle: int) -> int:
        """The longest issue delay to which the state may lead; -1 if less than asked for."""
        return self._promised[cycle].get(state.outline(), -1)

    def _forward(self) -> dict[int, dict[State, list[tuple[int, State]]]]:
        """By cycle, the states that may lead to a long enough delay, with their predecessors."""
        states_at: dict[int, dict[State, list[tuple[int, State]]]] = defaultdict(dict)
        states_at[0][self._steps.start()] = []
        cycle = 0
        while cycle <= max(states_at):
            left: dict[int, set[State]] = defaultdict(set)
            if cycle in states_at:
                self._tell(f"outline: cycle {cycle}, {len(states_at[cycle])} states")
            for state in states_at.get(cycle, ()):
                if state.done:
                    continue
                for arrives in self._steps.arrivals(state):
                    for cycles, after, *_ in self._steps.follow(state, 1, arrives):
                        self.followed += 1
                        later, after = cycle + cycles, after.outline()
                        if after in left[later]:
                            continue
                        if after not in states_at[later]:
                            if self._end(after, later) < self._least:
                                left[later].add(after)
                                continue
                            states_at[later][after] = []
                        states_at[later][after].append((cycle, state))
            cycle += 1
        return states_at

    def _end(self, state: State, cycle: int) -> int:
        if state.done:
            return cycle + self._steps.delay(state)
        return self._latest.delay(state, cycle)

    def _backward(self) -> dict[int, dict[State, int]]:
        """The states that lead to such an end, by cycle, each with the longest delay."""
        promised: dict[int, dict[State, int]] = defaultdict(dict)
        for cycle in sorted(self._before, reverse=True):
            for state, before in self._before[cycle].items():
                longest = (cycle + self._steps.delay(state) if state.done
                           else promised[cycle].get(state, -1))
                if longest < self._least:
                    continue
                promised[cycle][state] = longest
                for earlier, led in before:
                    promised[earlier][led] = max(longest, promised[earlier].get(led, -1))
        return promised


class Longest(NamedTuple):
    """The longest request found: ``delay`` and ``order``, or None if none takes that long.

    ``settled``: a number of words from which on the search did not depend on it: no request of so
    many words or more takes that long, apart from nCCD_L for each further word. ``followed``: steps
    of the search.
    """

    delay: int | None
    order: Order | None
    settled: int | None
    followed: int


class _Search:
    """The requests of an `Outline`, each with the worlds in which it exists."""

    def __init__(self, part: Part, bursts: int, rows: int, write: int, least: int,
                 tell: Callable[[str], None]) -> None:
        self.latest = Latest(part, bursts, rows, write)
        self.least, self.tell = least, tell
        self.worlds = Worlds(part, rows)
        self.outline = Outline(self.latest, write, least, tell) if self.worlds.large else None
        self.followed = self.outline.followed if self.outline else 0
        self.steps = Steps(part, self.worlds, bursts, write)
        self._worlds: dict[int, dict] = {}  # of each state, by cycle
        self._led: dict[tuple[int, State], list] = {}  # from where

    def promised(self, state: State, cycle: int) -> int:
        """No request of this state takes longer."""
        if self.outline:
            return self.outline.promised(state, cycle)
        return cycle + self.steps.delay(state) if state.done else self.latest.delay(state, cycle)

    def run(self) -> tuple[int, Order] | None:
        """The longest request that takes ``least`` clocks at least: issue delay and order, or None.
        """
        keep, kept = self.worlds.keep, self.worlds.kept
        now, longest = {0: {self.steps.start(): keep(self.worlds.all)}}, None
        while now:
            cycle = min(now)
            left = set()
            self.tell(f"searching: cycle {cycle}, {len(now[cycle])} states")
            self._worlds[cycle] = now.pop(cycle)
            for state, packed in self._worlds[cycle].items():
                worlds = kept(packed)
                if state.done:
                    delay = cycle + self.steps.delay(state)
                    if delay >= self.least:
                        longest = delay, self._order(cycle, state, self.worlds.one_of(worlds))
                        self.least = delay + 1
                    continue
                for arrives in self.steps.arrivals(state):
                    for cycles, after, chosen, names in self.steps.follow(state, worlds, arrives):
                        self.followed += 1
                        later = cycle + cycles
                        states = now.setdefault(later, {})
                        if (later, after) in left or (
                                after not in states and self.promised(after, later) < self.least):
                            left.add((later, after))
                            continue
                        chosen = self.worlds.renamed(chosen, names)
                        before = kept(states.get(after, 0))
                        if chosen & ~before:
                            states[after] = keep(before | chosen)
                            self._led.setdefault((later, after), []).append(
                                (cycle, state, arrives))
        return longest

    def _order(self, cycle: int, state: State, world: int) -> Order:
        """A request that leads to a state in a world."""
        first, banks = self.worlds.first(world), []
        while cycle:
            cycle, state, arrives, world = self._before(cycle, state, world)
            if arrives is not None and self.steps.takes(state, arrives):
                banks.append(self.worlds.bank(world, arrives))
        return Order(first, tuple(reversed(banks)))

    def _before(self, cycle: int, state: State, world: int
                ) -> tuple[int, State, Role | None, int]:
        """The predecessor of a state in a world: cycle, state, the role that arrives, world."""
        for earlier, before, arrives in self._led[cycle, state]:
            for step in self.steps.follow(before, self.worlds.all, arrives):
                was = self.worlds.before(world, step.names)
                if (step.state == state and step.worlds >> was & 1
                        and self.worlds.kept(self._worlds[earlier][before]) >> was & 1):
                    return earlier, before, arrives, was
        raise AssertionError("no state leads to this one in this world")


def longest_request(part: Part, *, bursts: int, rows: int, write: int, least: int = 0,
                    tell: Callable[[str], None] = lambda stage: None) -> Longest:
    """The longest issue delay of ``bursts`` words over ``rows`` rows, if it is ``least`` at least.

    The nearer ``least`` is to it, the sooner it is found; ``tell`` is told how far the search is.
    Raises `NotCovered` for no request or a
    part that `check_search` refuses, and `ValueError` for more rows than banks.
    """
    check_request(bursts, write)
    check_rows(part, rows)
    check_search(part, write)
    search = _Search(part, bursts, rows, write, least, tell)
    longest = search.run()
    settled = None if longest else search.latest.settled(least)
    delay, order = longest or (None, None)
    return Longest(delay, order, settled, search.followed)
