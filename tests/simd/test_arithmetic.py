"""What the lanes compute, against exact integers and the definition (`golden.floating`)."""

import numpy as np
import pytest

from cyclebound.golden import floating
from cyclebound.golden.simd import arithmetic
from cyclebound.golden.simd.arithmetic import NAN

pytestmark = pytest.mark.unit

SPECIAL = (0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF,
           0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x4F000000,
           0xCF000000, 0x4EFFFFFF)


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(5)
    chosen = rng.integers(0, 1 << 32, (2, 1500), dtype=np.uint32)
    near = rng.integers(0x3F000000, 0x40800000, (2, 500), dtype=np.uint32)
    near[1] ^= rng.integers(0, 2, 500, dtype=np.uint32) << np.uint32(31)
    crossed = np.array([(a, b) for a in SPECIAL for b in SPECIAL], np.uint32).T
    return np.concatenate([chosen, near, crossed], axis=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sums_and_products(pairs):
    a, b = pairs
    for found, exact in ((arithmetic.add(a, b), floating.add),
                         (arithmetic.mul(a, b), floating.multiply),
                         (arithmetic.sub(a, b), lambda x, y: floating.add(
                             x, y if floating.is_nan(y) else y ^ 1 << 31))):
        wanted = [exact(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert found.tolist() == wanted


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_mad_rounds_twice(pairs):
    a, b = pairs
    c = np.roll(a, 7)
    wanted = [floating.add(floating.multiply(x, y), z)
              for x, y, z in zip(*(operand.tolist() for operand in (a, b, c)), strict=True)]
    assert arithmetic.mad(a, b, c).tolist() == wanted
    x = np.array([0x3F800001], np.uint32)  # (1 + e)**2 - (1 + 2 e): a fused one would leave e**2
    assert arithmetic.mad(x, x, np.array([0xBF800002], np.uint32)).tolist() == [0]


def least(a, b, sign=1):
    if floating.is_nan(a) or floating.is_nan(b):
        return NAN if floating.is_nan(a) and floating.is_nan(b) else b if floating.is_nan(a) else a
    first = floating.compare(a, b)
    if first == "=":
        return a if a == b else 0x80000000 if sign > 0 else 0
    return a if (first == "<") == (sign > 0) else b


def test_the_lesser_and_the_greater(pairs):
    a, b = pairs
    for found, sign in ((arithmetic.lesser(a, b), 1), (arithmetic.greater(a, b), -1)):
        assert found.tolist() == [least(x, y, sign)
                                  for x, y in zip(a.tolist(), b.tolist(), strict=True)]


def test_conversions(pairs):
    a = pairs[0]
    with np.errstate(invalid="ignore"):
        assert arithmetic.int_of(a).tolist() == [floating.to_int(x) for x in a.tolist()]
    assert arithmetic.float_of(a).tolist() == [floating.rounded(x, 0) for x in a.tolist()]


def test_comparisons_with_zero(pairs):
    a = pairs[0]
    holds = {"ez": "=", "g": ">", "ge": ">=", "l": "<", "le": "<=", "nz": "<>?"}
    for condition, signs in holds.items():
        assert arithmetic.test(condition, a).tolist() == [
            floating.compare(x, 0) in signs for x in a.tolist()]


@pytest.mark.parametrize(("a", "b", "quotient", "rest"), [
    (7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1), (5, 0, -1, 5),
    (-(1 << 31), -1, -(1 << 31), 0), (0, 3, 0, 0)])
def test_division(a, b, quotient, rest):
    a, b = a & 0xFFFFFFFF, b & 0xFFFFFFFF
    assert arithmetic.divide(a, b) == quotient & 0xFFFFFFFF
    assert arithmetic.remainder(a, b) == rest & 0xFFFFFFFF


@pytest.mark.parametrize(("a", "found"), [
    (0, -1), (0xFFFFFFFF, -1), (1, 0), (0x7FFFFFFF, 30), (0x80000000, 30), (0xFFFFFFFE, 0),
    (0x100, 8)])
def test_highest_bit(a, found):
    assert arithmetic.find(a) == found & 0xFFFFFFFF


def test_shifts_take_five_bits():
    a = np.array([0x80000001], np.uint32)
    assert arithmetic.shift_left(a, np.uint32(33)).tolist() == [2]
    assert arithmetic.shift_right(a, np.uint32(33)).tolist() == [0xC0000000]
