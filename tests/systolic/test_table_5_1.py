"""Table 5.1 of the thesis on AI accelerators, read off the waveform of the RTL."""

from pathlib import Path

import pytest

from cyclebound.sim.drawing.waveform import sample
from cyclebound.sim.run.job import Job, run_job

pytestmark = pytest.mark.cosim


@pytest.mark.thorough
def test_occupancy_on_the_waveform(tmp_path):
    """3 x 3 x 3 on a 3 x 3 array: 1, 3, 6, 7, 6, 3, 1 active PEs, and none before and after."""
    outcome = run_job(Job("systolic.output_stationary", "3x3", "cycle", 1, str(tmp_path),
                          waves=True, test="occupancy_of_table_5_1"))
    assert outcome.passed, outcome.reason
    (fold,) = [group for group in outcome.groups
               if group.what == "fold" and group.parameters == {"m": 3, "k": 3, "n": 3}]
    start = outcome.starts[fold.test]
    values = sample(Path(outcome.waveform), ["top.dut.active"], start + fold.first - 1,
                    start + fold.last + 1)["top.dut.active"]
    assert [value.bit_count() for value in values] == [0, 1, 3, 6, 7, 6, 3, 1, 0]
    # which of them: the antidiagonals, from the upper left to the lower right
    assert values[1] == 0b000_000_001
    assert values[7] == 0b100_000_000
