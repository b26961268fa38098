"""The functions of special units: divisions and square roots, exactly, from their definitions.

Source: SGMF, section 4.2. Integer division truncates towards zero; x / 0 is -1 (all ones), and the
least integer divided by -1 is itself. Floats are rounded to nearest even.
"""

from collections.abc import Sequence
from math import isqrt

from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.floating import FLOAT_NAN, INFINITY, is_nan, parts, rounded

__all__ = ["divide", "divide_integers", "evaluate", "root"]

_SIGN, _MASK = 0x8000_0000, 0xFFFF_FFFF
_SPARE = 64  # bits below the last place: what is left over is one more, that is not 0


def divide_integers(a: int, b: int) -> int:
    """Signed division, truncated towards zero."""
    left, right = (value - (1 << 32) if value & _SIGN else value for value in (a, b))
    if right == 0:
        return _MASK
    quotient = abs(left) // abs(right)
    return (-quotient if (left < 0) != (right < 0) else quotient) & _MASK


def divide(a: int, b: int) -> int:
    """``a / b``, rounded once."""
    if is_nan(a) or is_nan(b):
        return FLOAT_NAN
    sign = (a ^ b) & _SIGN
    zero, endless = ([value & ~_SIGN == special for value in (a, b)] for special in (0, INFINITY))
    if all(zero) or all(endless):
        return FLOAT_NAN
    if endless[0] or zero[1]:
        return sign | INFINITY
    if zero[0] or endless[1]:
        return sign
    (ma, ea), (mb, eb) = parts(a & ~_SIGN), parts(b & ~_SIGN)
    quotient, rest = divmod(ma << _SPARE, mb)
    return sign | rounded(quotient << 1 | (rest != 0), ea - eb - _SPARE - 1)


def root(a: int) -> int:
    """The square root, rounded once."""
    if a & ~_SIGN == 0:
        return a
    if is_nan(a) or a & _SIGN:
        return FLOAT_NAN
    if a == INFINITY:
        return a
    significand, exponent = parts(a)
    odd = exponent % 2
    square = significand << odd + 2 * _SPARE
    whole = isqrt(square)
    return rounded(whole << 1 | (whole * whole != square), (exponent - odd) // 2 - _SPARE - 1)


def evaluate(function: Special, values: Sequence[int]) -> int:
    """The result on 32-bit values."""
    if function == Special.IDIV:
        return divide_integers(*values[:2])
    return divide(*values[:2]) if function == Special.FDIV else root(values[0])
