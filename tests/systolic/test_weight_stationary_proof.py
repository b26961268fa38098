"""Weight-stationary array: its timing is proved by induction, and a fault is not."""

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.prove import prove

from ..sim.mutants import Mutant, with_fault

pytestmark = pytest.mark.proof

OUT_OF_TURN = Mutant("systolic.weight_stationary", "weights are taken out of their turn",
                     "self.weights.ready.eq(step & (~full | begin))",
                     "self.weights.ready.eq(step)")


def timing_of(block, folder, rows, columns, *, double_buffer):
    claim = next(each for each in block.properties if each.name == "timing")
    return prove(block, claim, {
        "rows": rows, "columns": columns, "operand_width": 1, "accumulator_width": 2,
        "double_buffer": double_buffer}, folder=folder)


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3)])
def test_timing_is_proved(tmp_path, rows, columns, double_buffer):
    block = catalogue.load().find("systolic.weight_stationary")
    found = timing_of(block, tmp_path, rows, columns, double_buffer=double_buffer)
    assert found.status == "proved", found.detail


def test_a_fault_is_not_proved(tmp_path):
    block = catalogue.load().find(OUT_OF_TURN.block)
    block = with_fault(block, OUT_OF_TURN, watched=True, max_cycles=1)
    found = timing_of(block, tmp_path, 2, 3, double_buffer=True)
    assert found.status == "failed"
    assert "weights out of turn, or refused" in found.detail
