"""The checks of parameters: what they let pass, and the whole message of what they refuse."""

import re

import pytest

from cyclebound.golden.parameters import check_integer, check_power_of_two

pytestmark = pytest.mark.unit


def test_what_fits_passes():
    for value in (2, 3, 7):
        check_integer("depth", value, 2, 7)
    check_integer("depth", 1 << 100, 0)
    for value in (4, 8, 64):
        check_power_of_two("bus", value, 4, 64)
    check_power_of_two("bus", 1)


@pytest.mark.parametrize(("check", "arguments", "kind", "says"), [
    (check_integer, (1, 2), ValueError, "must be at least 2, not 1"),
    (check_integer, (8, 2, 7), ValueError, "must be from 2 to 7, not 8"),
    (check_integer, (2.0, 2), TypeError, "must be an integer, not 2.0"),
    (check_integer, (True, 0), TypeError, "must be an integer, not True"),
    (check_power_of_two, (6,), ValueError, "must be a power of two, not 6"),
    (check_power_of_two, (0,), ValueError, "must be a power of two, not 0"),
    (check_power_of_two, (-4,), ValueError, "must be a power of two, not -4"),
    (check_power_of_two, (1, 2), ValueError, "must be a power of two of at least 2, not 1"),
    (check_power_of_two, (128, 4, 64), ValueError, "must be a power of two from 4 to 64, not 128"),
    (check_power_of_two, ("8",), TypeError, "must be an integer, not '8'"),
])
def test_what_does_not_is_refused(check, arguments, kind, says):
    with pytest.raises(kind, match=f"^bus {re.escape(says)}$"):
        check("bus", *arguments)
