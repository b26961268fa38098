"""Masters that share a RAM, explored: what is noticed."""

import dataclasses
import functools

import pytest

from cyclebound.golden.noc.shmac_sharing import kind_of
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.noc import handshake_output
from cyclebound.sim.catalogue import noc_shmac
from cyclebound.sim.describe.block import Exploration
from cyclebound.sim.proof.explore import explore
from cyclebound.tb.noc.grid_environment import SharingEnvironment

pytestmark = pytest.mark.thorough

_PAIR = {"rows": 1, "columns": 2, "words": 2, "to_memory_cycles": 1, "memory_cycles": 3,
         "to_core_cycles": 2}
_TILES = [(0, 0), (0, 1), (0, 2)]


def explored(what, mix, cores, *, victim=None, less=0, measured=0, columns=2):
    """The proof for the core of tile ``measured`` of those that use the RAM of tile 1."""
    parameters = {**_PAIR, "columns": columns}
    block = next(block for block in noc_shmac.BLOCKS if block.name == "noc.handshake_mesh")
    kind = kind_of(_TILES[measured], [_TILES[core] for core in cores], _TILES[1])
    exploration = Exploration(
        "pair", "whatever they like", what,
        functools.partial(SharingEnvironment, target=1, cores=cores, mix=mix, victim=victim),
        lambda parameters, index: kind if index["n"] == measured else None, (parameters,))
    bounds = tuple(dataclasses.replace(binding, bound=lowered(binding.bound, less))
                   if binding.what == what else binding for binding in block.bounds)
    return explore(dataclasses.replace(block, bounds=bounds), exploration, parameters)


def lowered(bound, less):
    """The bound, ``less`` cycles lower."""
    @functools.wraps(bound.function)
    def function(**parameters):
        return bound.function(**parameters) - less

    return dataclasses.replace(bound, function=function)


def test_the_bounds_on_two_masters_are_reached_and_one_cycle_less_is_refuted():
    for what, mix, most in (("shared", "reads", 67), ("posted", "writes", 54)):
        proof = explored(what, mix, (0, 1))
        assert (proof.status, proof.claims[0][2]) == ("proved", most), proof.detail
        assert "1 of 1 kinds reach their bound" in proof.detail
        proof = explored(what, mix, (0, 1), less=1)
        assert proof.status == "failed"
        assert f"a request takes {most}, more than {most - 1}" in proof.detail


def test_an_output_that_prefers_an_input_is_found(monkeypatch):
    class Priority(RoundRobinArbiter):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            fixed = type(m)()
            fixed.d.comb += self.grant.eq(self.requests & -self.requests)
            return fixed

    monkeypatch.setattr(handshake_output, "RoundRobinArbiter", Priority)
    # the RAM's own core comes last: two that write leave it no turn
    proof = explored("posted", "writes", (0, 1, 2), measured=1, columns=3)
    assert proof.status == "failed", proof.detail
    assert "a request takes for ever" in proof.detail


def test_a_read_behind_writes_of_its_own_core_is_no_read_of_the_bound():
    assert explored("mixed_read", "any", (0,), victim=0).status == "proved"
    proof = explored("mixed_read", "any", (0,))
    assert proof.status == "failed"
    assert "more than 47" in proof.detail
