"""The operations of a lane, and the operands that they read.

Source: Sim-D, section 3.1 ("boolean, integer and floating-point operations on 32-bit values");
operations of its authors' instruction set, without those of reciprocal unit and divider.
"""

from enum import IntEnum

__all__ = ["LaneOperation", "operands_of"]


class LaneOperation(IntEnum):
    """Operations on 32-bit words; ``a``, ``b`` and ``c`` are the operands 0, 1 and 2.

    ``F``: single precision, rounded to nearest even. ``I``: two's complement modulo 2**32. The
    names that begin with ``FN`` have operand 1 negated. Tests give 1 or 0.
    """

    MOV = 0
    FADD = 1
    FSUB = 2
    FMUL = 3
    FNMUL = 4
    FMAD = 5        # a * b, rounded, + c, rounded
    FNMAD = 6
    FMIN = 7        # of a number and a NaN: the number; -0 is less than +0
    FMAX = 8
    FABS = 9        # clears the sign, of a NaN too
    FTEST_EZ = 10   # a compared with 0; of a NaN, only NZ holds
    FTEST_NZ = 11
    FTEST_G = 12
    FTEST_GE = 13
    FTEST_L = 14
    FTEST_LE = 15
    I2F = 16        # of the word as an unsigned number
    F2I = 17        # towards zero, to a signed number; saturated, and 0 for a NaN
    IADD = 18
    ISUB = 19
    IMUL = 20       # the lower half
    IMAD = 21
    IMIN = 22       # signed
    IMAX = 23
    ITEST_EZ = 24   # a, signed, compared with 0
    ITEST_NZ = 25
    ITEST_G = 26
    ITEST_GE = 27
    ITEST_L = 28
    ITEST_LE = 29
    AND = 30
    OR = 31
    XOR = 32
    NOT = 33
    INEG = 34
    SHL = 35        # by the lowest five bits of b
    SHR = 36        # arithmetic
    IBFIND = 37     # place of the highest bit that differs from the sign; -1 if none does


_TERNARY = (LaneOperation.FMAD, LaneOperation.FNMAD, LaneOperation.IMAD)
_UNARY = (LaneOperation.MOV, LaneOperation.FABS, LaneOperation.I2F, LaneOperation.F2I,
          LaneOperation.NOT, LaneOperation.INEG, LaneOperation.IBFIND)


def operands_of(operation: LaneOperation) -> int:
    """The number of operands that an operation reads, which are the first ones."""
    if operation in _TERNARY:
        return 3
    return 1 if operation in _UNARY or "TEST" in operation.name else 2
