"""No packet is lost, and each arrives where it is for: the proofs find planted faults."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("position.row.eq(tile[0])", "position.row.eq(0)", "a packet is dropped"),
    ("connected |= 1 << port", "pass", "it asks for its way"),
])
def test_faults_of_the_network_are_found(old, new, says):
    assert says in refuted("shmac.network", "routes", (old, new), instance=1)


@pytest.mark.parametrize(("part", "fault", "says"), [
    ("tile.CoreTile", ("absent.eq(~system & ~inside)", "absent.eq(0)"),
     "a packet whose target is not there"),
    ("ram.Ram", ("payload.initiator.eq(packet.initiator)", "payload.initiator.eq(-1)"),
     "a packet whose initiator is not there"),
])
def test_faults_of_tiles_are_found(part, fault, says, monkeypatch):
    module, name = part.split(".")
    made = edited(f"cyclebound.hdl.shmac.{module}", fault)
    monkeypatch.setattr(f"cyclebound.hdl.shmac.grid.{name}", getattr(made, name))
    assert says in refuted("shmac.grid", "routes")
