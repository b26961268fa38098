"""Golden model and bounds of the output-stationary array in floating point.

Ref: thesis on AI accelerators, chapter 5.2: Table 5.1, Eq. 5.2 to 5.6; IEEE 754 for the
arithmetic, in golden/floating.py.
"""

from collections import deque
from collections.abc import Sequence

from cyclebound.golden.bound import prediction
from cyclebound.golden.floating import fused
from cyclebound.golden.systolic.bounds import Columns, K, M, N, Rows
from cyclebound.golden.systolic.float_layout import STAGES
from cyclebound.golden.systolic.mapping import Dataflow, ceil_div, map_product

__all__ = ["FloatOutputStationaryModel", "float_fold", "turns_completion", "turns_macs"]

Bits = Sequence[Sequence[int]]


def float_fold(left: Bits, top: Bits) -> list[list[int]]:
    """The sums of a fold as bits, from columns of A and rows of B: rounded after each MAC."""
    sums = [[0] * len(top[0]) for _ in left[0]]
    for column, row in zip(left, top, strict=True):
        sums = [[fused(a << 16, b << 16, total) for b, total in zip(row, line, strict=True)]
                for a, line in zip(column, sums, strict=True)]
    return sums


def _apart(rows: int, columns: int, k: int) -> int:
    """Turns from one set of folds to the next."""
    return max(k, 2 + rows + ceil_div(rows + columns - 1, STAGES))


def _sets(rows: int, columns: int, m: int, k: int, n: int) -> int:
    mapped = map_product(Dataflow.OUTPUT, rows=rows, columns=columns, m=m, k=k, n=n)
    return ceil_div(mapped.folds, STAGES)


@prediction(formula="(G - 1) L max(k, 2 + r + ceil((r + c - 1) / L)) + L k + r + c - 2, L = 9, "
                    "G = ceil(F / L), F = ceil(m / r) ceil(n / c)", source="this project")
def turns_macs(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """Cycles from the first MAC to the one in which the last begins.

    Unit: cycles. Counted: from the cycle in which the first MAC of the first fold begins to the one
    in which the last MAC of the last one does, both inclusive; L folds take turns, the last set
    filled up with folds of zeros; operands always on offer, the sink always ready.

    Derivation: a set takes k turns of L folds, a cycle each. The last PE is r + c - 2 cycles later
    the first. A set's first sums of all folds may not come before those of the set before have
    left: from the cycle in which fold 0's last operands are accepted, the other folds' follow in
    L - 1 cycles; L + r + c cycles later the first row of sums leaves, and r L of them do, one in
    each cycle. The next set's are accepted in the cycle after, or in fold 0's next turn: after
    2 L + r + c + r L - 1 cycles, rounded up to turns.
    """
    sets = _sets(rows, columns, m, k, n)
    return (sets - 1) * STAGES * _apart(rows, columns, k) + STAGES * k + rows + columns - 2


@prediction(formula="(G - 1) L max(k, 2 + r + ceil((r + c - 1) / L)) + L (k + r + 1) + r + c - 1, "
                    "L = 9, G = ceil(F / L), F = ceil(m / r) ceil(n / c)", source="this project")
def turns_completion(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """Cycles from the first operands to the last row of sums.

    Unit: cycles. Counted: from the cycle in which the first operands are accepted to the cycle in
    which the last row of the last fold is on ``results``, both inclusive; as in `turns_macs`.

    Derivation: the last operands of a set are accepted L k - 1 cycles after its first; the first
    row of sums is there L + r + c cycles later, and the last of r L rows r L - 1 cycles after
    that.
    """
    sets = _sets(rows, columns, m, k, n)
    return ((sets - 1) * STAGES * _apart(rows, columns, k)
            + STAGES * (k + rows + 1) + rows + columns - 1)


class FloatOutputStationaryModel:
    """Golden model, one call of `step` per cycle from reset on: whose turn it is, is counted."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self._masks = [(i + j, 1 << i * columns + j) for i in range(rows) for j in range(columns)]
        self._now = self._wanted = 0
        self._left: list[list[list[int]]] = [[] for _ in range(STAGES)]
        self._top: list[list[list[int]]] = [[] for _ in range(STAGES)]
        self._sums: list[list[list[int]]] = []  # of the folds of a set that are complete
        self._draining = False
        self._accepted: deque[int] = deque()
        self._rows: deque[tuple[int, list[int]]] = deque()

    def step(self, left: tuple[list[int], bool] | None, top: list[int] | None,
             results_ready: bool) -> tuple[bool, bool, list[int] | None, int]:
        """One cycle: whether either operand would be taken, the row on offer, and which PEs begin
        a MAC."""
        turn = self._now % STAGES
        result = self._rows[0][1] if self._rows and self._rows[0][0] <= self._now else None
        last = left is not None and left[1]
        may = turn == self._wanted and not (last and self._draining and turn == 0)
        active = sum(mask for place, mask in self._masks
                     if self._now - 1 - place in self._accepted)
        if may and left is not None and top is not None:
            self._take(turn, left[0], top, last)
        if result is not None and results_ready:
            self._rows.popleft()
            self._draining = bool(self._rows)
        while self._accepted and self._now - self._accepted[0] > self.rows + self.columns:
            self._accepted.popleft()
        self._now += 1
        return may and top is not None, may and left is not None, result, active

    def _take(self, turn: int, column: list[int], row: list[int], last: bool) -> None:
        self._wanted = (turn + 1) % STAGES
        self._accepted.append(self._now)
        self._left[turn].append(list(column))
        self._top[turn].append(list(row))
        if not last:
            return
        self._draining = True
        self._sums.append(float_fold(self._left[turn], self._top[turn]))
        self._left[turn], self._top[turn] = [], []
        if turn == STAGES - 1:
            first = self._now + STAGES + self.rows + self.columns
            lines = [fold[i] for i in range(self.rows) for fold in self._sums]
            self._rows.extend((first + number, line) for number, line in enumerate(lines))
            self._sums = []
