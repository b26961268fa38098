"""Single precision from the definition: exact integers, and one rounding at the end.

Source: IEEE 754-2019, binary32, roundTiesToEven. Values are bit patterns (0 to 2**32 - 1).
"""

from fractions import Fraction

__all__ = ["FLOAT_NAN", "FMA_STAGES", "INFINITY", "add", "compare", "from_int", "fused", "is_nan",
           "multiply", "parts", "rounded", "to_int", "value_of"]

FLOAT_NAN = 0x7FC0_0000  # the only NaN that an operation makes
FMA_STAGES = 9           # cycles from operands to result of `fused`; the RTL has its own
INFINITY = 0x7F80_0000
_SIGN = 0x8000_0000
_LEAST = -149  # exponent of the smallest subnormal number


def is_nan(bits: int) -> bool:
    return bits & ~_SIGN > INFINITY


def _is_infinite(bits: int) -> bool:
    return bits & ~_SIGN == INFINITY


def parts(bits: int) -> tuple[int, int]:
    """Signed significand and exponent of a finite number: the value is the one times 2**other."""
    field, fraction = bits >> 23 & 0xFF, bits & 0x7F_FFFF
    significand = fraction | 1 << 23 if field else fraction
    return (-significand if bits & _SIGN else significand), max(field, 1) + _LEAST - 1


def value_of(bits: int) -> Fraction:
    """The exact value of a finite number."""
    significand, exponent = parts(bits)
    return significand * Fraction(2) ** exponent


def rounded(significand: int, exponent: int, negative_zero: bool = False) -> int:
    """The number nearest to ``significand * 2**exponent``; of two, the even one."""
    magnitude = abs(significand)
    sign = _SIGN if significand < 0 or (significand == 0 and negative_zero) else 0
    unit = max(magnitude.bit_length() + exponent - 24, _LEAST)  # exponent of the last place
    drop = unit - exponent
    if drop <= 0:
        kept = magnitude << -drop
    else:
        kept, rest = magnitude >> drop, magnitude & (1 << drop) - 1
        half = 1 << drop - 1
        kept += rest > half or (rest == half and kept & 1)
    if kept == 1 << 24:
        kept, unit = 1 << 23, unit + 1
    if kept < 1 << 23:
        return sign | kept
    field = unit - _LEAST + 1
    return sign | INFINITY if field >= 0xFF else sign | field << 23 | kept & 0x7F_FFFF


def fused(a: int, b: int, c: int) -> int:
    """``a * b + c``, rounded once."""
    if any(map(is_nan, (a, b, c))):
        return FLOAT_NAN
    sign = (a ^ b) & _SIGN
    if _is_infinite(a) or _is_infinite(b):
        zero = a & ~_SIGN == 0 or b & ~_SIGN == 0
        return FLOAT_NAN if zero or (_is_infinite(c) and c & _SIGN != sign) else sign | INFINITY
    if _is_infinite(c):
        return c
    (ma, ea), (mb, eb), (mc, ec) = map(parts, (a, b, c))
    product, least = ma * mb, min(ea + eb, ec)
    total = (product << ea + eb - least) + (mc << ec - least)
    # an exact zero is positive, unless both terms are negative zeros
    return rounded(total, least, bool(sign and c & _SIGN) and product == 0 and mc == 0)


def add(a: int, b: int) -> int:
    if is_nan(a) or is_nan(b):
        return FLOAT_NAN
    if _is_infinite(a) or _is_infinite(b):
        if _is_infinite(a) and _is_infinite(b) and a != b:
            return FLOAT_NAN
        return a if _is_infinite(a) else b
    (ma, ea), (mb, eb) = parts(a), parts(b)
    least = min(ea, eb)
    return rounded((ma << ea - least) + (mb << eb - least), least, bool(a & b & _SIGN))


def multiply(a: int, b: int) -> int:
    sign = (a ^ b) & _SIGN
    if is_nan(a) or is_nan(b):
        return FLOAT_NAN
    if _is_infinite(a) or _is_infinite(b):
        zero = a & ~_SIGN == 0 or b & ~_SIGN == 0
        return FLOAT_NAN if zero else sign | INFINITY
    (ma, ea), (mb, eb) = parts(a), parts(b)
    return rounded(ma * mb, ea + eb, bool(sign))


def compare(a: int, b: int) -> str:
    """``<``, ``=``, ``>``, or ``?`` if one of them is no number."""
    if is_nan(a) or is_nan(b):
        return "?"
    left, right = (_order(operand) for operand in (a, b))
    return "<" if left < right else ">" if left > right else "="


def _order(bits: int) -> int:
    """Numbers in their order, as integers; both zeros are 0."""
    return -(bits & ~_SIGN) if bits & _SIGN else bits


def from_int(bits: int) -> int:
    """The number nearest to a signed 32-bit integer."""
    return rounded(bits - (1 << 32) if bits & _SIGN else bits, 0)


def to_int(bits: int) -> int:
    """The integer part as a signed 32-bit integer's bits; saturated, and 0 for a NaN."""
    if is_nan(bits):
        return 0
    if _is_infinite(bits):
        return 0x8000_0000 if bits & _SIGN else 0x7FFF_FFFF
    whole = int(value_of(bits))  # towards zero
    return max(-1 << 31, min(whole, (1 << 31) - 1)) & 0xFFFF_FFFF
