"""What the bound of indexed requests is put together from."""

import pytest

from cyclebound.golden.dram.index_chains import (
    alternate,
    fewest_extras,
    frozen,
    latest_activates,
)
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, DDR4_3200AA_X8, DDR4_3200AA_X16

pytestmark = pytest.mark.unit

X16, X8 = DDR4_3200AA_X16, DDR4_3200AA_X8


@pytest.mark.parametrize(("part", "rows", "single", "sticky", "times"), [
    (X16, 2, True, 2, (0, 9)),
    (X16, 4, True, 2, (0, 11, 20, 27)),   # two of a group at the end, or by turns
    (X16, 8, True, 2, (0, 11, 23, 34)),   # the third meets the first bank's read at 22
    (X16, 8, False, 9, (0, 11, 23, 35)),  # and the fourth, if a bank has two words
    (X8, 4, True, 9, (0, 4, 8, 12, 35)),  # nFAW, and the fourth bank's read
    (X8, 16, True, 9, (0, 8, 16, 24, 35)),
    (DDR3_1600_MODULE, 8, True, 2, (0, 5, 10, 15, 24)),
])
def test_latest_activates(part, rows, single, sticky, times):
    assert latest_activates(part, count=len(times), rows=rows, single=single,
                            sticky=sticky) == times


def test_extras():
    def extras(part, bursts, opened, left):
        return fewest_extras(part, bursts=bursts, opened=opened, left=left)

    assert [extras(X16, 8, opened, 1) for opened in range(8)] == [0, 0, 2, 2, 1, 1, 0, 0]
    assert [extras(X16, bursts, 7, 1) for bursts in (8, 9, 10, 11, 12, 100)] == [0, 0, 1, 1, 1, 1]
    assert [extras(X8, 100, 4, left) for left in (1, 2, 4, 5)] == [2, 1, 1, 0]
    assert extras(X8, 100, 3, 1) == extras(DDR3_1600_MODULE, 100, 5, 1) == 0


def test_what_has_arrived():
    assert frozen(X16, opened=7, left=1, extras=1)
    assert not frozen(X16, opened=7, left=1, extras=8)
    assert not frozen(X16, opened=5, left=3, extras=1)
    assert not frozen(X8, opened=7, left=1, extras=1)
    assert alternate(X16, bursts=20, rows=8, left=1, extras=2)
    assert not alternate(X16, bursts=20, rows=8, left=1, extras=3)
    assert not alternate(X8, bursts=20, rows=8, left=1, extras=0)
