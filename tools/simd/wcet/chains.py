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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from cyclebound.golden.dram.controller import MOST_OWED
from cyclebound.golden.dram.timing import Part
from cyclebound.tools.simd.wcet.longest import NEVER
from cyclebound.tools.simd.wcet.pairs import FIRST, Clocks, End, PairGraph
from cyclebound.tools.simd.wcet.places import Kind

__all__ = ["STARTS", "Block", "Chain", "Chained", "Pair", "Run", "chain", "pairs_of"]

STARTS = {"reset": 0, "idle": 1, "busy": MOST_OWED + 1}
"""The state of refreshes when the kernel starts, and how many more than T / nREFI there may
be: the timer starts as well; it is anywhere, no transfer is under way, and no refresh is owed, so
that one which is under way began when it fell due; eight are owed besides, as after a transfer."""

_SHARES = (4, 3, 2, 1, 0)  # quarters of nRFC that are charged for each refresh that falls due

Matrix = dict[End, dict[End, int]]
"""Longest times by the ends of the pair before and of the last pair; impossible ends are absent."""

Pair = tuple[Kind, Kind | None]
"""The kinds of a pair's work-groups."""


Run = tuple[Kind, int]
"""A kind of work-groups, and how many of them come in a row."""


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


def _paired(runs: Iterable[Run]) -> list[tuple[Pair, int]]:
    """Runs of work-groups as runs of pairs; the last one may be without a second."""
    found: list[tuple[Pair, int]] = []
    first: list[Kind] = []
    for kind, times in runs:
        if first and times:
            found.append(((first.pop(), kind), 1))
            times -= 1
        if times // 2:
            found.append(((kind, kind), times // 2))
        first += [kind] * (times % 2)
    return found + [((kind, None), 1) for kind in first]


Block = tuple[list[tuple[Pair, int]], int]
"""Runs of pairs, and how often all of them come in a row."""


def pairs_of(lines: Sequence[tuple[Sequence[Run], int]]) -> list[Block]:
    """The pairs of a grid, whose ``lines`` are runs of work-groups, each with how many lines in a
    row are so. Of lines with an odd number of work-groups, two make a block."""
    blocks: list[Block] = []
    before: list[Run] = []  # a line whose last work-group shares its pair with the next line's
    for line, times in lines:
        if sum(count for _, count in line) % 2 == 0 and not before:
            blocks.append((_paired(line), times))
            continue
        if before:
            blocks.append((_paired([*before, *line]), 1))
            before, times = [], times - 1
        if times // 2:
            blocks.append((_paired([*line, *line]), times // 2))
        if times % 2:
            before = list(line)
    return blocks + ([(_paired(before), 1)] if before else [])


class Chain:
    """The pairs of a grid.

    Parameters
    ----------
    blocks : sequence
        The pairs, from `pairs_of`: work-groups of one kind have the same costs.
    graphs_of : callable
        The `PairGraph`s of a pair of two kinds (None: there is no second) after a pair of two
        kinds; each way to take turns is in one of them.
    load : int
        Time in ps until the program is read.
    """

    def __init__(self, blocks: Sequence[Block],
                 graphs_of: Callable[[Pair, Pair], Sequence[PairGraph]], load: int) -> None:
        self._graphs_of, self._load, self._blocks = cache(graphs_of), load, blocks
        self._join()

    def _few(self) -> Iterator[Pair]:
        """The pairs, of those that come again and again only as many as there are steps from pair
        to pair, and from step to step, which differ."""
        for runs, times in self._blocks:
            for _ in range(min(times, 3)):
                for pair, count in runs:
                    yield from itertools.repeat(pair, min(count, 3))

    def _join(self) -> None:
        """Let every pair begin after all ends of the pair before it, which may be of other kinds
        and end otherwise."""
        pairs = list(self._few())
        steps = itertools.pairwise([pairs[0], *pairs])
        following = dict.fromkeys(itertools.pairwise(steps))
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
        matrix_of = cache(lambda before, pair: self._matrix(before, pair, extra))
        found: Matrix | None = None
        before = self._blocks[0][0][0][0]

        def times(runs: Sequence[tuple[Pair, int]], before: Pair) -> Matrix:
            """All pairs of a block."""
            steps = []
            for pair, count in runs:
                steps.append(matrix_of(before, pair))
                if count > 1:
                    steps.append(_power(matrix_of(pair, pair), count - 1))
                before = pair
            return functools.reduce(_product, steps)

        for runs, count in self._blocks:
            last = runs[-1][0]
            block = times(runs, before)
            found = block if found is None else _product(found, block)
            if count > 1:  # the others begin after a block of their own
                found = _product(found, _power(times(runs, last), count - 1))
            before = last
        assert found is not None
        graph = self._graphs_of(before, before)[0]
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


def chain(pairs: Chain, clocks: Clocks, part: Part, *, start: str, longest_access: int,
          late: int = 0) -> Chained:
    """The bound of all pairs. ``longest_access`` clocks of the longest DRAM access, with its lead,
    or of the program's load; ``start`` is one of `STARTS`. ``late`` clocks before the start, a
    refresh may have fallen due that waits for another client."""
    more = STARTS[start]
    found: list[Chained] = []
    # A second refresh within one wait needs a request that lasts until it falls due.
    single = longest_access + 2 * part.nRFC < part.nREFI and more <= 1
    for share in _SHARES if single else _SHARES[:1]:
        charged = part.nRFC * share // 4
        total = pairs.total((part.nRFC - charged) * part.tck_ps)
        bare = found[0].bare if found else total // clocks.compute
        # One that is under way at the start fell due up to nRFC before.
        lasting = (total // part.tck_ps + more * part.nREFI
                   + (part.nRFC + late if more else 0))
        refreshes = lasting // (part.nREFI - charged)
        found.append(Chained((total + refreshes * charged * part.tck_ps) // clocks.compute, bare,
                             refreshes))
    return min(found, key=lambda chain: chain.cycles)
