"""Weight-stationary array: timing and sums are proved by induction, and faults are not."""

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove

from ..sim.mutants import Mutant, with_fault

pytestmark = pytest.mark.proof

OUT_OF_TURN = Mutant("systolic.weight_stationary", "weights are taken out of their turn",
                     "self.weights.ready.eq(step & (~full | begin))",
                     "self.weights.ready.eq(step)")


TOO_EARLY = Mutant("systolic.weight_stationary", "a weight is overwritten before it is in use",
                   "pe.swap.eq(swap[i + j])", "pe.swap.eq(swap[j])")


def proof_of(block, folder, rows, columns, *, double_buffer, name="timing", width=1):
    claim = next(claim for claim in block.properties if claim.name == name)
    return prove(block, claim, {
        "rows": rows, "columns": columns, "operand_width": width,
        "accumulator_width": 2 * width, "double_buffer": double_buffer}, folder=folder)


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.thorough
def test_timing_of_a_single_element_is_proved(tmp_path, double_buffer):
    """Larger ones are the regression's to prove."""
    block = catalogue.load().find("systolic.weight_stationary")
    found = proof_of(block, tmp_path, 1, 1, double_buffer=double_buffer)
    assert found.status == "proved", found.detail


@pytest.mark.thorough
def test_wrong_sums_are_not_proved(tmp_path):
    block = with_fault(catalogue.load().find(TOO_EARLY.block), TOO_EARLY, watched=True,
                       max_cycles=1)
    found = proof_of(block, tmp_path, 2, 2, double_buffer=True, name="values", width=2)
    assert found.status == "failed"


@pytest.mark.thorough
def test_a_fault_is_not_proved(tmp_path):
    block = catalogue.load().find(OUT_OF_TURN.block)
    block = with_fault(block, OUT_OF_TURN, watched=True, max_cycles=1)
    found = proof_of(block, tmp_path, 2, 3, double_buffer=True)
    assert found.status == "failed"
    assert "weights out of turn, or refused" in found.detail

