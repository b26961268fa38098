"""What the bound of indexed requests is put together from."""

import pytest

from cyclebound.golden.dram.index_chains import latest_activates
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
