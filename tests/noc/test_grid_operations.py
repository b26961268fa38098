"""The proofs of whole grids of SHMAC's tiles find planted faults."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("packet.initiator.eq(self.position)", "packet.initiator.eq(-1)", "a packet is dropped"),
    ("self.operated.eq(ends & ~fetching)", "self.operated.eq(ends)", "an unrequested operation"),
])
def test_faults_of_cores_are_found(old, new, says, monkeypatch):
    made = edited("cyclebound.hdl.noc.shmac_core", (old, new))
    monkeypatch.setattr("cyclebound.hdl.noc.handshake_mesh.ShmacCore", made.ShmacCore)
    assert says in refuted("noc.pipelined_mesh", "operations")


def test_a_router_at_another_place_is_found():
    assert "a packet is dropped" in refuted("noc.handshake_mesh", "operations", (
        "position.column.eq(tile[1])", "position.column.eq(0)"))
