"""Distances on the pins of whole controllers: the proofs find planted faults of the arbiter."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize("block", [
    "dram.controller", "dram.dfi_controller", "dram.axi_dfi_controller", "simd.accelerator",
    "simd.hosted_accelerator"])
def test_a_refresh_that_does_not_wait_for_the_last_one_is_found(block, monkeypatch):
    fault = "(self.refreshed, part.nRFC)", "(self.refreshed, part.nRFC - 1)"
    arbiter = edited("cyclebound.hdl.dram.command_arbiter", fault).CommandArbiter
    monkeypatch.setattr("cyclebound.hdl.dram.controller.CommandArbiter", arbiter)
    assert "a refresh waits, nRFC" in refuted(block, "distances")


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"rp": part.nRP,', '"rp": part.nRP - 1,', "bank nRP"),
    ('"rrd_l": part.nRRD_L', '"rrd_l": part.nRRD_L - 1', "group nRRD_L"),
    ("Window(cycles=part.nFAW)", "Window(cycles=part.nFAW - 1)", "window"),
])
def test_distances_of_a_cycle_less_are_not_proved(old, new, says, monkeypatch):
    """A bounded check does not come to see two activates: these faults break the induction."""
    arbiter = edited("cyclebound.hdl.dram.command_arbiter", (old, new)).CommandArbiter
    monkeypatch.setattr("cyclebound.hdl.dram.controller.CommandArbiter", arbiter)
    assert says in refuted("dram.controller", "distances", status="bounded")
