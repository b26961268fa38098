"""Proofs are of the bounds themselves: of one that is a cycle less, each finds a counterexample."""

import dataclasses
import functools
import inspect
import itertools

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import claims_of, prove
from cyclebound.tb.bench import Bench

CLAIMS = [(block.name, claim.name, what) for block in catalogue.load()
          for claim in block.properties for what in claim.declares]
# Here the worst case comes too late for a bounded check, and is refuted by simulating what is
# proved: tests/noc/test_mesh_properties.py.
CLAIMS = [claim for claim in CLAIMS if not claim[1].startswith("traversal_")]
QUICK = ("dram.refresh_timer", "in_time", "request")


def with_bound(block, what, change):
    """The block with another bound on these requests."""
    def changed(bound):
        @functools.wraps(bound.function)  # which has the same parameters
        def function(**known):
            return change(bound.function(**known))

        return dataclasses.replace(bound, function=function)

    return dataclasses.replace(block, bounds=tuple(
        dataclasses.replace(binding, bound=changed(binding.bound)) if binding.what == what
        else binding
        for binding in block.bounds))


@pytest.mark.unit
def test_every_claim_is_measured_by_a_probe():
    """And a testbench has nothing by which it could say what a request took."""
    assert not [f"{block.name} {binding.what}" for block in catalogue.load()
                for binding in block.bounds if binding.probe is None]
    assert not [name for name in vars(Bench) if "observe" in name]


@pytest.mark.unit
def test_what_requesters_know_beforehand_has_its_range():
    """All that a bound asks for beside the block's own parameters: declared, or seen at ports."""
    loose = {}
    for block in catalogue.load():
        own = {*inspect.signature(block.component).parameters,
               *(name for configuration in block.configurations.values()
                 for name in configuration.parameters)}
        for binding in block.bounds:
            if binding.bound.kind == "bound":
                found = {*binding.bound.parameters} - own - {*binding.bound.ranges}
                loose |= {f"{block.name} {binding.what}": found} if found else {}
    assert loose == {}


@pytest.mark.unit
def test_what_follows_the_very_input_is_a_prediction():
    """A formula of a whole input, whose time it knows to the cycle, is no worst case of a class."""
    kinds = {f"{block.name} {binding.what}": binding.bound.kind
             for block in catalogue.load() for binding in block.bounds}
    for name in ("dram.axi_port read_alone", "dram.axi_port write_alone",
                 "dram.stride_sequencer tile", "dram.index_iterator request",
                 "systolic.output_stationary macs", "systolic.output_stationary product",
                 "systolic.weight_stationary product", "systolic.tile_sequencer walk",
                 "systolic.matmul matmul", "systolic.accelerator compute",
                 "dataflow.special_unit result", "simd.scratchpad transfer"):
        assert kinds[name] == "prediction", name


@pytest.mark.unit
def test_no_claim_is_another_one_under_another_name():
    """Of one block and probe: else the kinds that are loose could be left to the other."""
    for block in catalogue.load():
        for one, other in itertools.combinations(block.bounds, 2):
            assert one.bound.function is not other.bound.function or one.probe != other.probe, (
                f"{block.name}: {one.what} and {other.what}")


@pytest.mark.proof
@pytest.mark.parametrize("which", [
    claim if claim == QUICK else pytest.param(claim, marks=pytest.mark.thorough)
    for claim in CLAIMS], ids=" ".join)
def test_a_bound_of_a_cycle_less_is_refuted(which, tmp_path):
    name, of, what = which
    block = catalogue.load().find(name)
    claim = next(claim for claim in block.properties if claim.name == of)
    less = with_bound(block, what, lambda cycles: cycles - 1)
    instance = claim.instances[0]
    assert {asserted.what: asserted.limit
            for asserted in claims_of(less, claim, instance)}[what] == {
        asserted.what: asserted.limit for asserted in claims_of(block, claim, instance)}[what] - 1
    found = prove(less, claim, instance, folder=tmp_path)
    assert found.status == "failed"
    assert f"{what}: a request takes more than" in found.detail


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize("which", [
    (name, of, what) for name, of, what in CLAIMS
    if {bound.what: bound for bound in catalogue.load().find(name).bounds}[
        what].bound.kind == "prediction"], ids=" ".join)
@pytest.mark.parametrize("more", [1, 12345])
def test_a_prediction_of_more_cycles_is_refuted(which, more, tmp_path):
    """A prediction that is only not exceeded would be proved of any larger formula."""
    name, of, what = which
    block = catalogue.load().find(name)
    claim = next(prop for prop in block.properties if prop.name == of)
    found = prove(with_bound(block, what, lambda cycles: cycles + more), claim,
                  claim.instances[0], folder=tmp_path)
    assert found.status == "failed"
    assert f"{what}: a request takes less than" in found.detail
