"""Golden model and bounds of the row-stationary array.

Ref: thesis on AI accelerators, chapter 4.2.1 ("weights are still stored in the PE, but the
partial sum is calculated through the rows"), which gives no formula; the bounds are this
project's.
"""

from collections import deque
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import NotCovered, Range, prediction
from cyclebound.golden.systolic.bounds import Rows
from cyclebound.golden.systolic.output_stationary import wrap

__all__ = ["RowStationaryModel", "convolve", "row_completion", "row_macs"]

Taps = Annotated[int, Range(1, says="rows and columns of the filter")]
Width = Annotated[int, Range(1, says="columns of the image, at least those of the filter")]
Passes = Annotated[int, Range(1, says="filters, each with an image")]


def convolve(image: NDArray[np.integer], weights: NDArray[np.integer]) -> NDArray[np.int64]:
    """The convolution of an image with a filter, where the filter lies within it."""
    high, wide = weights.shape
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.int64), (high, wide))
    return np.tensordot(windows, weights.astype(np.int64), axes=2)


def _check(taps: int, width: int) -> None:
    if width < taps:
        raise NotCovered(f"width must be at least {taps}, that of the filter, not {width}")


@prediction(formula="passes (width - taps + 3) taps - 2 taps + r - 1", source="this project")
def row_macs(*, rows: Rows, taps: Taps, width: Width, passes: Passes = 1) -> int:
    """Cycles from the first MAC of some passes to the last.

    Unit: cycles. Counted: from the cycle of the first MAC in any PE to the cycle of the last, both
    inclusive; operands always on offer, the sink always ready. Raises `NotCovered` for an image
    with fewer columns than the filter.

    Derivation: as of `row_completion`, a pass begins (width - taps + 3) taps cycles after the one
    before; its first MAC is 2 taps cycles after its first weights, after as many weights and as
    many columns of the image. From there each column that completes a window keeps the last row of
    PEs busy for ``taps`` cycles, (width - taps + 1) taps in all. The first row is r - 1
    cycles later.
    """
    _check(taps, width)
    return passes * (width - taps + 3) * taps - 2 * taps + rows - 1


@prediction(formula="passes (width - taps + 3) taps + r + 1", source="this project")
def row_completion(*, rows: Rows, taps: Taps, width: Width, passes: Passes = 1) -> int:
    """Cycles of some passes, each with a filter of its own and an image of ``width`` columns.

    Unit: cycles. Counted: from the cycle in which the first weights are accepted to the cycle in
    which the last column of the result is on ``results``, both inclusive; operands always on
    offer, the sink always ready, the array idle before. Raises `NotCovered` as `row_macs` does.

    Derivation: weights take ``taps`` cycles, and so do the first ``taps`` columns of the image,
    the last of which completes the first window. In the ``taps`` cycles after that, the last row
    of PEs multiplies; in the last of these the next column is accepted, so that windows follow each
    other after ``taps`` cycles: (width - taps + 1) taps for all. The next pass' weights follow
    in the cycle after. Together, taps (1 + 1 + width - taps + 1). The first row is r - 1 cycles
    after the last one, and after its last MAC come a product (1) and the sum (1).
    """
    _check(taps, width)
    return passes * (width - taps + 3) * taps + rows + 1


class RowStationaryModel:
    """Golden model, one call of `step` per cycle: a calendar of results.

    Parameters
    ----------
    rows, columns, taps : int
        Of the array.
    accumulator_width : int
        Bits of a sum, at most 62.
    """

    def __init__(self, rows: int, columns: int, taps: int, accumulator_width: int = 32) -> None:
        self.rows, self.columns, self.taps = rows, columns, taps
        self.accumulator_width = accumulator_width
        self._now = 0  # steps so far
        self._weights: list[list[int]] = []
        self._image: list[list[int]] = []
        self._next_weights = self._next_column = 0  # not before these steps
        self._windows: deque[int] = deque()  # when the last row of PEs begins with each
        self._results: deque[tuple[int, list[int]]] = deque()

    def step(self, weights: list[int] | None, left: tuple[list[int], bool] | None,
             results_ready: bool) -> tuple[bool, bool, list[int] | None, int]:
        """One cycle: whether weights and a column would be taken, the result on offer, and
        which PEs execute."""
        shown = self._results and self._results[0][0] <= self._now
        result = self._results[0][1] if shown else None
        if result is not None and not results_ready:
            return False, False, result, 0
        whole = len(self._weights) == self.taps
        weights_ready = not whole and self._now >= self._next_weights
        left_ready = whole and self._now >= self._next_column
        while self._windows and self._now - self._windows[0] >= self.taps + self.rows:
            self._windows.popleft()
        row = (1 << self.columns) - 1
        active = sum(row << i * self.columns for i in range(self.rows) for start in self._windows
                     if 0 <= self._now - start - (self.rows - 1 - i) < self.taps)

        if result is not None:
            self._results.popleft()
        if weights_ready and weights is not None:
            self._weights.append(list(weights))
        if left_ready and left is not None:
            self._take(*left)
        self._now += 1
        return weights_ready, left_ready, result, active

    def _take(self, column: list[int], last: bool) -> None:
        self._image.append(list(column))
        busy = 0
        if len(self._image) >= self.taps:
            window = np.array(self._image[-self.taps:]).T
            sums = convolve(window, np.array(self._weights).T)[:, 0]
            self._results.append((self._now + self.rows + self.taps + 1,
                                  wrap(sums, self.accumulator_width).tolist()))
            self._windows.append(self._now + 1)
            busy = self.taps
        self._next_column = self._now + max(busy, 1)
        if last:
            self._weights, self._image = [], []
            self._next_weights = self._now + busy + 1
