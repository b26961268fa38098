"""Bounds of arrays in which an operand stays in place: weight and input stationary.

The thesis gives no formula of its own for these: "the number of MAC operations needed to perform
this matrix multiplication is expressed in Equation 5.5" (chapter 5.2.2), which `eq5_6_printed`
keeps. It has the wrong dimension in time (k, where m or n streams), the wrong folds (k is cut into
tiles, not the dimension that streams), and leaves out that a tile has to be loaded. The forms of
this project are beside it.

Ref: thesis on AI accelerators, chapter 5.2.2; Samajdar et al., ISPASS 2020, whose simulator
counts F (2r + c + T - 2).
"""

from cyclebound.golden.bound import NotCovered, prediction
from cyclebound.golden.systolic.bounds import Columns, K, M, N, Rows, eq5_6
from cyclebound.golden.systolic.mapping import Dataflow, Mapping, map_product

__all__ = ["eq5_6_printed", "input_completion", "input_fold", "input_steps", "weight_completion",
           "weight_fold", "weight_steps"]

_STEPS = ("F (2r + c + T - 2) serially, (F - 1) max(T, r) + 2r + c + T - 1 double-buffered; "
          "T = {time}, F = ceil(k / r) ceil({across} / c)")
_COMPLETION = ("F (2r + c + T - 2) + 2 serially, (F - 1) max(T, r) + 2r + c + T + 1 "
               "double-buffered; T = {time}, F = ceil(k / r) ceil({across} / c)")


@prediction(formula="(r + c + k - 2) ceil(m / r) ceil(n / c)",
            source="thesis on AI accelerators, 5.2.2, the paragraph after Eq. 5.6")
def eq5_6_printed(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """The thesis's formula for weight and input stationary arrays: Eq. 5.6, unchanged.

    Unit: MAC steps. It does not hold: see `weight_fold` for the least product that shows it.
    """
    return eq5_6(rows=rows, columns=columns, m=m, k=k, n=n)


def _mapped(dataflow: Dataflow, rows: int, columns: int, m: int, k: int, n: int) -> Mapping:
    return map_product(dataflow, rows=rows, columns=columns, m=m, k=k, n=n)


def _fold(mapping: Mapping, rows: int, columns: int) -> int:
    if mapping.down > rows or mapping.across > columns:
        raise NotCovered(f"a tile of {mapping.down} x {mapping.across} must fit an array of "
                         f"{rows} x {columns}")
    return rows + columns + mapping.time - 2


def _steps(mapping: Mapping, rows: int, columns: int, double_buffer: bool) -> int:
    if double_buffer:
        return ((mapping.folds - 1) * max(mapping.time, rows)
                + 2 * rows + columns + mapping.time - 1)
    return mapping.folds * (2 * rows + columns + mapping.time - 2)


@prediction(formula="r + c + m - 2, where k <= r and n <= c",
            source="this project; Eq. 5.5 with the dimension that streams")
def weight_fold(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """MAC steps of a product whose weights fit the array, weight stationary.

    Unit: MAC steps, one per cycle. Counted: from the cycle of the first MAC in any PE to the cycle
    of the last, both inclusive. Raises `NotCovered` for a product that does not fit.

    Derivation: row t of A meets the weight of PE (i, j) in step t + i + j, with t from 0 to m - 1,
    i to r - 1 and j to c - 1. So the first is in step 0 and the last in step m + r + c - 3.

    Eq. 5.5 has k in place of m. Least product that shows it: 2 x 1 x 1 on 1 x 2 takes 3 steps; the
    thesis counts (1 + 2 + 1 - 2) ceil(2 / 1) = 4.
    """
    return _fold(_mapped(Dataflow.WEIGHT, rows, columns, m, k, n), rows, columns)


@prediction(formula=_STEPS.format(time="m", across="n"),
            source="this project; serially: ISPASS 2020")
def weight_steps(*, rows: Rows, columns: Columns, m: M, k: K, n: N,
                 double_buffer: bool = True) -> int:
    """Cycles from the first row of weights to the last MAC, weight stationary.

    Unit: cycles. Counted: from the cycle in which the first row of weights is accepted to the
    cycle of the last MAC, both inclusive; operands always on offer, the sink always ready, the
    array idle before.

    Derivation, serially: a fold accepts its r rows of weights in cycles 0 to r - 1, and its first
    row of A together with the last of them. Row t is executed by PE (i, j) in cycle
    r + t + i + j, the last in r + (T - 1) + (r - 1) + (c - 1): these are 2r + c + T - 2 cycles.
    The next fold's weights replace this one's, and so begin in the cycle after that.

    Double-buffered: the first row of A follows the last row of weights by one cycle, since the
    weights are moved into place with it. That is once; the next fold's weights are
    accepted from the cycle on in which the first row of A is, since they enter column by column
    just after the change. So folds follow each other as fast as the slower of their streams:
    after max(T, r) cycles. The last of F folds begins (F - 1) max(T, r) later than the first.
    """
    mapping = _mapped(Dataflow.WEIGHT, rows, columns, m, k, n)
    return _steps(mapping, rows, columns, double_buffer)


@prediction(formula=_COMPLETION.format(time="m", across="n"), source="this project")
def weight_completion(*, rows: Rows, columns: Columns, m: M, k: K, n: N,
                      double_buffer: bool = True) -> int:
    """Cycles from the first row of weights to the last row of sums, weight stationary.

    Unit: cycles. Counted: from the cycle in which the first row of weights is accepted to the
    cycle in which the last row of sums is on ``results``, both inclusive; as in `weight_steps`.

    Derivation: the last MAC, in PE (r - 1, c - 1), is a product in a register one cycle later,
    and a sum in a register two cycles later. That is the last column, which waits for no other.
    """
    mapping = _mapped(Dataflow.WEIGHT, rows, columns, m, k, n)
    return _steps(mapping, rows, columns, double_buffer) + 2


@prediction(formula="r + c + n - 2, where k <= r and m <= c",
            source="this project; Eq. 5.5 with the dimension that streams")
def input_fold(*, rows: Rows, columns: Columns, m: M, k: K, n: N) -> int:
    """MAC steps of a product whose inputs fit the array, input stationary.

    Unit: MAC steps, one per cycle. Counted: from the cycle of the first MAC in any PE to the cycle
    of the last, both inclusive. Raises `NotCovered` for a product that does not fit.

    Derivation: C^T = B^T A^T, so that it is `weight_fold` of the n x k x m product.
    """
    return _fold(_mapped(Dataflow.INPUT, rows, columns, m, k, n), rows, columns)


@prediction(formula=_STEPS.format(time="n", across="m"),
            source="this project; serially: ISPASS 2020")
def input_steps(*, rows: Rows, columns: Columns, m: M, k: K, n: N,
                double_buffer: bool = True) -> int:
    """Cycles from the first row of inputs to the last MAC, input stationary.

    Unit: cycles. Counted: from the cycle in which the first row of stationary inputs is accepted to
    the cycle of the last MAC, both inclusive; operands always on offer, the sink always ready, the
    array idle before.

    Derivation: C^T = B^T A^T, so that it is `weight_steps` of the n x k x m product.
    """
    return _steps(_mapped(Dataflow.INPUT, rows, columns, m, k, n), rows, columns, double_buffer)


@prediction(formula=_COMPLETION.format(time="n", across="m"), source="this project")
def input_completion(*, rows: Rows, columns: Columns, m: M, k: K, n: N,
                     double_buffer: bool = True) -> int:
    """Cycles from the first row of inputs to the last row of sums, input stationary.

    Unit: cycles. Counted: from the cycle in which the first row of stationary inputs is accepted to
    the cycle in which the last row of sums is on ``results``, both inclusive; as in `input_steps`.

    Derivation: C^T = B^T A^T, so that it is `weight_completion` of the n x k x m product.
    """
    mapping = _mapped(Dataflow.INPUT, rows, columns, m, k, n)
    return _steps(mapping, rows, columns, double_buffer) + 2
