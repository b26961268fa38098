"""Golden model of the output-stationary systolic array, and how a matrix product is cut into folds.

Ref: thesis on AI accelerators, chapter 5.2: Table 5.1, Eq. 5.2 to 5.6.

Nothing here moves operands through an array. A fold is a matrix product (numpy) and a table of
times: with element streaming ``k`` [Eq. 5.2], delay streaming ``rows - 1`` [Eq. 5.3] and
propagation streaming ``columns - 1`` [Eq. 5.4], PE (i, j) executes the MAC with index s of its fold
in MAC step s + i + j, counted from 0. A *step* is a cycle in which the array is not frozen.

Sums are 32-bit two's complement (``accumulator_width`` bits in general) and wrap around.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fold", "OutputStationaryModel", "Outputs", "assemble", "folds", "occupancy", "tiles",
           "wrap"]


def wrap(values: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Two's complement of ``width`` bits, 1 to 62: what a register of that width would hold."""
    half = np.int64(1 << (width - 1))
    return (values + half) % np.int64(1 << width) - half


def occupancy(rows: int, columns: int, k: int) -> list[int]:
    """Number of active PEs in each of the ``rows + columns + k - 2`` MAC steps of a fold.

    PE (i, j) is active in the steps i + j to i + j + k - 1 [Table 5.1].
    """
    start = np.add.outer(np.arange(rows), np.arange(columns))
    return [int(np.count_nonzero((start <= step) & (step < start + k)))
            for step in range(rows + columns + k - 2)]


def tiles(m: int, n: int, rows: int, columns: int) -> list[tuple[slice, slice]]:
    """Rows and columns of C that each fold computes: ceil(m / rows) ceil(n / columns) folds.

    Row-major: all of the first ``rows`` rows of C first. The last ones may be partial.
    """
    return [(slice(i, min(i + rows, m)), slice(j, min(j + columns, n)))
            for i in range(0, m, rows) for j in range(0, n, columns)]


@dataclass(frozen=True)
class Fold:
    """The operands of one fold, zero-padded to the shape of the array.

    Attributes
    ----------
    left : list[list[int]]
        ``k`` columns of A, ``rows`` elements each, in the order in which they are sent.
    top : list[list[int]]
        ``k`` rows of B, ``columns`` elements each.
    where : tuple[slice, slice]
        The part of C that the fold computes.
    """

    left: list[list[int]]
    top: list[list[int]]
    where: tuple[slice, slice]

    def steps(self) -> Iterable[tuple[list[int], bool, list[int]]]:
        """``(column of A, last, row of B)`` of each step."""
        final = len(self.left) - 1
        pairs = zip(self.left, self.top, strict=True)
        return ((a, s == final, b) for s, (a, b) in enumerate(pairs))


def folds(a: NDArray[np.integer], b: NDArray[np.integer], rows: int, columns: int) -> list[Fold]:
    """The operand streams for C = A B on an array of ``rows`` x ``columns``, fold by fold.

    Raises `ValueError` unless A has as many columns as B has rows, and for an empty matrix.
    """
    (m, k), (depth, n) = a.shape, b.shape
    if k != depth:
        raise ValueError(f"A must have as many columns as B has rows, not {k} and {depth}")
    if min(m, k, n) < 1:
        raise ValueError(f"Matrices must not be empty, not {m} x {k} and {k} x {n}")
    result = []
    for where in tiles(m, n, rows, columns):
        part_a, part_b = a[where[0]].astype(np.int64), b[:, where[1]].astype(np.int64)
        padded_a = np.pad(part_a, ((0, rows - part_a.shape[0]), (0, 0)))
        padded_b = np.pad(part_b, ((0, 0), (0, columns - part_b.shape[1])))
        result.append(Fold(padded_a.T.tolist(), padded_b.tolist(), where))
    return result


def assemble(m: int, n: int, rows: int, columns: int,
             results: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """C of m x n from the rows of all its folds, in the order in which they left the array.

    Raises `ValueError` for another number of ``results`` than ``rows`` for each fold.
    """
    where = tiles(m, n, rows, columns)
    if len(results) != rows * len(where):
        raise ValueError(f"{len(where)} folds must give {rows * len(where)} result rows, "
                         f"not {len(results)}")
    c = np.zeros((m, n), dtype=np.int64)
    for fold, (vertical, horizontal) in enumerate(where):
        part = np.array(results[fold * rows:(fold + 1) * rows], dtype=np.int64)
        c[vertical, horizontal] = part[:vertical.stop - vertical.start,
                                       :horizontal.stop - horizontal.start]
    return c


class Outputs(NamedTuple):
    """The array's outputs in one cycle.

    Attributes
    ----------
    left_ready, top_ready : bool
        The operand on offer is taken.
    result : list[int] or None
        The row of C on offer.
    active : int
        Bit ``i * columns + j``: PE (i, j) executes a MAC.
    """

    left_ready: bool
    top_ready: bool
    result: list[int] | None
    active: int


@dataclass
class _Running:
    """A fold on the time line: the steps in which its operands came, and the operands."""

    start: int
    left: list[list[int]]
    top: list[list[int]]
    closed: bool = False


class OutputStationaryModel:
    """Golden model, one call of `step` per cycle.

    It holds a calendar of folds, dated in steps. The product is taken once, when a fold is over.

    Parameters
    ----------
    rows, columns : int
        Shape of the array.
    accumulator_width : int
        Bits of a sum, at most 62.
    """

    def __init__(self, rows: int, columns: int, accumulator_width: int = 32) -> None:
        self.rows, self.columns, self.accumulator_width = rows, columns, accumulator_width
        self._skew = np.add.outer(np.arange(rows), np.arange(columns)).ravel()
        self._masks = [sum(1 << int(pe) for pe in np.flatnonzero(self._skew == d))
                       for d in range(rows + columns - 1)]
        self._now = 0  # steps so far
        self._running: deque[_Running] = deque()  # oldest first; only the newest may be open
        self._adding: list[list[int]] | None = None  # C of a fold whose last product is not added
        self._due: list[list[int]] | None = None  # C of a fold that is complete
        self._drain: deque[list[int]] = deque()

    def step(self, left: tuple[list[int], bool] | None, top: list[int] | None,
             results_ready: bool) -> Outputs:
        """One cycle: inputs of this cycle (``None`` is not valid) in, its outputs out."""
        result = self._drain[0] if self._drain else None
        # One row may wait outside the drain registers.
        capture = self._due is not None and len(self._drain) <= 1
        frozen_by_sink = self._due is not None and not capture

        newest = self._running[-1] if self._running else None
        is_open = newest is not None and not newest.closed
        # Eq. 5.5 after its start, the next fold may begin.
        may_take = is_open or newest is None or self._now >= newest.start + self._length(newest)
        can = may_take and not frozen_by_sink
        taken = can and left is not None and top is not None
        steps = not frozen_by_sink and (taken or not is_open)

        active = self._active() if steps else 0
        outputs = Outputs(can and top is not None, can and left is not None, result, active)

        if result is not None and results_ready:
            self._drain.popleft()
        if capture and self._due is not None:
            self._drain.extend(self._due)
            self._due = None
        if taken and left is not None and top is not None:
            self._take(left, top, is_open)
        if not frozen_by_sink:  # the last product is added in the cycle after its MAC
            self._due, self._adding = self._adding, None
        if steps:
            self._advance()
        return outputs

    def _length(self, fold: _Running) -> int:
        """Steps from one fold's first operand to the next one's [Eq. 5.5]."""
        return self.rows + self.columns + len(fold.left) - 2

    def _active(self) -> int:
        """PEs with i + j = d execute MAC number ``now - 1 - start - d`` of their fold, if any."""
        active = 0
        for fold in self._running:
            for d, mask in enumerate(self._masks):
                if 0 <= self._now - 1 - fold.start - d < len(fold.left):
                    active |= mask
        return active

    def _take(self, left: tuple[list[int], bool], top: list[int], is_open: bool) -> None:
        if not is_open:
            self._running.append(_Running(self._now, [], []))
        values, last = left
        self._running[-1].left.append(list(values))
        self._running[-1].top.append(list(top))
        self._running[-1].closed = bool(last)

    def _advance(self) -> None:
        """A step is over; with it perhaps the last MAC of the oldest fold."""
        oldest = self._running[0] if self._running else None
        # The first MAC was one step after the start; the last is the last of Eq. 5.5.
        if oldest is not None and oldest.closed and (
                self._now == oldest.start + self._length(oldest)):
            product = (np.array(oldest.left, dtype=np.int64).T
                       @ np.array(oldest.top, dtype=np.int64))
            self._adding = wrap(product, self.accumulator_width).tolist()
            self._running.popleft()
        self._now += 1
