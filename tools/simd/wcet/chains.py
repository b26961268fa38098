"""All pairs of a grid, one after the other: from the start of a kernel to its end.

Work-groups that reach over the edge of the grid move less, so that there are up to four kinds of
them. What a pair makes of the two times with which it begins is a matrix over (max, +): one row
for each way in which the pair before can have ended. Its powers are found by squaring, so that the
number of work-groups hardly matters.

A refresh delays the DRAM request that it comes before by nRFC at most, and another falls due nREFI
later. So there are few of them, and each counts once on the longest path. The path may be charged
for them in two ways, and in any mixture: nRFC for each that can fall due; or at every request a
part of that, which costs nothing where requests do not lie on the path. The least result counts
(docs/simd_wcet.md).
"""

import functools
import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache

from cyclebound.golden.dram.controller import MOST_OWED
from cyclebound.golden.dram.timing import Part
from cyclebound.tools.simd.wcet.longest import NEVER
from cyclebound.tools.simd.wcet.pairs import FIRST, Clocks, End, PairGraph

__all__ = ["STARTS", "Chain", "Chained", "Pair", "chain"]

STARTS = {"reset": 0, "idle": 1, "busy": MOST_OWED + 1}
"""The state of refreshes when the kernel starts, and how many more than T / nREFI there may
be: the timer starts as well; it is anywhere, no transfer is under way, and no refresh is owed, so
that one which is under way began when it fell due; eight are owed besides, as after a transfer."""

_SHARES = (4, 3, 2, 1, 0)  # quarters of nRFC that are charged for each refresh that falls due

Matrix = dict[End, dict[End, int]]
"""Longest times by the ends of the pair before and of the last pair; impossible ends are absent."""

Pair = tuple[Hashable, Hashable | None]
"""The kinds of a pair's work-groups."""


@dataclass(frozen=True)
class Chained:
    """A bound in cycles; ``bare`` without refreshes, of which there are ``refreshes`` at most."""

    cycles: int
    bare: int
    refreshes: int


def _product(one: Matrix, other: Matrix) -> Matrix:
    found: Matrix = {}
    for begin, row in one.items():
        line = found[begin] = dict[End, int]()
        for middle, first in row.items():
            for end, second in other[middle].items():
                line[end] = max(line.get(end, NEVER), first + second)
    return found


def _power(matrix: Matrix, times: int) -> Matrix:
    """The matrix to the power of ``times``, at least 1, in max-plus algebra."""
    found = None
    while times:
        if times & 1:
            found = matrix if found is None else _product(found, matrix)
        times >>= 1
        if times:
            matrix = _product(matrix, matrix)
    assert found is not None
    return found


class Chain:
    """The pairs of a grid.

    Parameters
    ----------
    kinds : sequence
        Of each work-group, in order: work-groups of one kind have the same costs.
    graphs_of : callable
        The `PairGraph`s of a pair of two kinds (None: there is no second) after a pair of two
        kinds; each way to take turns is in one of them.
    load : int
        Time in ps until the program is read.
    """

    def __init__(self, kinds: Sequence[Hashable],
                 graphs_of: Callable[[Pair, Pair], Sequence[PairGraph]], load: int, across: int
                 ) -> None:
        self._graphs_of, self._load = cache(graphs_of), load
        pairs: list[Pair] = [(kinds[place], kinds[place + 1] if place + 1 < len(kinds) else None)
                             for place in range(0, len(kinds), 2)]
        self._steps = list(zip([pairs[0], *pairs], pairs, strict=False))
        self._block = across if across % 2 else max(1, across // 2)
        self._join()

    def _join(self) -> None:
        """Let every pair begin after all ends of the pair before it, which may be of other kinds
        and end otherwise."""
        following = dict.fromkeys(itertools.pairwise(self._steps))
        joined = False
        while not joined:
            joined = True
            for before, step in following:
                ends = dict.fromkeys(end for graph in self._graphs_of(*before)
                                     for end in graph.ends)
                for graph in self._graphs_of(*step):
                    if not ends.keys() <= graph.begins.keys():
                        graph.begin_after(ends)
                        joined = False

    def total(self, extra: int) -> int:
        """Time in ps from the start to the last end, if a DRAM request may take ``extra`` more."""
        matrix_of = cache(lambda step: self._matrix(*step, extra))
        steps, block = self._steps, self._block
        found = matrix_of(steps[0])
        place = 1
        while place < len(steps):  # whole lines of work-groups that are alike, then step by step
            part, times = steps[place:place + block], 1
            while steps[place + times * block:place + (times + 1) * block] == part:
                times += 1
            if times == 1:
                part, times = part[:1], 1
            product = functools.reduce(_product, map(matrix_of, part))
            found = _product(found, _power(product, times))
            place += times * len(part)
        graph = self._graphs_of(steps[-1][1], steps[-1][1])[0]
        return max(self._load + extra + cost + graph.last(name, extra)
                   for first in FIRST for name, cost in found[first].items())

    def _matrix(self, before: Pair, pair: Pair, extra: int) -> Matrix:
        found: Matrix = {}
        for graph in self._graphs_of(before, pair):
            graph.extra = extra
            graph.price()
            order = graph.components()
            for name, node in graph.begins.items():
                value, line = graph.longest_from(node, order), found.setdefault(name, {})
                for end, at in graph.ends.items():
                    if value[at] > line.get(end, NEVER):
                        line[end] = value[at]
        return found


def chain(pairs: Chain, clocks: Clocks, part: Part, *, start: str, longest_access: int) -> Chained:
    """The bound of all pairs. ``longest_access`` clocks of the longest DRAM access, with its lead,
    or of the program's load; ``start`` is one of `STARTS`."""
    more = STARTS[start]
    found: list[Chained] = []
    # A second refresh within one wait needs a request that lasts until it falls due.
    single = longest_access + 2 * part.nRFC < part.nREFI and more <= 1
    for share in _SHARES if single else _SHARES[:1]:
        charged = part.nRFC * share // 4
        total = pairs.total((part.nRFC - charged) * part.tck_ps)
        bare = found[0].bare if found else total // clocks.compute
        # One that is under way at the start fell due up to nRFC before.
        lasting = total // part.tck_ps + more * part.nREFI + (part.nRFC if more else 0)
        refreshes = lasting // (part.nREFI - charged)
        found.append(Chained((total + refreshes * charged * part.tck_ps) // clocks.compute, bare,
                             refreshes))
    return min(found, key=lambda chain: chain.cycles)
