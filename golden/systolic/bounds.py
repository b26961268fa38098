"""Predictions of the systolic family: the exact number of cycles of a product.

The first MAC is always that of PE (0, 0), and the last that of PE (r - 1, c - 1).

Ref: thesis on AI accelerators, chapter 5.2.2. For operands that stay: stationary_bounds.py.
"""

from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, prediction

__all__ = ["Columns", "K", "M", "N", "Rows", "completion", "eq5_5", "eq5_6"]

Rows = Annotated[int, Range(1, says="rows of the array")]
Columns = Annotated[int, Range(1, says="columns of the array")]
M = Annotated[int, Range(1, says="rows of A and of C")]
K = Annotated[int, Range(1, says="columns of A, rows of B")]
N = Annotated[int, Range(1, says="columns of B and of C")]


@prediction(formula="r + c + k - 2, where m <= r and n <= c",
            source="thesis on AI accelerators, Eq. 5.5")
def eq5_5(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """MAC steps of one matrix product that fits the array, output stationary.

    Unit: MAC steps; the array performs one per cycle. Counted: from the cycle of the first MAC in
    any PE to the cycle of the last, both inclusive. Loading the first operand and draining the
    results are not in it.

    Eq. 5.5 is the sum of element streaming k [Eq. 5.2], delay streaming r - 1 [Eq. 5.3] and
    propagation streaming c - 1 [Eq. 5.4]. A product smaller than the array takes as long. Raises
    `NotCovered` for one that does not fit the array.
    """
    if m > rows or n > columns:
        raise NotCovered(f"a product of {m} x {n} must fit an array of {rows} x {columns}")
    return rows + columns + k - 2


@prediction(formula="(r + c + k - 2) ceil(m / r) ceil(n / c)",
            source="thesis on AI accelerators, Eq. 5.6")
def eq5_6(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """MAC steps of a matrix product of any size, output stationary.

    Unit: MAC steps; the array performs one per cycle. Counted: from the cycle of the first MAC of
    the first fold to the cycle of the last MAC of the last one, both inclusive, with folds one
    after the other and operands always on offer.

    Eq. 5.5 once for each of the ceil(m / r) ceil(n / c) folds, partial ones included.
    """
    return (rows + columns + k - 2) * -(-m // rows) * -(-n // columns)


@prediction(formula="(r + c + k - 2) ceil(m / r) ceil(n / c) + r + 3", source="this project")
def completion(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """Cycles from the first operand to the last row of the result, output stationary.

    Unit: cycles. Counted: from the cycle in which the first operands are accepted to the cycle in
    which the last row of the last fold is on ``results``, both inclusive; operands always on
    offer, and a sink that is always ready.

    Derivation: let the first operands be accepted in cycle 0. That cycle loads PE (0, 0) (1), so
    the first MAC is in cycle 1, and the last one in cycle S = Eq. 5.6 (S cycles in all). Its
    product is in a register in cycle S + 1 (1). The sums are complete, and captured, in cycle
    S + 2 (1). Row i is on ``results`` in cycle S + 3 + i, the last of the r rows in cycle
    S + r + 2. Inclusive of cycle 0 these are S + r + 3 = 1 + S + 1 + 1 + r.

    A drain never delays a fold: rows leave one per cycle, and from one capture to the next are at
    least Eq. 5.5 = r + (c - 1) + (k - 1) >= r cycles. So r is paid once, not once per fold. Nor
    does the register of products: each PE adds a product while it multiplies the next.
    """
    return eq5_6(rows=rows, columns=columns, m=m, k=k, n=n) + rows + 3
