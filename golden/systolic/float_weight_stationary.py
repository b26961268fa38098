"""Golden model and bounds of the weight-stationary array in floating point.

Ref: thesis on AI accelerators, chapter 5.2: Table 5.2, and the mapping in mapping.py; IEEE 754
for the arithmetic, in golden/floating.py.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import prediction
from cyclebound.golden.floating import fused
from cyclebound.golden.systolic.bounds import Columns, K, M, N, Rows
from cyclebound.golden.systolic.float_layout import STAGES, rows_under_way
from cyclebound.golden.systolic.mapping import Dataflow, map_product

__all__ = ["FloatWeightStationaryModel", "float_completion", "float_steps", "row_of_sums",
           "to_bfloat16"]


def to_bfloat16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Bits of the nearest bfloat16, ties to even; of numbers."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)).astype(
        np.uint16)


def row_of_sums(row: Sequence[int], weights: Sequence[Sequence[int]]) -> list[int]:
    """A row of bfloat16 times a tile of them, as bits: rounded after each PE, from row 0 down."""
    sums = [0] * len(weights[0])
    for value, line in zip(row, weights, strict=True):
        sums = [fused(value << 16, weight << 16, total)
                for weight, total in zip(line, sums, strict=True)]
    return sums


def _apart(rows: int, columns: int, time: int) -> int:
    return max(time, STAGES * (rows - 1) + columns + rows)


@prediction(formula="(F - 1) max(m, L (r - 1) + c + r) + L r + r + c + m - L, L = 9, "
                    "F = ceil(k / r) ceil(n / c)", source="this project")
def float_steps(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """Cycles from the first row of weights to the cycle in which the last MAC begins.

    Unit: cycles. Counted: from the cycle in which the first row of weights is accepted to the one
    in which the last MAC begins, both inclusive; operands always on offer, the sink always
    ready, the array idle before.

    Derivation: r rows of weights, and in the cycle after them the first row of A. The last PE has
    its weight L (r - 1) + c cycles later; from then on the next fold's r rows of weights come, and
    then its first row of A: folds are L (r - 1) + c + r apart, or m, if that is more. The last row
    of A comes m - 1 cycles after the first, and the last PE begins 1 + L (r - 1) + c - 1 cycles
    after that.
    """
    mapped = map_product(Dataflow.WEIGHT, rows=rows, columns=columns, m=m, k=k, n=n)
    return ((mapped.folds - 1) * _apart(rows, columns, m) + rows + m
            + STAGES * (rows - 1) + columns)


@prediction(formula="(F - 1) max(m, L (r - 1) + c + r) + L r + r + c + m + 1, L = 9, "
                    "F = ceil(k / r) ceil(n / c)", source="this project")
def float_completion(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """Cycles from the first row of weights to the last row of sums.

    Unit: cycles. Counted: from the cycle in which the first row of weights is accepted to the cycle
    in which the last row of sums is on ``results``, both inclusive; as in `float_steps`.

    Derivation: the last MAC's result is there L cycles after it began, with those of all
    columns; it passes the FIFO in one more.
    """
    return float_steps(rows=rows, columns=columns, m=m, k=k, n=n) + STAGES + 1


class FloatWeightStationaryModel:
    """Golden model, one call of `step` per cycle: a calendar of rows of sums."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self._room = rows_under_way(rows, columns)
        self._masks = [(STAGES * i + j, 1 << i * columns + j)
                       for i in range(rows) for j in range(columns)]
        self._now = 0
        self._next: list[list[int]] = []  # weights of the fold to come
        self._tile: list[list[int]] | None = None  # of the fold whose rows are accepted
        self._free = 0  # when weights may come again
        self._accepted: deque[int] = deque()
        self._sums: deque[tuple[int, list[int]]] = deque()

    def step(self, weights: list[int] | None, left: tuple[list[int], bool] | None,
             results_ready: bool) -> tuple[bool, bool, list[int] | None, int]:
        """One cycle: whether weights and a row would be taken, the sums on offer, and which PEs
        begin a MAC."""
        shown = self._sums and self._sums[0][0] <= self._now
        result = self._sums[0][1] if shown else None
        whole = len(self._next) == self.rows
        weights_ready = not whole and self._now >= self._free
        left_ready = (whole or self._tile is not None) and len(self._sums) < self._room
        active = sum(mask for place, mask in self._masks
                     if self._now - 1 - place in self._accepted)

        if left_ready and left is not None:
            if self._tile is None:
                self._tile, self._next = self._next, []
                self._free = self._now + STAGES * (self.rows - 1) + self.columns
            self._sums.append((self._now + STAGES * self.rows + self.columns + 1,
                               row_of_sums(left[0], self._tile)))
            self._accepted.append(self._now)
            if left[1]:
                self._tile = None
        if weights_ready and weights is not None:
            self._next.append(list(weights))
        if result is not None and results_ready:
            self._sums.popleft()
        while self._accepted and self._now - self._accepted[0] > STAGES * self.rows + self.columns:
            self._accepted.popleft()
        self._now += 1
        return weights_ready, left_ready, result, active
