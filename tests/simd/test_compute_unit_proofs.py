"""Proofs of the compute unit have to fail for faults of the kind that they are about."""

import dataclasses

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from kit.faults import edited


@pytest.mark.thorough
@pytest.mark.proof
def test_an_instruction_that_does_not_wait_has_a_counterexample(tmp_path):
    block = catalogue.load().find("simd.compute_unit")
    order = next(claim for claim in block.properties if claim.name == "order")
    module = edited("cyclebound.hdl.simd.compute_unit",
                    ("(number == 0) & (scoreboard.wait | ", "(number == 0) & ("))
    found = prove(dataclasses.replace(block, component=module.ComputeUnit), order,
                  order.instances[0], folder=tmp_path)
    assert found.status == "failed"
    assert "an operand is read before it is written" in found.detail
