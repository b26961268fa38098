"""Reciprocal, root and circular functions: errors in units of the last place, special values."""

import math

import numpy as np
import pytest

from cyclebound.golden.simd import special_functions as functions
from cyclebound.golden.simd.special_functions import NAN, cos, rcp, rsqrt, sin
from cyclebound.golden.simd.special_tables import SpecialFunction

pytestmark = pytest.mark.unit

ONE, INFINITY, MINUS = 0x3F80_0000, 0x7F80_0000, 0x8000_0000
TWO_PI = 0x40C9_0FDB
EXACT = {rcp: lambda x: 1 / x, rsqrt: lambda x: 1 / np.sqrt(x), sin: np.sin, cos: np.cos}
# what is claimed in docs/simd-arithmetic.md, in units of the last place
LIMITS = {rcp: 0.77, rsqrt: 0.60, sin: 0.77, cos: 0.77}
every = pytest.mark.parametrize("function", EXACT, ids=lambda function: function.__name__)
BLOCK = 1 << 20


def patterns(*values):
    return np.array(values, dtype=np.uint32)


def pattern(value):
    return int(np.float32(value).view(np.uint32))


def errors(function, bits):
    """Distance from the exact value, in units of the last place at the exact value.

    Doubles have 29 bits more: the reference errs by less than a millionth of such a unit. Infinity
    counts as 2**128, what would come next.
    """
    x = bits.view(np.float32).astype(np.float64)
    with np.errstate(divide="ignore"):
        exact = EXACT[function](x)
    got = function(bits).view(np.float32).astype(np.float64)
    got = np.where(np.isinf(got), np.copysign(2.0**128, got), got)
    exact = np.where(np.abs(exact) >= 2.0**128, np.copysign(2.0**128, exact), exact)
    _, exponent = np.frexp(exact)
    return np.abs(got - exact) / np.ldexp(1.0, np.maximum(exponent - 24, -149))


def greatest_error(function, blocks):
    """The greatest error and how many arguments there were."""
    greatest, count = 0.0, 0
    for bits in blocks:
        found = errors(function, bits)
        assert not np.isnan(found).any()
        greatest, count = max(greatest, float(found.max())), count + len(bits)
    return greatest, count


def every_exponent(function, count, seed=18):
    """``count`` random numbers of every exponent, and of either sign where that has a result."""
    rng = np.random.default_rng(seed)
    for field in range(255):
        bits = (rng.integers(0, 1 << 23, count, dtype=np.uint32) | np.uint32(field << 23))
        if field == 0:
            bits |= np.uint32(1)
        if function is not rsqrt:
            bits |= rng.integers(0, 2, count, dtype=np.uint32) << np.uint32(31)
        yield bits


def span(start, stop):
    """All patterns of a range, in blocks."""
    for begin in range(start, stop, BLOCK):
        yield np.arange(begin, min(begin + BLOCK, stop), dtype=np.uint32)


@every
def test_every_exponent(function):
    error, count = greatest_error(function, every_exponent(function, 400))
    assert count == 255 * 400
    assert 0.5 < error < LIMITS[function]


@pytest.mark.thorough
@every
def test_ten_million_numbers_of_every_exponent(function):
    error, count = greatest_error(function, every_exponent(function, 40_000))
    assert count >= 10_000_000
    print(f"{function.__name__}: {error:.4f} ulp, {count} arguments")
    assert 0.5 < error < LIMITS[function]


@pytest.mark.thorough
@pytest.mark.parametrize(("function", "start", "stop"), [
    (rcp, ONE, ONE + (1 << 23)), (rsqrt, ONE, ONE + (2 << 23))])
def test_every_significand(function, start, stop):
    """Between powers of two (of four) results repeat but for their exponent."""
    error, count = greatest_error(function, span(start, stop))
    assert count == stop - start
    print(f"{function.__name__}: {error:.4f} ulp, {count} arguments")
    assert 0.5 < error < LIMITS[function]


@pytest.mark.thorough
@pytest.mark.parametrize("function", [sin, cos])
def test_every_number_from_the_polynomials_first_to_two_pi(function):
    """Below 2**-12, sin(x) is x and cos(x) is 1: errors of x**3 / 6 and x**2 / 2 at most."""
    error, count = greatest_error(function, span(115 << 23, TWO_PI + 1))
    assert count > 120_000_000
    print(f"{function.__name__}: {error:.4f} ulp, {count} arguments")
    assert 0.5 < error < LIMITS[function]


def test_numbers_closest_to_multiples_of_half_pi():
    """Where the range reduction needs all of its bits; the reference is the C library's."""
    hard = patterns(*(pattern(value * math.pi / 2) for value in range(1, 5)),
                    pattern(16367173 * 2.0**72), pattern(16367173 * 2.0**71),
                    pattern(0x7FFFFF * 2.0**80), 0x7F7F_FFFF)
    values = hard.view(np.float32).astype(np.float64)
    for function, exact in ((sin, math.sin), (cos, math.cos)):
        got = function(hard).view(np.float32)
        for x, y in zip(values, got, strict=True):
            assert math.isclose(y, exact(x), rel_tol=2**-23), (function.__name__, float(x))
        assert errors(function, hard).max() < LIMITS[function]


def test_small_angles():
    bits = patterns(*(sign | value for sign in (0, MINUS)
                      for value in (0, 1, 0x7F_FFFF, 0x80_0000, pattern(2.0**-12) - 1)))
    assert (sin(bits) == bits).all()
    assert (cos(bits) == ONE).all()
    near = patterns(pattern(2.0**-12))
    assert errors(sin, near).max() < LIMITS[sin]
    assert errors(cos, near).max() < LIMITS[cos]


@pytest.mark.parametrize(("function", "table"), [
    (rcp, {0: INFINITY, MINUS: MINUS | INFINITY, INFINITY: 0, MINUS | INFINITY: MINUS,
           1: INFINITY, MINUS | 1: MINUS | INFINITY,
           0x0020_0000: INFINITY,        # 2**-128
           0x0020_0001: 0x7F7F_FFF8,     # the least that has a finite reciprocal
           0x7F7F_FFFF: 0x0020_0000,     # the greatest: a subnormal result
           0x7E80_0000: 0x0080_0000,     # 2**126
           0x7F00_0000: 0x0040_0000}),   # 2**127
    (rsqrt, {0: INFINITY, MINUS: MINUS | INFINITY, INFINITY: 0, MINUS | INFINITY: NAN,
             MINUS | 1: NAN, MINUS | ONE: NAN, 1: pattern(2.0**74.5), 4: pattern(2.0**73.5)}),
    (sin, {0: 0, MINUS: MINUS, INFINITY: NAN, MINUS | INFINITY: NAN}),
    (cos, {0: ONE, MINUS: ONE, INFINITY: NAN, MINUS | INFINITY: NAN}),
], ids=lambda value: getattr(value, "__name__", ""))
def test_special_values(function, table):
    table = table | dict.fromkeys((NAN, 0x7F80_0001, 0xFF80_0001, 0xFFFF_FFFF), NAN)
    got = function(patterns(*table))
    assert {x: hex(y) for x, y in zip(table, got, strict=True)} == {
        x: hex(y) for x, y in table.items()}


def test_powers_of_two_are_exact():
    exponents = np.arange(-126, 127)
    powers = np.ldexp(1.0, exponents).astype(np.float32).view(np.uint32)
    assert (rcp(powers) == powers[::-1]).all()
    even = exponents % 2 == 0
    roots = np.ldexp(1.0, -exponents[even] // 2).astype(np.float32).view(np.uint32)
    assert (rsqrt(powers[even]) == roots).all()


def test_signs():
    rng = np.random.default_rng(1)
    bits = rng.integers(1, INFINITY, 10_000, dtype=np.uint32)
    turned = bits | np.uint32(MINUS)
    assert (rcp(turned) == rcp(bits) | np.uint32(MINUS)).all()
    assert (sin(turned) == sin(bits) ^ np.uint32(MINUS)).all()
    assert (cos(turned) == cos(bits)).all()


def test_any_shape_and_no_other_type():
    for function in EXACT:
        assert function(np.zeros((2, 0, 3), np.uint32)).shape == (2, 0, 3)
        assert function(np.full((2, 3), ONE, np.uint32)).shape == (2, 3)
        assert function(patterns(ONE)).dtype == np.uint32
        assert function(np.uint32(ONE)) == function(patterns(ONE))[0]
        with pytest.raises(TypeError, match=r"^bits must be an array of uint32, not of float32$"):
            function(np.ones(3, np.float32))
    assert [functions.evaluate(member, patterns(ONE))[0] for member in SpecialFunction] == [
        function(patterns(ONE))[0] for function in EXACT]


@every
def test_a_wrong_coefficient_is_found(monkeypatch, function):
    """One unit of 2**-23 in one of 512 constants."""
    row = {rcp: 5, rsqrt: 200, sin: 400, cos: 460}[function]
    table = functions._TABLE.copy()
    table[0, row] += 1 << 7
    monkeypatch.setattr(functions, "_TABLE", table)
    assert greatest_error(function, every_exponent(function, 400))[0] > 1
