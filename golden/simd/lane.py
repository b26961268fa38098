"""What a lane computes, on arrays of words.

Source: `LaneOperation`. Floating point is numpy's ``float32``, which is IEEE 754 binary32 with
subnormal numbers; tests/simd/test_lane.py compares it with exact arithmetic. Every NaN that an
operation makes is `NAN`; those that move words (MOV, FABS, AND and so on) keep them as they are.
"""

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.simd.lane_operations import LaneOperation
from cyclebound.golden.simd.special_tables import NAN

__all__ = ["evaluate"]

Bits = NDArray[np.uint32]

_SIGN, _INFINITY = np.uint32(0x8000_0000), np.uint32(0x7F80_0000)
_TESTS = {"EZ": np.equal, "NZ": np.not_equal, "G": np.greater, "GE": np.greater_equal,
          "L": np.less, "LE": np.less_equal}


def evaluate(operation: LaneOperation, a: Bits, b: Bits | None = None, c: Bits | None = None
             ) -> Bits:
    """The result for each lane.

    Parameters
    ----------
    operation : LaneOperation
        The same for all lanes.
    a, b, c : array of uint32
        Operands 0, 1 and 2, of one shape; those that the operation does not read may be left out.

    Returns
    -------
    array of uint32
        Of the same shape.
    """
    operation = LaneOperation(operation)
    for name, value in (("a", a), ("b", b), ("c", c)):
        if value is not None and np.asarray(value).dtype != np.uint32:
            raise TypeError(f"{name} must be an array of uint32, not of {np.asarray(value).dtype}")
    name = operation.name
    with np.errstate(all="ignore"):
        if "TEST_" in name:
            kind, _, relation = name.partition("TEST_")
            value = a.view(np.float32 if kind == "F" else np.int32)
            return _TESTS[relation](value, value.dtype.type(0)).astype(np.uint32)
        return _ACTIONS[operation](a, b, c)


def _float(value: NDArray[np.float32]) -> Bits:
    return np.where(np.isnan(value), np.uint32(NAN), value.view(np.uint32)).astype(np.uint32)


def _add(a: Bits, b: Bits) -> Bits:
    return _float(a.view(np.float32) + b.view(np.float32))


def _multiply(a: Bits, b: Bits) -> Bits:
    return _float(a.view(np.float32) * b.view(np.float32))


def _is_nan(bits: Bits) -> NDArray[np.bool_]:
    return bits & ~_SIGN > _INFINITY


def _extreme(a: Bits, b: Bits, least: bool) -> Bits:
    """By the order of patterns: negative ones from the greatest magnitude upwards."""
    left, right = (np.where(value & _SIGN, ~value, value | _SIGN) for value in (a, b))
    chosen = np.where((left < right) == least, a, b)
    return np.where(_is_nan(a), np.where(_is_nan(b), np.uint32(NAN), b),
                    np.where(_is_nan(b), a, chosen)).astype(np.uint32)


def _to_int(a: Bits) -> Bits:
    value = np.nan_to_num(a.view(np.float32).astype(np.float64), nan=0.0)
    return np.clip(np.trunc(value), -2.0**31, 2.0**31 - 1).astype(np.int64).astype(np.uint32)


def _highest(a: Bits) -> Bits:
    magnitude = np.where(a & _SIGN, ~a, a)
    return (np.frexp(magnitude.astype(np.float64))[1].astype(np.int32) - 1).view(np.uint32)


def _signed(function: np.ufunc, a: Bits, b: Bits) -> Bits:
    return function(a.view(np.int32), b.view(np.int32)).view(np.uint32)


_ACTIONS = {
    LaneOperation.MOV: lambda a, b, c: a.copy(),
    LaneOperation.FADD: lambda a, b, c: _add(a, b),
    LaneOperation.FSUB: lambda a, b, c: _add(a, b ^ _SIGN),
    LaneOperation.FMUL: lambda a, b, c: _multiply(a, b),
    LaneOperation.FNMUL: lambda a, b, c: _multiply(a, b ^ _SIGN),
    LaneOperation.FMAD: lambda a, b, c: _add(_multiply(a, b), c),
    LaneOperation.FNMAD: lambda a, b, c: _add(_multiply(a, b ^ _SIGN), c),
    LaneOperation.FMIN: lambda a, b, c: _extreme(a, b, True),
    LaneOperation.FMAX: lambda a, b, c: _extreme(a, b, False),
    LaneOperation.FABS: lambda a, b, c: a & ~_SIGN,
    LaneOperation.I2F: lambda a, b, c: a.astype(np.float32).view(np.uint32),
    LaneOperation.F2I: lambda a, b, c: _to_int(a),
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
    LaneOperation.SHL: lambda a, b, c: a << (b & np.uint32(31)),
    LaneOperation.SHR: lambda a, b, c: (a.view(np.int32) >> (b & np.uint32(31)).view(np.int32)
                                        ).view(np.uint32),
    LaneOperation.IBFIND: lambda a, b, c: _highest(a),
}
