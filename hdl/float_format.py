"""Single precision as wires: taken apart, and rounded.

No block: part of the units that compute with it, whose models, testbenches and tests cover it.
"""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Value

__all__ = ["BIAS", "FRACTION", "INFINITY", "Unpacked", "round_to_even", "unpack"]

FRACTION, BIAS = 23, 127
INFINITY = 0xFF << FRACTION


class Unpacked(NamedTuple):
    """Parts of a pattern; a subnormal number has the exponent of the least normal one.

    Of a number, the value is ``significand * 2**(exponent - BIAS - FRACTION)``.
    """

    sign: Value
    exponent: Value     # 8 bits, biased, at least 1
    significand: Value  # 24 bits
    zero: Value
    infinite: Value
    nan: Value


def unpack(bits):
    """The parts of a pattern of 32 bits."""
    field, fraction = bits[FRACTION:-1], bits[:FRACTION]
    normal = field.any()
    return Unpacked(
        sign=bits[-1], exponent=Cat(field[0] | ~normal, field[1:]),
        significand=Cat(fraction, normal), zero=~normal & ~fraction.any(),
        infinite=field.all() & ~fraction.any(), nan=field.all() & fraction.any())


def round_to_even(exponent, significand, half, rest):
    """A pattern without its sign; the carry may go through to infinity.

    ``exponent``: biased, and one less, because the significand's highest bit adds to it; 0 of a
    subnormal number. ``half``, ``rest``: the bit below the significand, and whether there is more.
    """
    up = half & (rest | significand[0])
    return (Cat(Const(0, FRACTION), exponent) + significand + up)[:31]
