"""Tables of the reciprocal units: made anew, and what the range reduction rests on."""

import math
from fractions import Fraction
from pathlib import Path

import pytest

from cyclebound.golden.simd import special_tables
from cyclebound.tools.simd import special_coefficients as tool

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def text():
    return tool.table_text()


def test_tables_are_what_the_command_writes(text):
    assert Path(special_tables.__file__).read_text() == text


def test_the_command_writes_them(tmp_path, monkeypatch, capsys, text):
    monkeypatch.setattr(tool.simd, "__file__", str(tmp_path / "__init__.py"))
    tool.main()
    assert (tmp_path / "special_tables.py").read_text() == text
    assert capsys.readouterr().out == "special_tables.py: 512 rows\n"


def test_coefficients_fit_a_word_of_71_bits():
    """31, 24 and 16 bits: two block RAMs of 512 words of 36 bits."""
    assert len(special_tables.COEFFICIENTS) == 512
    for constant, first, second in special_tables.COEFFICIENTS:
        assert 0 < constant < 1 << 31
        assert -(1 << 23) <= first < 1 << 23
        assert -(1 << 15) <= second < 1 << 15


def test_two_over_pi():
    bits = special_tables.TWO_OVER_PI
    assert math.isclose(bits / (1 << special_tables.TWO_OVER_PI_BITS), 2 / math.pi, rel_tol=1e-15)
    # the digits of OEIS A060294
    assert str(bits * 10**50 >> special_tables.TWO_OVER_PI_BITS) == (
        "63661977236758134307553505349005744813783858296182")


def nearest_multiples():
    """For each exponent of an integer significand: the number below 2**24 that comes closest to a
    multiple of pi / 2, and its distance in units of pi / 2.

    The best approximations ``|m * a - n|`` with the least m are the convergents of a.
    """
    scale = special_tables.TWO_OVER_PI_BITS
    for exponent in range(-23, 105):  # below, numbers are less than 1
        part = Fraction(special_tables.TWO_OVER_PI << exponent + 23, 1 << scale + 23) % 1
        rest, h, k, before = part, (0, 1), (1, 0), None
        while True:
            whole = rest.numerator // rest.denominator
            h, k = (h[1], whole * h[1] + h[0]), (k[1], whole * k[1] + k[0])
            if k[1] >= 1 << 24:
                break
            before = abs(k[1] * part - h[1]), k[1]
            if rest == whole:
                break
            rest = 1 / (rest - whole)
        yield exponent, before[1], before[0]


def test_no_number_is_closer_to_a_multiple_of_half_pi_than_the_reduction_allows():
    """Found again: Muller's worst case of single precision, 16367173 * 2**72."""
    # significands of numbers have 24 bits; smaller ones are those of smaller exponents, too
    closest = min((float(distance), exponent, significand)
                  for exponent, significand, distance in nearest_multiples() if exponent > -7)
    assert closest[1:] == (72, 16367173)
    assert 2**-30 < closest[0] < 2**-29.8
    assert all(float(distance) > 2**-30 for _, _, distance in nearest_multiples())
