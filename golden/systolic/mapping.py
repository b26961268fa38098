"""How a matrix product lies on an array, for each dataflow.

C = A B with A of m x k and B of k x n. An array of r rows and c columns holds a tile of one matrix
in place and streams the others past it: one dimension of the product lies along the rows of the
array, one along its columns, and the third is time.

================== ======= ======= ========== =====================
dataflow           rows    columns time       stays in place
================== ======= ======= ========== =====================
output stationary  m       n       k          C (sums)
weight stationary  k       n       m          B
input stationary   k       m       n          A (transposed)
================== ======= ======= ========== =====================

A *fold* is what the array does with one tile of the matrix that stays. There are
``ceil(down / r) ceil(across / c)`` of them.

Ref: thesis on AI accelerators, chapters 2.4 and 5.2; Samajdar et al., "A systematic methodology
for characterizing scalability of DNN accelerators using SCALE-Sim", ISPASS 2020, for the mapping.
"""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Dataflow", "Mapping", "ceil_div", "map_product"]


class Dataflow(Enum):
    """Dataflows, named after the operand that stays in the processing elements."""

    OUTPUT = "output stationary"
    WEIGHT = "weight stationary"
    INPUT = "input stationary"


@dataclass(frozen=True)
class Mapping:
    """The three dimensions of a product on an array.

    Attributes
    ----------
    down, across : int
        Extents along the rows and the columns of the array, S_R and S_C.
    time : int
        Steps in which operands stream in, for each fold: T.
    folds : int
        Tiles of the matrix that stays.
    """

    down: int
    across: int
    time: int
    folds: int


def ceil_div(value: int, by: int) -> int:
    """``value / by``, rounded up."""
    return -(-value // by)


def map_product(dataflow: Dataflow, *, rows: int, columns: int, m: int, k: int, n: int) -> Mapping:
    """The mapping of an m x k x n product on an array of ``rows`` x ``columns``."""
    down, across, time = {Dataflow.OUTPUT: (m, n, k), Dataflow.WEIGHT: (k, n, m),
                          Dataflow.INPUT: (k, m, n)}[dataflow]
    return Mapping(down, across, time, ceil_div(down, rows) * ceil_div(across, columns))
