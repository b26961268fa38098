"""Golden model of the weight-stationary systolic array, and how a product is cut for it.

Ref: thesis on AI accelerators, chapter 5.2: Table 5.2, and the mapping in mapping.py.

Nothing here moves operands through an array. A row of A times a tile of B is a vector product
(numpy), and a date: PE (i, j) executes its MAC with a row 1 + i + j steps after the row was
accepted, and two registers after the last PE, after r + c + 1 steps, its sums are there. A *step*
is a cycle in which the array is not frozen.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.output_stationary import wrap

__all__ = ["Outputs", "Tile", "WeightStationaryModel", "assemble", "tiles_of"]


@dataclass(frozen=True)
class Tile:
    """The operands of one fold, zero-padded to the shape of the array.

    Attributes
    ----------
    weights : list[list[int]]
        As many rows of B as the array has, with as many elements as it has columns.
    left : list[list[int]]
        All rows of A, with as many elements as the array has rows.
    where : slice
        The columns of C that the fold adds to.
    """

    weights: list[list[int]]
    left: list[list[int]]
    where: slice

    def steps(self) -> Iterable[tuple[list[int], bool]]:
        """``(row of A, last)`` of each step."""
        final = len(self.left) - 1
        return ((row, number == final) for number, row in enumerate(self.left))


def tiles_of(a: NDArray[np.integer], b: NDArray[np.integer], rows: int,
             columns: int) -> list[Tile]:
    """The folds for C = A B on an array of ``rows`` x ``columns``.

    The columns of C are the outer loop, so that the sums of a fold add to those of the one before.
    Raises `ValueError` unless A has as many columns as B has rows, and for an empty matrix.
    """
    (m, k), (depth, n) = a.shape, b.shape
    if k != depth:
        raise ValueError(f"A must have as many columns as B has rows, not {k} and {depth}")
    if min(m, k, n) < 1:
        raise ValueError(f"Matrices must not be empty, not {m} x {k} and {k} x {n}")
    down, across = -(-k // rows) * rows, -(-n // columns) * columns
    wide = np.pad(a.astype(np.int64), ((0, 0), (0, down - k)))
    whole = np.pad(b.astype(np.int64), ((0, down - k), (0, across - n)))
    return [Tile(whole[i:i + rows, j:j + columns].tolist(), wide[:, i:i + rows].tolist(),
                 slice(j, min(j + columns, n)))
            for j in range(0, n, columns) for i in range(0, k, rows)]


def assemble(tiles: Sequence[Tile], results: Sequence[Sequence[int]],
             accumulator_width: int = 32) -> NDArray[np.int64]:
    """C from the rows of sums of all folds, in the order in which they left the array.

    Raises `ValueError` for another number of ``results`` than rows of A for each fold.
    """
    m = len(tiles[0].left)
    if len(results) != m * len(tiles):
        raise ValueError(f"{len(tiles)} folds must give {m * len(tiles)} rows of sums, "
                         f"not {len(results)}")
    c = np.zeros((m, tiles[-1].where.stop), dtype=np.int64)
    for number, tile in enumerate(tiles):
        part = np.array(results[number * m:(number + 1) * m], dtype=np.int64)
        c[:, tile.where] += part[:, :tile.where.stop - tile.where.start]
    return wrap(c, accumulator_width)


class Outputs(NamedTuple):
    """The array's outputs in one cycle.

    Attributes
    ----------
    weights_ready, left_ready : bool
        The operands on offer are taken; what they would be if there were any.
    result : list[int] or None
        The row of sums on offer.
    active : int
        Bit ``i * columns + j``: PE (i, j) executes a MAC.
    """

    weights_ready: bool
    left_ready: bool
    result: list[int] | None
    active: int


class WeightStationaryModel:
    """Golden model, one call of `step` per cycle.

    Parameters
    ----------
    rows, columns : int
        Shape of the array.
    accumulator_width : int
        Bits of a sum, at most 62.
    double_buffer : bool
        Weights of the next fold may be accepted from the first operands of this one on; else
        when its last MAC is over.
    """

    def __init__(self, rows: int, columns: int, accumulator_width: int = 32, *,
                 double_buffer: bool = True) -> None:
        self.rows, self.columns, self.accumulator_width = rows, columns, accumulator_width
        self.double_buffer = double_buffer
        skew = np.add.outer(np.arange(rows), np.arange(columns)).ravel()
        self._masks = [sum(1 << int(pe) for pe in np.flatnonzero(skew == d))
                       for d in range(rows + columns - 1)]
        self._now = 0  # steps so far
        self._next: list[list[int]] = []  # weights of the fold to come
        self._tile: NDArray[np.int64] | None = None  # of the fold whose operands are accepted
        self._accepted: deque[int] = deque()  # steps of the rows whose MACs are not all over
        self._sums: deque[tuple[int, list[int]]] = deque()  # when to be shown, and what

    def step(self, weights: list[int] | None, left: tuple[list[int], bool] | None,
             results_ready: bool) -> Outputs:
        """One cycle: inputs of this cycle (``None`` is not valid) in, its outputs out."""
        shown = self._sums and self._sums[0][0] <= self._now
        result = self._sums[0][1] if shown else None
        if result is not None and not results_ready:
            return Outputs(False, False, result, 0)

        complete = len(self._next) == self.rows
        between = self._tile is None
        # The last MAC of a row is 1 + (r - 1) + (c - 1) steps after its acceptance.
        while self._accepted and self._accepted[0] + self.rows + self.columns - 1 < self._now:
            self._accepted.popleft()
        if self.double_buffer:
            left_ready = complete or not between
            weights_ready = not complete or (between and left is not None)
        else:
            weights_ready = not complete and between and not self._accepted
            left_ready = (complete or not between
                          or (weights_ready and weights is not None
                              and len(self._next) == self.rows - 1))
        outputs = Outputs(weights_ready, left_ready, result, self._active())

        begins = between and left_ready and left is not None
        if begins and complete:  # before the next fold's weights come
            self._begin()
        if weights_ready and weights is not None:
            self._next.append(list(weights))
        if begins and not complete:
            self._begin()
        if left is not None and left_ready:
            values, last = left
            assert self._tile is not None  # else the array was not ready
            row = np.array(values, dtype=np.int64) @ self._tile
            self._sums.append((self._now + self.rows + self.columns + 1,
                               wrap(row, self.accumulator_width).tolist()))
            self._accepted.append(self._now)
            if last:
                self._tile = None
        if result is not None:
            self._sums.popleft()
        self._now += 1
        return outputs

    def _begin(self) -> None:
        self._tile, self._next = np.array(self._next, dtype=np.int64), []

    def _active(self) -> int:
        """PEs with i + j = d execute a row 1 + d steps after it was accepted."""
        ages = (self._now - 1 - step for step in self._accepted)
        return sum(self._masks[age] for age in ages if 0 <= age < len(self._masks))
