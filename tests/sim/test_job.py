"""What a failed test said, in a line."""

import pytest

from cyclebound.sim.job import reason_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("said", "line"), [
    ("", "failed"),
    ("out: cycle 3: done is 0, expected 1", "out: cycle 3: done is 0, expected 1"),
    ("Traceback ...\n  File ...\nKeyError: 'x'", "KeyError: 'x'"),
    ("lane 3: (1, 0)\nassert (1, 0) == (1, 1)\n  At index 1 diff", "lane 3: (1, 0)"),
    ("assert 3 == 4\n +  where 3 = f()", "assert 3 == 4"),
])
def test_reason_of_a_failure(said, line):
    assert reason_of(said) == line
