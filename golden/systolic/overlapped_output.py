"""Golden model and bounds of the output-stationary array whose folds overlap.

Ref: thesis on AI accelerators, chapter 5.2, Eq. 5.2 to 5.6; the overlap is this project's.
"""

from collections import deque

import numpy as np

from cyclebound.golden.bound import prediction
from cyclebound.golden.systolic.bounds import Columns, K, M, N, Rows
from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.golden.systolic.output_stationary import Outputs, wrap

__all__ = ["OverlappedOutputModel", "overlapped_completion", "overlapped_macs"]


@prediction(formula="(F - 1) max(k, r) + r + c + k - 2, F = ceil(m / r) ceil(n / c)",
            source="this project; Eq. 5.5 once, and not for each fold")
def overlapped_macs(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """MAC steps of a product of any size, with folds that overlap.

    Unit: MAC steps, one per cycle. Counted: from the cycle of the first MAC in any PE to the cycle
    of the last, both inclusive; operands always on offer, the sink always ready.

    Derivation: a fold's last operands are accepted k - 1 cycles after its first. Those of the next
    one come k cycles later, or r, for the rows of the fold before must have left the chain that
    they drain through, and one leaves in each cycle. So the last fold's come
    (F - 1) max(k, r) later than the first one's, and PE (r - 1, c - 1) executes them
    (r - 1) + (c - 1) steps after PE (0, 0): Eq. 5.5, once.
    """
    folds = map_product(Dataflow.OUTPUT, rows=rows, columns=columns, m=m, k=k, n=n).folds
    return (folds - 1) * max(k, rows) + rows + columns + k - 2


@prediction(formula="(F - 1) max(k, r) + 2 r + c + k + 1, F = ceil(m / r) ceil(n / c)",
            source="this project")
def overlapped_completion(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """Cycles from the first operands to the last row of the result.

    Unit: cycles. Counted: from the cycle in which the first operands are accepted to the cycle in
    which the last row of the last fold is on ``results``, both inclusive; as in `overlapped_macs`.

    Derivation: the first MAC is in the cycle after the first operands were accepted (1), the last
    in cycle S = `overlapped_macs`. Its product is in a register in S + 1, its sum in S + 2, and
    copied in S + 3, where it is on ``results`` with the rest of row 0 of C. The last of r rows
    follows r - 1 cycles later. Inclusive of cycle 0 these are S + 3 + r.
    """
    return overlapped_macs(rows=rows, columns=columns, m=m, k=k, n=n) + rows + 3


class OverlappedOutputModel:
    """Golden model, one call of `step` per cycle.

    A calendar: operands of a fold are kept until its last ones come; then its product is taken,
    and its rows are dated.

    Parameters
    ----------
    rows, columns : int
        Shape of the array.
    accumulator_width : int
        Bits of a sum, at most 62.
    """

    def __init__(self, rows: int, columns: int, accumulator_width: int = 32) -> None:
        self.rows, self.columns, self.accumulator_width = rows, columns, accumulator_width
        skew = np.add.outer(np.arange(rows), np.arange(columns)).ravel()
        self._masks = [sum(1 << int(pe) for pe in np.flatnonzero(skew == d))
                       for d in range(rows + columns - 1)]
        self._now = 0  # steps so far
        self._ended = -rows  # when the last operands of a fold were accepted
        self._left: list[list[int]] = []
        self._top: list[list[int]] = []
        self._accepted: deque[int] = deque()
        self._rows: deque[tuple[int, list[int]]] = deque()
        self._refused: list[int] | None = None  # the row that waits

    def step(self, left: tuple[list[int], bool] | None, top: list[int] | None,
             results_ready: bool) -> Outputs:
        """One cycle: inputs of this cycle (``None`` is not valid) in, its outputs out."""
        if self._refused is not None:
            frozen = Outputs(False, False, self._refused, 0)
            if results_ready:
                self._refused = None
            return frozen
        shown = self._rows and self._rows[0][0] <= self._now
        result = self._rows[0][1] if shown else None
        last = left is not None and left[1]
        may = not last or self._now >= self._ended + self.rows
        ages = (self._now - 1 - step for step in self._accepted)
        active = sum(self._masks[age] for age in ages if age < len(self._masks))
        outputs = Outputs(may and top is not None, may and left is not None, result, active)

        if result is not None:
            self._rows.popleft()
            self._refused = None if results_ready else result
        if may and left is not None and top is not None:
            self._left.append(list(left[0]))
            self._top.append(list(top))
            self._accepted.append(self._now)
            if last:
                self._close()
        while self._accepted and self._now - self._accepted[0] > self.rows + self.columns:
            self._accepted.popleft()
        self._now += 1
        return outputs

    def _close(self) -> None:
        product = np.array(self._left, dtype=np.int64).T @ np.array(self._top, dtype=np.int64)
        first = self._now + self.rows + self.columns + 2
        self._rows.extend((first + i, row) for i, row in
                          enumerate(wrap(product, self.accumulator_width).tolist()))
        self._left, self._top, self._ended = [], [], self._now
