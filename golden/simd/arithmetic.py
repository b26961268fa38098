"""The arithmetic of the lanes, on arrays of 32-bit patterns.

Floats are IEEE 754 binary32, rounded to nearest even, with subnormal numbers. Every operation that
makes a NaN makes the same one, `NAN`, whatever its operands' payloads; ``abs``, ``mov`` and other
operations on bits keep them. `mad` rounds twice, product and sum, as two instructions would; one
that is fused would differ in the last place, and where a product is cancelled, in all of them.

Ref: IEEE 754-2019; Sim-D, section 3.1.
"""

import numpy as np

from cyclebound.golden.floating import FLOAT_NAN as NAN

__all__ = ["CONDITIONS", "NAN", "abs_", "add", "divide", "find", "float_of", "greater", "int_of",
           "lesser", "mad", "mul", "remainder", "shift_left", "shift_right", "signed", "sub",
           "test"]

Words = np.ndarray  # of uint32, or a single one

_SIGN = np.uint32(0x8000_0000)


def _float(words: Words) -> np.ndarray:
    return words.view(np.float32)


def _words(values: np.ndarray) -> Words:
    """Results as patterns; NaNs are all made the same."""
    words = values.view(np.uint32)
    wrong = values != values
    if wrong.any():
        words = np.where(wrong, np.uint32(NAN), words)
    return words


def signed(words: Words) -> np.ndarray:
    return words.view(np.int32)


def add(a: Words, b: Words) -> Words:
    return _words(_float(a) + _float(b))


def sub(a: Words, b: Words) -> Words:
    return _words(_float(a) - _float(b))


def mul(a: Words, b: Words) -> Words:
    return _words(_float(a) * _float(b))


def mad(a: Words, b: Words, c: Words) -> Words:
    """``a * b + c``, rounded after either operation."""
    return _words(_float(a) * _float(b) + _float(c))


def _order(words: Words) -> np.ndarray:
    """Numbers in their order, as signed integers: -0 just below 0."""
    whole = signed(words)
    return whole ^ (whole >> 31 & np.int32(0x7FFF_FFFF))


def _choose(a: Words, b: Words, first: np.ndarray) -> Words:
    chosen = np.where(first, a, b)
    no_a, no_b = (_float(operand) != _float(operand) for operand in (a, b))
    if np.any(no_a) or np.any(no_b):
        chosen = np.where(no_a, np.where(no_b, np.uint32(NAN), b), np.where(no_b, a, chosen))
    return chosen


def lesser(a: Words, b: Words) -> Words:
    """The lesser of two floats; of a NaN and a number, the number."""
    return _choose(a, b, _order(a) <= _order(b))


def greater(a: Words, b: Words) -> Words:
    """The greater of two floats; of a NaN and a number, the number."""
    return _choose(a, b, _order(a) >= _order(b))


def abs_(a: Words) -> Words:
    return a & ~_SIGN


def float_of(a: Words) -> Words:
    """The float nearest to an unsigned integer."""
    return a.astype(np.float32).view(np.uint32)


def int_of(a: Words) -> Words:
    """The integer part as a signed integer; saturated, and 0 for a NaN."""
    values = _float(a).astype(np.float64)
    values = np.where(values != values, 0.0, np.clip(np.trunc(values), -(2.0**31), 2.0**31 - 1))
    return values.astype(np.int64).astype(np.uint32)


CONDITIONS = {"ez": np.equal, "nz": np.not_equal, "g": np.greater, "ge": np.greater_equal,
              "l": np.less, "le": np.less_equal}
"""Comparisons with 0, by sub-operation."""


def test(condition: str, a: Words) -> np.ndarray:
    """A float compared with 0; of a NaN, only ``nz`` holds."""
    return CONDITIONS[condition](_float(a), np.float32(0))


def shift_left(a: Words, b: Words) -> Words:
    return a << (b & np.uint32(31))


def shift_right(a: Words, b: Words) -> Words:
    return (signed(a) >> (b & np.uint32(31)).astype(np.int32)).view(np.uint32)


def _of(bits: int) -> int:
    """A pattern of 32 bits as a signed integer."""
    return bits - (bits >> 31 << 32)


def divide(a: int, b: int) -> int:
    """Towards zero; -1 for a divisor of 0; the least integer by -1 is itself."""
    if b == 0:
        return 0xFFFF_FFFF
    quotient = abs(_of(a)) // abs(_of(b))
    return (-quotient if (a ^ b) >> 31 else quotient) & 0xFFFF_FFFF


def remainder(a: int, b: int) -> int:
    """The remainder of `divide`; the dividend for a divisor of 0."""
    return a if b == 0 else (_of(a) - _of(divide(a, b)) * _of(b)) & 0xFFFF_FFFF


def find(a: int) -> int:
    """The highest bit that differs from the sign; -1 if none does."""
    return ((~a if a >> 31 else a) & 0xFFFF_FFFF).bit_length() - 1 & 0xFFFF_FFFF
