"""The operations of a compute unit, their operands, and the depth of their pipeline.

Source: SGMF, section 5.2 (an ALU and a single-precision FPU, with fused multiply-add; pipelined).
The paper names no instruction set; the integer operations are those of issue and CUDA practice.
"""

from enum import IntEnum

from cyclebound.golden.floating import FMA_STAGES

__all__ = ["BLOCKS", "OPERANDS", "PIPELINE_STAGES", "WIDTH", "Operation",
           "operands_of"]

WIDTH = 32          # bits of a value
OPERANDS = 3        # of a compute unit
BLOCKS = 8          # dividers or square roots of a special unit [SGMF, 4.2]
PIPELINE_STAGES = FMA_STAGES  # cycles from operands to result, of every operation


class Operation(IntEnum):
    """Operations on 32-bit values; floats are IEEE 754 binary32, rounded to nearest even.

    Comparisons give 1 or 0. Shifts take the lowest five bits of their second operand. `SELECT` is
    its second operand if the first is not 0, or else its third. `TO_INT` truncates, saturates,
    and makes 0 of a NaN (as CUDA's ``__float2int_rz``); integers are signed but for ``*U``.
    """

    ADD = 0
    SUB = 1
    MUL = 2         # the lower half
    AND = 3
    OR = 4
    XOR = 5
    SHL = 6
    SHR = 7
    SRA = 8
    EQ = 9
    NE = 10
    LT = 11
    LE = 12
    LTU = 13
    LEU = 14
    MIN = 15
    MAX = 16
    SELECT = 17
    FADD = 18
    FSUB = 19
    FMUL = 20
    FMA = 21        # first * second + third, rounded once
    FEQ = 22
    FLT = 23
    FLE = 24
    TO_FLOAT = 25
    TO_INT = 26


_UNARY = frozenset((Operation.TO_FLOAT, Operation.TO_INT))
_TERNARY = frozenset((Operation.SELECT, Operation.FMA))


def operands_of(operation: Operation) -> int:
    """The number of operands that an operation needs, which are the first ones."""
    return 1 if operation in _UNARY else 3 if operation in _TERNARY else 2
