"""The conventions of a public simulator of systolic arrays, SCALE-Sim 3.0.0, as formulas.

Its folds are strictly serial, and each is charged the whole array, however little of it is used.
Sums do not drain through the array, memory never stalls, and what it calls "Total Cycles" is the
index of the last cycle, counted from 0.

Ref: Samajdar et al., ISPASS 2020, for the mapping and for F (2r + c + T - 2); that its code leaves
out the r in output stationary arrays was found by running it.
"""

from cyclebound.golden.systolic.bounds import eq5_6
from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.stationary_bounds import input_steps, weight_steps

__all__ = ["LAYERS", "convolution_as_product", "total_cycles"]

LAYERS = (  # the layers in the simulator's figures of tests/systolic/data, as (m, k, n)
    (1, 1, 1), (3, 3, 3), (4, 4, 4), (4, 1, 4), (2, 5, 3), (8, 64, 8), (16, 32, 8), (16, 16, 16),
    (32, 32, 32), (64, 8, 16), (64, 64, 64), (100, 7, 10), (64, 9, 1), (196, 16, 32), (64, 72, 8),
    (25, 288, 64))


def convolution_as_product(*, height: int, width: int, kernel: int, channels: int, filters: int,
                           stride: int = 1) -> tuple[int, int, int]:
    """(m, k, n) of a convolution without padding: a row for each output pixel (im2col)."""
    high, wide = ((size - kernel + stride) // stride for size in (height, width))
    return high * wide, kernel * kernel * channels, filters


def total_cycles(dataflow: Dataflow, *, rows: int, columns: int, m: int, k: int, n: int) -> int:
    """The "Total Cycles" that the simulator prints, without memory stalls."""
    shape = {"rows": rows, "columns": columns, "m": m, "k": k, "n": n}
    if dataflow is Dataflow.OUTPUT:
        return eq5_6(**shape) - 1
    steps = weight_steps if dataflow is Dataflow.WEIGHT else input_steps
    return steps(**shape, double_buffer=False) - 1
