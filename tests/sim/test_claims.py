"""Proofs are of the bounds themselves: of one that is a cycle less, each finds a counterexample."""

import dataclasses
import functools

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.prove import claims_of, prove

CLAIMS = [(block.name, claim.name, what) for block in catalogue.load()
          for claim in block.properties for what in claim.declares]
QUICK = ("dram.refresh_timer", "in_time", "request")


def with_bound(block, what, change):
    """The block with another bound on these requests."""
    def changed(bound):
        @functools.wraps(bound.function)  # which has the same parameters
        def function(**known):
            return change(bound.function(**known))

        return dataclasses.replace(bound, function=function)

    return dataclasses.replace(block, bounds=tuple(
        dataclasses.replace(entry, bound=changed(entry.bound)) if entry.what == what else entry
        for entry in block.bounds))


@pytest.mark.unit
def test_every_claim_is_measured_by_a_probe():
    """What has a probe no testbench can observe by itself: `Bench.observe` refuses it."""
    assert not [f"{block.name} {entry.what}" for block in catalogue.load()
                for entry in block.bounds if entry.probe is None]


@pytest.mark.proof
@pytest.mark.parametrize("which", [
    claim if claim == QUICK else pytest.param(claim, marks=pytest.mark.thorough)
    for claim in CLAIMS], ids=" ".join)
def test_a_bound_of_a_cycle_less_is_refuted(which, tmp_path):
    name, of, what = which
    block = catalogue.load().find(name)
    claim = next(each for each in block.properties if each.name == of)
    less = with_bound(block, what, lambda cycles: cycles - 1)
    instance = claim.instances[0]
    assert {each.what: each.limit for each in claims_of(less, claim, instance)}[what] == {
        each.what: each.limit for each in claims_of(block, claim, instance)}[what] - 1
    found = prove(less, claim, instance, folder=tmp_path)
    assert found.status == "failed"
    assert f"{what}: a request takes more than" in found.detail
