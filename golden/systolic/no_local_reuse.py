"""Golden model and bound of the array without local reuse.

Ref: thesis on AI accelerators, chapter 4.2.1, which gives no formula; the bound is this
project's.
"""

from collections import deque

import numpy as np

from cyclebound.golden.bound import prediction
from cyclebound.golden.systolic.bounds import Columns, K, M, N, Rows
from cyclebound.golden.systolic.mapping import ceil_div
from cyclebound.golden.systolic.output_stationary import wrap

__all__ = ["NoLocalReuseModel", "reuse_free_cycles", "reuse_free_words"]


@prediction(formula="m ceil(k / r) ceil(n / c) + ceil(log2(r)) + 2", source="this project")
def reuse_free_cycles(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """Cycles of a product, from the first operands to the last sums.

    Unit: cycles. Counted: from the cycle in which the first operands are accepted to the cycle in
    which the last sums are on ``results``, both inclusive; operands always on offer, the sink
    always ready.

    Derivation: each of the m rows of A meets each of the ceil(k / r) ceil(n / c) tiles of B, in a
    cycle of its own. After the last of them come the products (1), a level of the tree for each
    halving of r rows, and the sum that came along (1).

    Sums over k come back as operands, so that there must be ceil(log2(r)) + 2 rows between those
    that add up.
    """
    return m * ceil_div(k, rows) * ceil_div(n, columns) + (rows - 1).bit_length() + 2


def reuse_free_words(*, rows: int, columns: int, m: int, k: int, n: int) -> int:
    """Words into the array and out of it, padding included: all operands of each cycle."""
    steps = m * ceil_div(k, rows) * ceil_div(n, columns)
    return steps * (rows * columns + rows + 2 * columns)


class NoLocalReuseModel:
    """Golden model, one call of `step` per cycle."""

    def __init__(self, rows: int, accumulator_width: int = 32) -> None:
        self._latency = (rows - 1).bit_length() + 2
        self._width = accumulator_width
        self._now = 0  # cycles in which nothing stood still
        self._sums: deque[tuple[int, list[int]]] = deque()

    def step(self, operands: tuple | None, ready: bool) -> tuple[bool, list[int] | None]:
        """One cycle: ``(left, weights, sums)``; whether they are taken, and the sums on offer."""
        shown = self._sums[0][1] if self._sums and self._sums[0][0] == self._now else None
        if shown is not None and not ready:
            return False, shown
        if shown is not None:
            self._sums.popleft()
        if operands is not None:
            left, weights, sums = (np.array(operand, dtype=np.int64) for operand in operands)
            total = wrap(left @ weights + sums, self._width).tolist()
            self._sums.append((self._now + self._latency, total))
        self._now += 1
        return True, shown
