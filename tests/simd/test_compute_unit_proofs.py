"""Proofs of the compute unit have to fail for faults of the kind that they are about."""

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from kit.faults import edited


@pytest.mark.thorough
@pytest.mark.proof
def test_an_instruction_that_does_not_wait_has_a_counterexample(tmp_path, monkeypatch):
    block = catalogue.load().find("simd.compute_unit")
    order = next(claim for claim in block.properties if claim.name == "order")
    faulty = edited("cyclebound.hdl.simd.issue_stage", ("(scoreboard.wait | ", "("))
    monkeypatch.setattr("cyclebound.hdl.simd.compute_unit.IssueStage", faulty.IssueStage)
    found = prove(block, order, order.instances[0], folder=tmp_path)
    assert found.status == "failed"
    assert "an operand is read before it is written" in found.detail
