"""Golden model and bound of the matrix multiplier: a whole product, tiled, by one command.

Its memories hold words of a row of the array (A) and of a row of a tile (B), in the order in which
they are used:

* A: for each tile along k, all m rows; ``rows`` elements each.
* B: for each tile in the order of the tile sequencer, as many rows as it uses; ``columns`` each.

Ref: thesis on AI accelerators, Eq. 5.6 with the mapping of mapping.py; this project for what
the memories and the sequencer add.
"""

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import prediction
from cyclebound.golden.systolic.bounds import Columns, K, M, N, Rows
from cyclebound.golden.systolic.output_stationary import wrap
from cyclebound.golden.systolic.stationary_bounds import weight_completion
from cyclebound.golden.systolic.tile_sequencer import walk

__all__ = ["a_words", "b_words", "expected_rows", "matmul_cycles", "product_of"]

Matrix = NDArray[np.integer]


def a_words(a: Matrix, rows: int) -> list[list[int]]:
    """The words of A; elements beyond the last column of A are of no account, and here 0."""
    m, k = a.shape
    padded = np.pad(a, ((0, 0), (0, -k % rows)))
    return [padded[t, i:i + rows].tolist() for i in range(0, k, rows) for t in range(m)]


def b_words(b: Matrix, rows: int, columns: int) -> list[list[int]]:
    """The words of B; beyond the last column of B they are 0."""
    k, n = b.shape
    padded = np.pad(b, ((0, 0), (0, -n % columns)))
    return [padded[i, tile.column:tile.column + columns].tolist()
            for tile in walk(k, n, rows, columns)
            for i in range(tile.row, tile.row + tile.height)]


def expected_rows(a: Matrix, b: Matrix, columns: int,
                  accumulator_width: int = 32) -> list[list[int]]:
    """The multiplier's output: C in strips of ``columns`` columns, row by row, 0 beyond C."""
    c = wrap(a.astype(np.int64) @ b.astype(np.int64), accumulator_width)
    padded = np.pad(c, ((0, 0), (0, -c.shape[1] % columns)))
    return [row for j in range(0, c.shape[1], columns)
            for row in padded[:, j:j + columns].tolist()]


def product_of(results: list[list[int]], m: int, n: int) -> NDArray[np.int64]:
    """C from the rows that left the multiplier."""
    strips = [np.array(results[start:start + m], dtype=np.int64)
              for start in range(0, len(results), m)]
    return np.hstack(strips)[:, :n]


@prediction(formula="W + 4, W = F (2r + c + m - 2) + 2 serially, "
                    "(F - 1) max(m, r) + 2r + c + m + 1 double-buffered; "
                    "F = ceil(k / r) ceil(n / c)", source="this project")
def matmul_cycles(*, rows: Rows, columns: Columns, m: M, k: K, n: N,
                  double_buffer: bool = True) -> int:
    """Cycles of a product, from the command to the last row of C.

    Unit: cycles. Counted: from the cycle in which the command is accepted to the cycle in which
    the last row of C is on ``results``, both inclusive; the sink always ready.

    Derivation: the sequencers have the command in the cycle after it was accepted (1), and read
    the first weights in that cycle, which are there in the next (1). From then on a word of each
    memory is there whenever the array wants it, so that the array takes what `weight_completion`
    says. Its last row is added to those of the folds before (1), and is on offer in the next
    cycle (1).
    """
    return weight_completion(rows=rows, columns=columns, m=m, k=k, n=n,
                             double_buffer=double_buffer) + 4
