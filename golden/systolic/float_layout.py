"""Widths and pipeline of the arrays that multiply bfloat16 and add in single precision."""

from cyclebound.golden.floating import FMA_STAGES

__all__ = ["OPERAND_WIDTH", "STAGES", "SUM_WIDTH", "rows_under_way"]

OPERAND_WIDTH = 16
"""Bits of a bfloat16: the upper half of a single precision number."""

SUM_WIDTH = 32

STAGES = FMA_STAGES
"""Cycles from the operands of a multiply-add to its result."""


def rows_under_way(rows: int, columns: int) -> int:
    """Rows that may be under way in an array, or wait after it, without one being refused."""
    return rows * STAGES + columns + 2
