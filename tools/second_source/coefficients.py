"""Coefficients of the reciprocal units against interpolation, in rational numbers.

The table is made in decimal arithmetic with its constant chosen for the datapath's own errors
(`cyclebound.tools.simd.special_coefficients`). Here the same quadratics are interpolated at three
Chebyshev nodes in rational numbers, functions found in other ways: a root by `math.isqrt`, sine and
cosine from their series in fractions, pi from another formula. The other coefficients are rounded;
to the constant half a unit is added, which the datapath cuts off on average, so that a mistake of
two units is found in it, and of one in the others.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

from cyclebound.golden.simd import special_tables as tables

__all__ = ["compare"]

_BITS = 220         # after the point, of what is no fraction
_ROUNDED = Fraction(51, 100)
_CONSTANT = Fraction(-1, 2), Fraction(3, 2)  # units above the interpolated one

Real = Callable[[Fraction], Fraction]


def _root(value: Fraction) -> Fraction:
    return Fraction(isqrt((value.numerator << 2 * _BITS) // value.denominator), 1 << _BITS)


def _pi() -> Fraction:
    """Pi by Euler's formula: 20 arctan(1/7) + 8 arctan(3/79)."""
    def arctangent(x: Fraction) -> Fraction:
        total, power, number = Fraction(0), x, 1
        while power > Fraction(1, 1 << _BITS):
            total += power / number if number % 4 == 1 else -power / number
            power, number = power * x * x, number + 2
        return total
    return _short(20 * arctangent(Fraction(1, 7)) + 8 * arctangent(Fraction(3, 79)))


def _short(value: Fraction) -> Fraction:
    return Fraction(round(value * (1 << _BITS)), 1 << _BITS)


def _series(angle: Fraction, power: int) -> Fraction:
    """The sine (``power`` 1) or the cosine (0) of an angle below 1."""
    term = angle if power else Fraction(1)
    total, square = Fraction(0), _short(angle * angle)
    while abs(term) > Fraction(1, 1 << _BITS - 8):
        total += term
        term = _short(-term * square / ((power + 1) * (power + 2)))
        power += 2
    return total


def _quadratics() -> list[tuple[Fraction, Fraction, Fraction]]:
    half_pi = _pi() / 2
    node = _root(Fraction(3, 4))
    parts: list[tuple[Real, Fraction, Fraction, int]] = [
        (lambda x: 1 / x, Fraction(1), Fraction(1, 128), 128),
        (lambda x: _root(1 / x), Fraction(1), Fraction(1, 128), 128),
        (lambda x: _root(1 / x), Fraction(2), Fraction(2, 128), 128),
        (lambda r: _series(half_pi * r, 1) / r, Fraction(0), Fraction(1, 128), 64),
        (lambda r: _series(half_pi * r, 0), Fraction(0), Fraction(1, 128), 64)]
    found = []
    for function, start, width, count in parts:
        for number in range(count):
            middle, half = start + width * number + width / 2, width / 2
            below, at, above = (function(_short(middle + half * t)) for t in (-node, 0, node))
            found.append((at, (above - below) / (2 * node), (above + below - 2 * at) * 2 / 3))
    return found


def compare() -> tuple[int, list[str]]:
    """Entries compared, and how any differ."""
    scale, wrong = 1 << 30, []
    right = _quadratics()
    rows = tables.COEFFICIENTS
    if (len(rows), tables.FRACTION_BITS) != (len(right), 30):
        wrong.append(f"{len(rows)} rows of {tables.FRACTION_BITS} bits, and not 512 of 30")
    for number, (row, wanted) in enumerate(zip(rows, right, strict=False)):
        constant, first, second = (have - scale * want for have, want in
                                   zip(row, wanted, strict=True))
        for name, off in (("first", first), ("second", second)):
            if abs(off) > _ROUNDED:
                wrong.append(f"row {number}: {name} coefficient is off by {float(off):.2f} units")
        if not _CONSTANT[0] < constant < _CONSTANT[1]:
            wrong.append(f"row {number}: constant is off by {float(constant):.2f} units")
    if tables.TWO_OVER_PI != int(2 / _pi() * (1 << tables.TWO_OVER_PI_BITS)):
        wrong.append("2 / pi differs")
    return 3 * len(rows) + 1, wrong
