"""The functions of a reciprocal unit: 1/x, 1/sqrt(x), sine and cosine in single precision.

Source: Sim-D, section 3.1 (one unit for four lanes: multipliers and look-up tables); the algorithm
is this project's, and docs/simd-arithmetic.md derives it and its errors. Integer arithmetic only:
every line is a wire, a table, a shift, a sum or a product of the hardware.

All functions take an array of binary32 patterns, numpy ``uint32`` of any shape, and return one of
the same shape. Subnormal numbers count in full, as arguments and as results. A NaN gives `NAN`.

=============  =====================  ======================  =======================
argument       rcp                    rsqrt                   sin, cos
=============  =====================  ======================  =======================
+0, -0         +inf, -inf             +inf, -inf              the argument, 1
+inf, -inf     +0, -0                 +0, NaN                 NaN
x < 0          1/x                    NaN                     -sin(-x), cos(-x)
to +-2^-128    +inf, -inf             1/sqrt(x)               the argument, 1
=============  =====================  ======================  =======================
"""

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.simd.special_tables import (
    COEFFICIENTS,
    COSINE_ROW,
    NAN,
    OFFSET_BITS,
    RSQRT_ROW,
    SINE_ROW,
    SQUARE_BITS,
    TWO_OVER_PI,
    TWO_OVER_PI_BITS,
    SpecialFunction,
)

__all__ = ["NAN", "cos", "evaluate", "rcp", "rsqrt", "sin"]

_SIGN, _INFINITY, _ONE = 0x8000_0000, 0x7F80_0000, 0x3F80_0000
_BIAS, _FRACTION = 127, 23
_SMALL = 115                # below this exponent field, sin(x) is x, and cos(x) is 1
_LEAST = _SMALL - 150       # exponent of the integer significand there
_WORD, _WORDS = 28, 3       # of 2 / pi, what matters to one exponent
_POINT = _WORD * _WORDS - 2  # bits of the fraction; two are left for the quadrant
_KEPT = 58                  # bits of the fraction that are kept

_TABLE = np.array(COEFFICIENTS, dtype=np.int64).T.copy()
_WINDOWS = np.array(
    [[(TWO_OVER_PI >> TWO_OVER_PI_BITS - _POINT - exponent) >> _WORD * word & (1 << _WORD) - 1
      for exponent in range(_LEAST, TWO_OVER_PI_BITS - _POINT + 1)] for word in range(_WORDS)],
    dtype=np.int64)

Bits = NDArray[np.uint32]
Integers = NDArray[np.int64]


def rcp(bits: Bits) -> Bits:
    """1/x, within 1 ulp. Raises `TypeError` unless ``bits`` are uint32."""
    magnitude, negative = _split(bits)
    significand, exponent = _normalised(magnitude)
    number = _pack(_polynomial(significand >> 16 & 127, (significand & 0xFFFF) << 4) << 28,
                   -exponent - 1)
    result = np.where(magnitude == 0, _INFINITY, np.where(magnitude == _INFINITY, 0, number))
    return _finish(result | negative, magnitude > _INFINITY)


def rsqrt(bits: Bits) -> Bits:
    """1/sqrt(x), within 1 ulp. Raises `TypeError` unless ``bits`` are uint32."""
    magnitude, negative = _split(bits)
    significand, exponent = _normalised(magnitude)
    row = RSQRT_ROW + ((exponent & 1) << 7) + (significand >> 16 & 127)
    number = _pack(_polynomial(row, (significand & 0xFFFF) << 4) << 28, -(exponent >> 1) - 1)
    zero = magnitude == 0
    result = np.where(zero, _INFINITY | negative, np.where(magnitude == _INFINITY, 0, number))
    return _finish(result, (magnitude > _INFINITY) | ((negative != 0) & ~zero))


def sin(bits: Bits) -> Bits:
    """Sine of x radians, within 1 ulp of it for every finite x.

    Raises `TypeError` unless ``bits`` are uint32.
    """
    return _circular(bits, 0)


def cos(bits: Bits) -> Bits:
    """Cosine of x radians, within 1 ulp of it for every finite x.

    Raises `TypeError` unless ``bits`` are uint32.
    """
    return _circular(bits, 1)


def evaluate(function: SpecialFunction, bits: Bits) -> Bits:
    """The function of that name, which raises the same."""
    return (rcp, rsqrt, sin, cos)[function](bits)


def _split(bits: Bits) -> tuple[Integers, Integers]:
    """Magnitude, and the sign in its place."""
    bits = np.asarray(bits)
    if bits.dtype != np.uint32:
        raise TypeError(f"bits must be an array of uint32, not of {bits.dtype}")
    wide = bits.astype(np.int64)
    return wide & ~_SIGN & 0xFFFF_FFFF, wide & _SIGN


def _normalised(magnitude: Integers) -> tuple[Integers, Integers]:
    """Significand from 2**23 to 2**24 - 1, and the exponent of its top bit; of 0: anything."""
    field = magnitude >> _FRACTION
    fraction = magnitude & (1 << _FRACTION) - 1
    significand = np.where(field > 0, fraction | 1 << _FRACTION, fraction)
    zeros = _FRACTION + 1 - _bit_length(significand)
    return significand << zeros, np.maximum(field, 1) - _BIAS - zeros


def _bit_length(value: Integers) -> Integers:
    """Bit lengths of integers below 2**53, exactly: the exponent of a double."""
    return np.frexp(value.astype(np.float64))[1].astype(np.int64)


def _polynomial(row: Integers, position: Integers) -> Integers:
    """The table's function, in units of 2**-30, at a position of 20 bits within an interval."""
    offset = position - (1 << OFFSET_BITS - 1)
    square = offset * offset >> 2 * (OFFSET_BITS - 1) - SQUARE_BITS
    constant, first, second = (coefficient[row] for coefficient in _TABLE)
    return ((constant << OFFSET_BITS - 1) + first * offset
            + (second * square << OFFSET_BITS - 1 - SQUARE_BITS)) >> OFFSET_BITS - 1


def _pack(value: Integers, exponent: Integers) -> Integers:
    """The magnitude's pattern of ``value * 2**(exponent - 57)``, a half rounded up.

    ``value`` is from 2**57 to 2**59 - 1.
    """
    large = value >> 58
    field = exponent + large + _BIAS
    shift = large + np.maximum(1 - field, 0) + 33
    kept = ((value >> np.minimum(shift, 62)) + 1) >> 1
    # the leading bit of a normal number adds 1 to the field; so does a carry
    packed = (np.maximum(field - 1, 0) << _FRACTION) + kept
    return np.minimum(packed, _INFINITY)


def _finish(result: Integers, invalid: NDArray[np.bool_]) -> Bits:
    return np.where(invalid, NAN, result).astype(np.uint32)


def _circular(bits: Bits, turn: int) -> Bits:
    """Sine of x and ``turn`` quarters more."""
    magnitude, negative = _split(bits)
    quadrant, folded, r = _reduced(magnitude)
    quadrant += turn
    cosine = (quadrant & 1) != 0
    minus = (quadrant & 2) != 0
    minus ^= ~cosine & folded
    if not turn:
        minus ^= negative != 0

    # r is below a half: six bits choose the interval, twenty lie in it
    row = np.where(cosine, COSINE_ROW, SINE_ROW) + (r >> _KEPT - 7)
    p = _polynomial(row, r >> _KEPT - 7 - OFFSET_BITS & (1 << OFFSET_BITS) - 1)
    zeros = _KEPT - _long_bit_length(r)
    factor = np.where(cosine, 1 << 28, r << zeros >> _KEPT - 28)
    number = _pack(p * factor, np.where(cosine, -1, -zeros - 1))
    result = number | np.where(minus, _SIGN, 0)
    small = _ONE if turn else magnitude | negative
    return _finish(np.where(magnitude >> _FRACTION < _SMALL, small, result),
                   magnitude >= _INFINITY)


def _long_bit_length(value: Integers) -> Integers:
    """Bit lengths of integers below 2**58."""
    high = value >> 29
    return np.where(high > 0, 29 + _bit_length(high), _bit_length(value & (1 << 29) - 1))


def _reduced(magnitude: Integers) -> tuple[Integers, NDArray[np.bool_], Integers]:
    """``|x| * 2 / pi`` as the nearest integer (mod 4) and the distance in units of 2**-58.

    ``folded``: the integer is the greater one, so that the difference is negative. After Payne and
    Hanek: of 2 / pi, only the 84 bits are used that make neither multiples of 4 nor less than
    2**-58. The distance of no number is below 2**-30.
    """
    field = magnitude >> _FRACTION
    significand = magnitude & (1 << _FRACTION) - 1 | 1 << _FRACTION
    place = np.clip(field - _SMALL, 0, 254 - _SMALL)
    mask = (1 << _WORD) - 1
    total = significand * _WINDOWS[0][place]
    low = total & mask
    total = significand * _WINDOWS[1][place] + (total >> _WORD)
    middle = total & mask
    high = significand * _WINDOWS[2][place] + (total >> _WORD) & mask
    # the fraction: 26 bits of the highest word, 28 of the middle one, 4 of the lowest
    fraction = (high & (1 << _WORD - 2) - 1) << 32 | middle << 4 | low >> _WORD - 4
    folded = fraction >> _KEPT - 1 != 0
    quadrant = (high >> _WORD - 2) + folded
    return quadrant, folded, np.where(folded, ~fraction & (1 << _KEPT) - 1, fraction)
