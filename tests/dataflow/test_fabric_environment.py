"""A fabric with any memory, explored: what is noticed."""

import dataclasses
import functools

import pytest

from cyclebound.sim.catalogue import dataflow_fabric
from cyclebound.sim.proof.explore import explore
from cyclebound.tb.dataflow.fabric_environment import FabricEnvironment, completion_of

pytestmark = pytest.mark.thorough

BLOCK = next(block for block in dataflow_fabric.BLOCKS if block.name == "dataflow.fabric")
SHORT = BLOCK.explorations[0]


def test_one_epoch_takes_as_long_as_its_bound_and_a_cycle_less_is_refuted():
    assert SHORT.name == "copy_2_threads_of_3_cycles"
    parameters, = SHORT.instances
    proof = explore(BLOCK, SHORT, parameters)
    assert proof.status == "proved"
    assert "1 of 1 kinds reach their bound" in proof.detail
    most = proof.claims[0][2]
    less = dataclasses.replace(SHORT, kinds=lambda parameters, index: {
        **SHORT.kinds(parameters, index), "fill": SHORT.kinds(parameters, index)["fill"] - 1})
    proof = explore(BLOCK, less, parameters)
    assert proof.status == "failed"
    assert f"a request takes {most}, more than {most - 1}" in proof.detail


def test_a_memory_that_answers_a_cycle_later_than_it_says_is_found():
    parameters, = SHORT.instances
    late = dataclasses.replace(SHORT, environment=functools.partial(
        FabricEnvironment, kernel="copy", threads=2, longest=4))
    proof = explore(BLOCK, late, parameters)
    assert proof.status == "failed", proof.detail
    assert "more than" in proof.detail


def test_the_parameters_are_those_of_the_kernels_estimate():
    assert completion_of("copy", 2, 3, rows=("SL", "LT"), depth=2) == {
        "threads": 2, "fill": 19, "interval": 0, "rest": 0}
