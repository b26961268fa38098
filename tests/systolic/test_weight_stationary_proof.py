# amaranth: UnusedElaboratable=no
"""Weight-stationary array: its timing is proved by induction, and a fault is not."""

import pytest

from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray
from cyclebound.tb.systolic.weight_stationary_properties import WeightStationaryProof

from .test_output_stationary import induction
from .test_weight_stationary_properties import Tampered

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3)])
def test_timing_is_proved(tmp_path, rows, columns, double_buffer):
    dut = WeightStationaryArray(rows=rows, columns=columns, operand_width=1, accumulator_width=2,
                                double_buffer=double_buffer)
    assert induction(tmp_path, dut, WeightStationaryProof(dut))


def test_a_fault_is_not_proved(tmp_path):
    dut = Tampered(lambda ports, array, cycle: ports.weights.ready.eq(1), True)
    dut.filled, dut.wave_valid = dut.array.filled, dut.array.wave_valid
    dut.in_fold = dut.array.in_fold
    assert not induction(tmp_path, dut, WeightStationaryProof(dut))
