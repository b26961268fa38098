"""Model of a lane: each of its operations, on arrays of words.

Source: `LaneOperation`; the arithmetic is that of the functional model, and tests/simd/test_lane.py
compares it with exact integers and fractions.
"""

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.simd import arithmetic
from cyclebound.golden.simd.lane_operations import LaneOperation

__all__ = ["evaluate"]

Bits = NDArray[np.uint32]

_SIGN = np.uint32(0x8000_0000)


def evaluate(operation: LaneOperation, a: Bits, b: Bits | None = None, c: Bits | None = None
             ) -> Bits:
    """The result for each lane.

    Parameters
    ----------
    operation : LaneOperation
        Operation of all lanes.
    a, b, c : array of uint32
        Operands 0, 1 and 2, of one shape; those that the operation does not read may be left out.

    Returns
    -------
    array of uint32
        Of the same shape.

    Raises
    ------
    TypeError
        For an operand of another type.
    """
    operation = LaneOperation(operation)
    for name, value in (("a", a), ("b", b), ("c", c)):
        if value is not None and np.asarray(value).dtype != np.uint32:
            raise TypeError(f"{name} must be an array of uint32, not of {np.asarray(value).dtype}")
    kind, _, relation = operation.name.partition("TEST_")
    with np.errstate(all="ignore"):  # overflow, NaN and integers that wrap round are results
        if kind == "F" and relation:
            return arithmetic.test(relation.lower(), a).astype(np.uint32)
        if kind == "I" and relation:
            return arithmetic.CONDITIONS[relation.lower()](arithmetic.signed(a), 0).astype(
                np.uint32)
        return _ACTIONS[operation](a, b, c)


def _signed(function: np.ufunc, a: Bits, b: Bits) -> Bits:
    return function(arithmetic.signed(a), arithmetic.signed(b)).view(np.uint32)


def _highest(a: Bits) -> Bits:
    """As `arithmetic.find`; the exponent of a double is the place of an integer's highest bit."""
    magnitude = np.where(a & _SIGN, ~a, a)
    return (np.frexp(magnitude.astype(np.float64))[1].astype(np.int32) - 1).view(np.uint32)


_ACTIONS = {
    LaneOperation.MOV: lambda a, b, c: a.copy(),
    LaneOperation.FADD: lambda a, b, c: arithmetic.add(a, b),
    LaneOperation.FSUB: lambda a, b, c: arithmetic.sub(a, b),
    LaneOperation.FMUL: lambda a, b, c: arithmetic.mul(a, b),
    LaneOperation.FNMUL: lambda a, b, c: arithmetic.mul(a, b ^ _SIGN),
    LaneOperation.FMAD: lambda a, b, c: arithmetic.mad(a, b, c),
    LaneOperation.FNMAD: lambda a, b, c: arithmetic.mad(a, b ^ _SIGN, c),
    LaneOperation.FMIN: lambda a, b, c: arithmetic.lesser(a, b),
    LaneOperation.FMAX: lambda a, b, c: arithmetic.greater(a, b),
    LaneOperation.FABS: lambda a, b, c: arithmetic.abs_(a),
    LaneOperation.I2F: lambda a, b, c: arithmetic.float_of(a),
    LaneOperation.F2I: lambda a, b, c: arithmetic.int_of(a),
    LaneOperation.IADD: lambda a, b, c: a + b,
    LaneOperation.ISUB: lambda a, b, c: a - b,
    LaneOperation.IMUL: lambda a, b, c: a * b,
    LaneOperation.IMAD: lambda a, b, c: a * b + c,
    LaneOperation.IMIN: lambda a, b, c: _signed(np.minimum, a, b),
    LaneOperation.IMAX: lambda a, b, c: _signed(np.maximum, a, b),
    LaneOperation.AND: lambda a, b, c: a & b,
    LaneOperation.OR: lambda a, b, c: a | b,
    LaneOperation.XOR: lambda a, b, c: a ^ b,
    LaneOperation.NOT: lambda a, b, c: ~a,
    LaneOperation.INEG: lambda a, b, c: np.uint32(0) - a,
    LaneOperation.SHL: lambda a, b, c: arithmetic.shift_left(a, b),
    LaneOperation.SHR: lambda a, b, c: arithmetic.shift_right(a, b),
    LaneOperation.IBFIND: lambda a, b, c: _highest(a),
}
