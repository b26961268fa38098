"""Coefficients of the reciprocal units: quadratics for 1/x, 1/sqrt(x), sine and cosine.

    python -m cyclebound.tools.simd.special_coefficients

writes `golden/simd/special_tables.py` anew; tests/simd/test_special_coefficients.py compares. All
arithmetic is decimal with 50 digits, so that every machine finds the same numbers.

Method: a quadratic through the three Chebyshev nodes of its interval, which is close to the
minimax one (the error's third derivative hardly changes within an interval). The second coefficient
is rounded, then the first; the constant is chosen last, in the middle between the least and the
greatest error of what the datapath makes of the other two, with all that it cuts off.
"""

from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path

from cyclebound.golden import simd

__all__ = ["main", "rows", "table_text", "two_over_pi"]

FRACTION_BITS, OFFSET_BITS, SQUARE_BITS = 30, 20, 16
TWO_OVER_PI_BITS = 186  # 104, the greatest exponent of an integer significand, and 82
_DIGITS, _SAMPLES = 50, 32
_HALF = 1 << OFFSET_BITS - 1

Real = Callable[[Decimal], Decimal]


def _pi() -> Decimal:
    """Pi by Machin's formula, to the precision of the decimal context."""
    def arctangent(inverse: int) -> Decimal:
        total, term, number = Decimal(0), Decimal(1) / inverse, 1
        while abs(term) > Decimal(10) ** -(_DIGITS + 30):
            total += term / number
            term, number = -term / (inverse * inverse), number + 2
        return total
    return 4 * (4 * arctangent(5) - arctangent(239))


def two_over_pi() -> int:
    """The first `TWO_OVER_PI_BITS` bits of the fraction 2 / pi."""
    with localcontext() as context:
        context.prec = _DIGITS + 40
        return int(2 / _pi() * (1 << TWO_OVER_PI_BITS))


def _series(square: Decimal, first: int) -> Decimal:
    """``1 - square / (first * (first + 1)) + ...``: a cosine (1) or a sine over its angle (2)."""
    total = term = Decimal(1)
    while abs(term) > Decimal(10) ** -(_DIGITS - 5):
        term *= -square / (first * (first + 1))
        total, first = total + term, first + 2
    return total


def _quadratic(function: Real, left: Decimal, width: Decimal) -> tuple[int, int, int]:
    """Quantised coefficients on ``[left, left + width)``, of an offset from -1 to 1."""
    def at(offset: Decimal) -> Decimal:
        return function(left + width * (offset + 1) / 2) * (1 << FRACTION_BITS)

    node = Decimal(3).sqrt() / 2
    below, middle, above = at(-node), at(Decimal(0)), at(node)
    second = round((above + below - 2 * middle) / (2 * node * node))
    first = round((above - below) / (2 * node))
    errors = []
    for sample in range(_SAMPLES + 1):
        offset = min(sample * 2 * _HALF // _SAMPLES, 2 * _HALF - 1) - _HALF
        square = offset * offset >> 2 * (OFFSET_BITS - 1) - SQUARE_BITS
        value = (Decimal(first * offset) / _HALF + Decimal(second * square) / (1 << SQUARE_BITS)
                 - Decimal("0.5"))  # on average, the last step cuts off half a unit
        errors.append(at(Decimal(offset) / _HALF) - value)
    return round((min(errors) + max(errors)) / 2), first, second


def rows() -> list[tuple[int, int, int]]:
    """All coefficients: constant, first and second, in units of ``2**-FRACTION_BITS``."""
    with localcontext() as context:
        context.prec = _DIGITS
        half_pi = _pi() / 2
        parts: list[tuple[Real, Decimal, Decimal, int]] = [
            (lambda x: 1 / x, Decimal(1), Decimal(1), 128),
            (lambda x: 1 / x.sqrt(), Decimal(1), Decimal(1), 128),
            (lambda x: 1 / x.sqrt(), Decimal(2), Decimal(2), 128),
            (lambda r: half_pi * _series((half_pi * r) ** 2, 2), Decimal(0), Decimal("0.5"), 64),
            (lambda r: _series((half_pi * r) ** 2, 1), Decimal(0), Decimal("0.5"), 64),
        ]
        return [_quadratic(function, start + number * span / count, span / count)
                for function, start, span, count in parts for number in range(count)]


def table_text() -> str:
    """The text of `golden/simd/special_tables.py`."""
    cells = [f"({constant}, {first}, {second})," for constant, first, second in rows()]
    lines = ["    " + " ".join(cells[start:start + 3]) for start in range(0, len(cells), 3)]
    return _HEAD.format(bits=TWO_OVER_PI_BITS, fraction=FRACTION_BITS, offset=OFFSET_BITS,
                        square=SQUARE_BITS, two_over_pi=f"{two_over_pi():#x}",
                        rows="\n".join(lines))


_HEAD = '''"""Tables of the reciprocal units: what functions there are, and their coefficients.

Written by ``python -m cyclebound.tools.simd.special_coefficients``, where the method is;
docs/simd-arithmetic.md has the algorithm.

Row *i* of `COEFFICIENTS` is a quadratic ``(c0 + c1 * t + c2 * t**2) * 2**-FRACTION_BITS`` with *t*
from -1 to 1 across an interval:

* 0 to 127: 1/x, 128 intervals of x in [1, 2);
* 128 to 255, 256 to 383: 1/sqrt(x), 128 intervals of [1, 2) and 128 of [2, 4);
* 384 to 447: sin(pi r / 2) / r, 64 intervals of r in [0, 1/2);
* 448 to 511: cos(pi r / 2), the same.
"""

from enum import IntEnum

__all__ = ["COEFFICIENTS", "COSINE_ROW", "FRACTION_BITS", "NAN", "OFFSET_BITS", "RSQRT_ROW",
           "SINE_ROW", "SQUARE_BITS", "TWO_OVER_PI", "TWO_OVER_PI_BITS", "SpecialFunction"]


class SpecialFunction(IntEnum):
    """Functions of a reciprocal unit."""

    RCP = 0
    RSQRT = 1
    SIN = 2
    COS = 3


NAN = 0x7FC0_0000  # the only one that is ever made

FRACTION_BITS = {fraction}  # below the point of a coefficient
OFFSET_BITS = {offset}    # of an offset within an interval, with its sign
SQUARE_BITS = {square}    # of an offset's square
RSQRT_ROW, SINE_ROW, COSINE_ROW = 128, 384, 448

TWO_OVER_PI_BITS = {bits}
# 2 / pi in units of 2**-TWO_OVER_PI_BITS, cut off
TWO_OVER_PI = {two_over_pi}

COEFFICIENTS = (
{rows}
)
'''


def main() -> None:
    path = Path(simd.__file__).with_name("special_tables.py")
    path.write_text(table_text())
    print(f"{path.name}: {len(rows())} rows")


if __name__ == "__main__":
    main()
