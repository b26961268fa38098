"""The proof that a tiled system's tiles are isolated finds planted faults."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


def test_a_tile_at_another_ones_port_is_found():
    assert "another client's index is given" in refuted(
        "system.tiled", "isolation",
        ("wiring.connect(m, simd.dram, shared.client[0])",
         "wiring.connect(m, simd.dram, shared.client[1])"),
        ("wiring.connect(m, memory.dram, shared.client[1])",
         "wiring.connect(m, memory.dram, shared.client[0])"))


@pytest.mark.parametrize(("old", "new", "says"), [
    ('"deliver": self.oldest', '"deliver": self.newest', "another client's deliver is shown"),
    ("Cat(payload.buffer, Const(number, CLIENTS.bit_length()))",
     "Cat(payload.buffer, Const(number >> 1, CLIENTS.bit_length()))",
     "a mapping is taken from another client"),
])
def test_faults_of_the_arbiter_are_found(old, new, says, monkeypatch):
    made = edited("cyclebound.hdl.dram.client_arbiter", (old, new))
    monkeypatch.setattr("cyclebound.hdl.dram.client_arbiter.ClientArbiter", made.ClientArbiter)
    assert says in refuted("system.tiled", "isolation")
