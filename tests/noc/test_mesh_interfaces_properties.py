"""Words of a mesh with interfaces: the proof finds planted faults."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


def test_words_that_come_twice_are_found(monkeypatch):
    fault = "m.d.sync += received.valid.eq(0)", "m.d.sync += received.valid.eq(received.valid)"
    made = edited("cyclebound.hdl.noc.packet_receiver", fault)
    monkeypatch.setattr("cyclebound.hdl.noc.network_interface.PacketReceiver", made.PacketReceiver)
    assert "words: more leave than have entered" in refuted("noc.mesh_interfaces", "words")
