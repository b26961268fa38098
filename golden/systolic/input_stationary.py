"""Golden model of the input-stationary systolic array.

C = A B is computed as C^T = B^T A^T: A^T stays in the array, where B would in a weight-stationary
one, and the columns of B stream past it. All else is the weight-stationary array, whose
`WeightStationaryModel` is the model of both.

Ref: thesis on AI accelerators, chapter 5.2 ("which also can represent an input stationary PE").
"""

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.weight_stationary import Tile
from cyclebound.golden.systolic.weight_stationary import tiles_of as _tiles_of

__all__ = ["tiles_of"]


def tiles_of(a: NDArray[np.integer], b: NDArray[np.integer], rows: int,
             columns: int) -> list[Tile]:
    """The folds for C = A B on an array of ``rows`` x ``columns``; their results are C^T.

    ``weights`` of a tile are rows of A^T, and ``left`` the columns of B. Raises `ValueError` unless
    A has as many columns as B has rows, and for an empty matrix.
    """
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"A must have as many columns as B has rows, not {a.shape[1]} and "
                         f"{b.shape[0]}")
    return _tiles_of(b.T, a.T, rows, columns)
