"""Longest paths in a graph with loops that turn a bounded number of times.

An edge may go round a loop, or enter one. With a price for each round, paid when the loop is
entered for all the rounds that it may have, and refunded round by round, a path costs no less than
it takes; and with prices at which no cycle gains, longest paths are found as in any graph. So the
result is an upper bound for every price, and time does not depend on numbers of rounds
(docs/simd_wcet.md). A loop's price is its costliest round, after loops within it have theirs.

What a loop allows a number of times, such as an outcome of one of its branches, is priced like
rounds: paid so many times when the loop is entered, and refunded where it occurs. A round's price
is then that of its costliest round without it, and its own what a round with it costs more.
"""

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Arc", "LoopedGraph"]

NEVER = -(1 << 62)

_SEARCH = 3  # passes from one search for a cycle to the next


class Arc(NamedTuple):
    """An arc to node ``target`` that costs ``cost``.

    ``back``: the loop of which it ends a round; ``enters``: loops that begin, and what they allow
    a number of times; ``rare``: what of that occurs. ``dram``: it has a DRAM request, which a
    refresh may hold up.
    """

    target: int
    cost: int
    back: Hashable = None
    enters: tuple = ()
    dram: bool = False
    rare: tuple = ()


@dataclass
class LoopedGraph:
    """A graph that is built arc by arc.

    Attributes
    ----------
    most : mapping
        Rounds of each loop for an entry, and how often what is rare occurs in them.
    depth : mapping
        1 for an outermost loop, and for what is rare in its rounds.
    extra : int
        What a refresh adds to a DRAM request.
    """

    most: Mapping[Hashable, int]
    depth: Mapping[Hashable, int]
    extra: int = 0
    numbers: dict[Hashable, int] = field(default_factory=dict)
    arcs: list[list[Arc]] = field(default_factory=list)
    prices: dict[Hashable, int] = field(default_factory=dict)
    _components: dict[Hashable, list[list[int]]] = field(default_factory=dict)

    def number(self, name: Hashable) -> tuple[int, bool]:
        """A node's number, and whether it is new."""
        found = self.numbers.get(name)
        if found is not None:
            return found, False
        self.numbers[name] = len(self.arcs)
        self.arcs.append([])
        return len(self.arcs) - 1, True

    # -- prices ----------------------------------------------------------------------------------

    def weight(self, arc: Arc) -> int:
        total = arc.cost + (self.extra if arc.dram else 0)
        if arc.back is not None:
            total -= self.prices.get(arc.back, 0)
        for rare in arc.rare:
            total -= self.prices.get(rare, 0)
        for loop in arc.enters:
            total += self.most[loop] * self.prices.get(loop, 0)
        return total

    def prefers(self, loop: Hashable) -> bool:
        """Whether this loop is given a price rather than others of a cycle of positive weight."""
        return False

    def price(self) -> None:
        """Find prices at which no cycle gains, those of the innermost loops first."""
        self.prices = {}
        for depth in sorted(set(self.depth.values()), reverse=True):
            allowed = {loop for loop, at in self.depth.items() if at >= depth}
            for part in self.components(allowed):
                if len(part) > 1 or any(arc.target == part[0] for arc in self.arcs[part[0]]):
                    self._price(part, allowed, depth)

    def _price(self, part: list[int], allowed: set, depth: int) -> None:
        inside = set(part)
        # in the order in which a search finds them, values go far in one pass
        arcs = [(node, arc) for node in reversed(part) for arc in self.arcs[node]
                if arc.target in inside and (arc.back is None or arc.back in allowed)]
        value = dict.fromkeys(part, 0)
        # rounds first without what is rare in them, then with the least rare: what gains only
        # since is priced by it
        here = {rare for _, arc in arcs for rare in arc.rare if self.depth[rare] == depth}
        for most in (None, *sorted({self.most[rare] for rare in here}, reverse=True)):
            left_out = {rare for rare in here if most is None or self.most[rare] < most}
            kept = arcs if not left_out else [
                (node, arc) for node, arc in arcs if left_out.isdisjoint(arc.rare)]
            while (cycle := self._gaining(value, kept)) is not None:
                self._raise(cycle, here)

    def _raise(self, cycle: list[Arc], rare: set) -> None:
        """Raise prices until this cycle gains no longer: of the rarest of ``rare`` in it, or else
        of its outermost loops."""
        gain = sum(self.weight(arc) for arc in cycle)
        raised = [each for arc in cycle for each in arc.rare if each in rare]
        if raised:
            rarest = min(self.most[each] for each in raised)
            raised = [each for each in raised if self.most[each] == rarest]
        else:
            turned = [arc.back for arc in cycle if arc.back is not None]
            outer = min(self.depth[loop] for loop in turned)
            raised = [loop for loop in turned if self.depth[loop] == outer]
            raised = [loop for loop in raised if self.prefers(loop)] or raised
        for each in set(raised):
            self.prices[each] = self.prices.get(each, 0) - -gain // len(raised)

    def _gaining(self, value: dict[int, int], arcs: list[tuple[int, Arc]]) -> list[Arc] | None:
        """A cycle that gains, or None: then no arc raises ``value``, which may begin with
        anything."""
        last: dict[int, tuple[int, Arc]] = {}
        weighed = [(node, arc.target, self.weight(arc), arc) for node, arc in arcs]
        for number in itertools.count():
            changed = False
            for node, target, weight, arc in weighed:
                total = value[node] + weight
                if total > value[target]:
                    value[target] = total
                    last[target] = node, arc
                    changed = True
            if not changed:
                return None
            cycle = _cycle(last) if number % _SEARCH == 1 else None
            if cycle is not None:
                return cycle
        return None

    # -- order -----------------------------------------------------------------------------------

    def components(self, allowed: set | None = None) -> list[list[int]]:
        """Strongly connected components, each before those that lead to it; ``allowed``: the loops
        whose rounds count as arcs."""
        asked = len(self.arcs), None if allowed is None else frozenset(allowed)
        if asked not in self._components:  # costs do not matter
            self._components[asked] = self._connected(allowed)
        return self._components[asked]

    def _connected(self, allowed: set | None) -> list[list[int]]:
        """The strongly connected components, by Tarjan's algorithm."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        held: set[int] = set()
        found: list[list[int]] = []

        def following(node: int):
            return iter([arc.target for arc in self.arcs[node]
                         if allowed is None or arc.back is None or arc.back in allowed])

        for root in range(len(self.arcs)):
            if root in index:
                continue
            index[root] = low[root] = len(index)
            stack.append(root)
            held.add(root)
            work = [(root, following(root))]
            while work:
                node, targets = work[-1]
                for target in targets:
                    if target not in index:
                        index[target] = low[target] = len(index)
                        stack.append(target)
                        held.add(target)
                        work.append((target, following(target)))
                        break
                    if target in held:
                        low[node] = min(low[node], index[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        part: list[int] = []
                        while not part or part[-1] != node:
                            part.append(stack.pop())
                            held.discard(part[-1])
                        found.append(part)
        return found

    # -- paths -----------------------------------------------------------------------------------

    def longest_from(self, source: int, order: list[list[int]]) -> list[int]:
        """The greatest weight of a path to each node; `NEVER` where there is none.

        ``order`` is that of `components`, after `price`.
        """
        value = [NEVER] * len(self.arcs)
        value[source] = 0
        for part in reversed(order):
            if len(part) == 1 and not any(arc.target == part[0] for arc in self.arcs[part[0]]):
                held = value[part[0]]
                if held > NEVER:
                    for arc in self.arcs[part[0]]:
                        value[arc.target] = max(value[arc.target], held + self.weight(arc))
                continue
            waiting = [node for node in part if value[node] > NEVER]
            inside = set(part)
            while waiting:
                again = []
                for node in waiting:
                    for arc in self.arcs[node]:
                        total = value[node] + self.weight(arc)
                        if total > value[arc.target]:
                            value[arc.target] = total
                            if arc.target in inside:
                                again.append(arc.target)
                waiting = list(dict.fromkeys(again))
        return value


def _cycle(last: dict[int, tuple[int, Arc]]) -> list[Arc] | None:
    """A cycle of the last arcs, if there is one: then it gains."""
    colour: dict[int, int] = {}
    for number, start in enumerate(last):
        node = start
        while node in last and node not in colour:
            colour[node] = number
            node = last[node][0]
        if colour.get(node) == number and node in last:
            cycle, at = [], node
            while True:
                before, arc = last[at]
                cycle.append(arc)
                at = before
                if at == node:
                    return cycle
    return None
