# amaranth: UnusedElaboratable=no
"""What proofs of bounds assume is in the ledger, and the bounds' sentences say it."""

import dataclasses
import re

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.describe.block import FOLLOWED
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.proof.prove import Proof, design_of
from cyclebound.sim.run.simulator import Group
from cyclebound.tb.assumed import said

PROVING = [(block, claim) for block in catalogue.load() for claim in block.properties
           if any(claim.name in binding.proved_by for binding in block.bounds)]


@pytest.mark.unit
def test_some_properties_prove_bounds():
    assert len(PROVING) > 12


@pytest.mark.proof
@pytest.mark.parametrize(("block", "claim"), [
    pytest.param(block, claim, marks=pytest.mark.thorough)
    if claim.quick == 0 and claim is not block.properties[0] else (block, claim)
    for block, claim in PROVING],
                         ids=[f"{block.name}-{claim.name}" for block, claim in PROVING])
def test_the_ledger_is_what_the_checker_assumes(block, claim):
    for instance in {id(instance): instance for instance in (
            claim.instances[0], claim.instances[-1])}.values():
        assumed = {re.sub(r"\d+", "#", said(text))
                   for text in design_of(block, claim, instance).assumes}
        assert assumed == {*claim.assumes}


def uncovered(claim, bindings):
    """What a property assumes and the sentences of its bounds do not say."""
    return [says for says, words in claim.assumes.items() if words != FOLLOWED
            for binding in bindings
            if words not in (claim.says if binding.bound.kind == "prediction"
                             else binding.bound.environment)]


@pytest.mark.unit
@pytest.mark.parametrize(("block", "claim"), PROVING,
                         ids=[f"{block.name}-{claim.name}" for block, claim in PROVING])
def test_the_sentence_of_a_bound_says_what_its_proof_assumes(block, claim):
    bindings = [binding for binding in block.bounds if claim.name in binding.proved_by]
    assert not uncovered(claim, bindings)
    if claim.assumes:  # and would not, if it said less
        mute = [dataclasses.replace(binding, bound=dataclasses.replace(
            binding.bound, environment="any")) for binding in bindings]
        assert (uncovered(dataclasses.replace(claim, says="any"), mute)
                or {*claim.assumes.values()} == {FOLLOWED})


@pytest.mark.unit
def test_a_row_has_the_assumptions_of_its_proofs():
    block = catalogue.load().find("noc.arbiter")
    claim, = block.properties
    name, configuration = block.configuration(None)
    count = configuration.parameters["count"]
    proof = Proof(block.name, claim.name, claim.says, {"count": count}, status="proved",
                  claims=[("grant", {"requesters": count}, count)],
                  assumes=["owed: request withdrawn before it was served"])
    group = Group("grant", {"requesters": count}, count, 1, 0, count - 1, "")
    rows = judge(block, name, [("noc.arbiter/four/cycle/1", group)], [proof])
    assert [row.assumes for row in rows if row.what == "grant"] == [
        ["request withdrawn before it was served"]]
