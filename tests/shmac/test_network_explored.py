"""Every choice of the masters of two tiles, explored: what is noticed."""

import dataclasses

import pytest

from cyclebound.hdl.noc import pipelined_output
from cyclebound.sim import catalogue
from cyclebound.sim.proof.explore import explore

from ..noc.test_grid_environment import lowered
from ..noc.test_handshake_router import Priority

pytestmark = pytest.mark.thorough


def explored(name, less=0):
    block = catalogue.load().find("shmac.network")
    exploration = next(one for one in block.explorations if one.name == name)
    parameters, = exploration.instances
    bounds = tuple(dataclasses.replace(binding, bound=lowered(binding.bound, less))
                   if binding.what == exploration.what else binding for binding in block.bounds)
    return explore(dataclasses.replace(block, bounds=bounds), exploration, parameters)


def test_a_bound_is_reached_and_one_cycle_less_is_refuted():
    proof = explored("read_first_alone_0")
    assert (proof.status, proof.claims[0][2]) == ("proved", 14), proof.detail
    assert "1 of 1 kinds reach their bound" in proof.detail
    proof = explored("read_first_alone_0", less=1)
    assert proof.status == "failed"
    assert "a request takes 14, more than 13" in proof.detail


def test_an_output_that_prefers_an_input_is_found(monkeypatch):
    monkeypatch.setattr(pipelined_output, "RoundRobinArbiter", Priority)
    proof = explored("read_first_beside_1")  # its own router serves what comes from the west first
    assert proof.status == "failed", proof.detail
    assert "a request takes for ever" in proof.detail
