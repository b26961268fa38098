"""All pairs of a grid, one after the other: from the start of a kernel to its end.

What a pair makes of the two times with which it begins is a matrix over (max, +): one row for each
way in which the pair before can have ended. Its powers are found by squaring, so that the number of
work-groups hardly matters.

A refresh delays the DRAM request that it comes before by nRFC at most, and another falls due nREFI
later. So there are few of them, and each counts once on the longest path. The path may be charged
for them in two ways, and in any mixture: nRFC for each that can fall due; or at every request a
part of that, which costs nothing where requests do not lie on the path. The least result counts
(docs/simd_wcet.md).
"""

from dataclasses import dataclass

from cyclebound.golden.dram.controller import MOST_OWED
from cyclebound.golden.dram.timing import Part
from cyclebound.tools.simd.wcet.longest import NEVER
from cyclebound.tools.simd.wcet.pairs import DONE, LAUNCHED, PairGraph

__all__ = ["STARTS", "Chained", "chain"]

STARTS = {"reset": 0, "idle": 1, "busy": MOST_OWED + 1}
"""What is known of refreshes when the kernel starts, and how many more than T / nREFI there may be:
the timer starts as well; it is anywhere, and the DRAM idle, or one refresh under way; eight are owed
besides."""

_SHARES = (4, 3, 2, 1, 0)  # quarters of nRFC that are charged for each refresh that falls due

Matrix = list[list[int]]


@dataclass(frozen=True)
class Chained:
    """A bound in cycles; ``bare`` without refreshes, of which there are ``refreshes`` at most."""

    cycles: int
    bare: int
    refreshes: int


def _product(one: Matrix, other: Matrix) -> Matrix:
    columns = list(zip(*other, strict=True))
    return [[max(a + b if a > NEVER and b > NEVER else NEVER
                 for a, b in zip(row, column, strict=True)) for column in columns] for row in one]


def _power(matrix: Matrix, times: int) -> Matrix:
    size = range(len(matrix))
    found = [[0 if row == column else NEVER for column in size] for row in size]
    while times:
        if times & 1:
            found = _product(found, matrix)
        matrix = _product(matrix, matrix)
        times >>= 1
    return found


def _total(graph: PairGraph, count: int, load: int, extra: int) -> int:
    """Time in ps from the start to the last end, if each DRAM request may take ``extra`` more."""
    graph.extra = extra
    graph.price()
    order = graph.components()
    names = list(graph.ends)

    def matrix(then: str) -> Matrix:
        rows = []
        for name in names:
            value = graph.longest_from(graph.begin(name, then), order)
            rows.append([value[graph.ends[end]] for end in names])
        return rows

    found = _power(matrix(LAUNCHED), count // 2)
    if count % 2:
        found = _product(found, matrix(DONE))
    first = [load + row for row in (0, 0)]
    starts = [names.index((None, "k")), names.index((None, "a"))]
    reached = [max(begin + found[start][column] if found[start][column] > NEVER else NEVER
                   for begin, start in zip(first, starts, strict=True))
               for column in range(len(names))]
    return max(value + graph.last(name, extra) for name, value in zip(names, reached, strict=True)
               if value > NEVER)


def chain(graph: PairGraph, part: Part, *, count: int, load: int, start: str,
          longest_access: int) -> Chained:
    """The bound of ``count`` work-groups.

    ``load`` is the time in ps in which the program is read; ``longest_access`` clocks of the
    longest DRAM access, its lead included.
    """
    more, compute = STARTS[start], graph.clocks.compute
    found: list[Chained] = []
    bare = 0
    # A second refresh within one wait needs a request that lasts until it falls due.
    single = longest_access + 2 * part.nRFC < part.nREFI and more <= 1
    for share in _SHARES if single else _SHARES[:1]:
        charged = part.nRFC * share // 4
        extra = (part.nRFC - charged) * part.tck_ps
        total = _total(graph, count, load, extra)
        bare = bare or total
        clocks = total // part.tck_ps
        refreshes = (clocks + more * part.nREFI) // (part.nREFI - charged)
        found.append(Chained((total + refreshes * charged * part.tck_ps) // compute,
                             bare // compute, refreshes))
    return min(found, key=lambda each: each.cycles)
