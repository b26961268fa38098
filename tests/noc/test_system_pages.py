"""Rules of the DRAM on the pins of whole systems: the proofs find a planted fault."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize("name", ["end_to_end", "end_to_end_read", "many_core"])
def test_a_request_that_changes_while_it_waits_is_found(name, monkeypatch):
    kept = "wiring.connect(m, reorder.source, pages.sink)"
    made = edited("cyclebound.hdl.noc.shared_dram", (
        kept, f"{kept}; m.d.comb += pages.sink.payload.row.eq(self.sinks[0].payload.row)"))
    monkeypatch.setattr(f"cyclebound.hdl.noc.{name}.SharedDram", made.SharedDram)
    assert "another row of bank" in refuted(f"noc.{name}", "commands", status="bounded")
