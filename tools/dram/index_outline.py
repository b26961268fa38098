"""A first, coarse search for long indexed requests, which does not care which bank is which.

Whatever might be chosen in any world, is (`AnyWorld`), and groups have no numbers. So some of its
requests do not exist, but none is missing: what cannot take long here cannot take long.
"""

from collections import defaultdict
from collections.abc import Callable

from cyclebound.tools.dram.index_latest import Latest
from cyclebound.tools.dram.index_steps import State, Steps
from cyclebound.tools.dram.index_worlds import AnyWorld

__all__ = ["Outline"]


class Outline:
    """States through which some request may go that takes ``least`` clocks or more.

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
        """By cycle, the states that may lead to enough, and what led to them."""
        found = defaultdict(dict)
        found[0][self._steps.start()] = []
        cycle = 0
        while cycle <= max(found):
            left = defaultdict(set)
            if cycle in found:
                self._tell(f"outline: cycle {cycle}, {len(found[cycle])} states")
            for state in found.get(cycle, ()):
                if state.done:
                    continue
                for arrives in self._steps.arrivals(state):
                    for cycles, after, *_ in self._steps.follow(state, 1, arrives):
                        self.followed += 1
                        later, after = cycle + cycles, after.outline()
                        if after in left[later]:
                            continue
                        if after not in found[later]:
                            if self._end(after, later) < self._least:
                                left[later].add(after)
                                continue
                            found[later][after] = []
                        found[later][after].append((cycle, state))
            cycle += 1
        return found

    def _end(self, state: State, cycle: int) -> int:
        if state.done:
            return cycle + self._steps.delay(state)
        return self._latest.delay(state, cycle)

    def _backward(self) -> dict[int, dict[State, int]]:
        """Of these, those that do lead there, each with the longest delay."""
        promised = defaultdict(dict)
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
