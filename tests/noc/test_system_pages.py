"""Rules of the DRAM on the pins of whole systems: the proofs find a planted fault."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize("name", ["end_to_end", "end_to_end_read", "many_core"])
def test_a_request_that_changes_while_it_waits_is_found(name, monkeypatch):
    kept = "wiring.connect(m, reorder.source, pages.sink)"
    turns = ("turn = Signal(); m.d.sync += turn.eq(~turn); "
             "m.d.comb += pages.sink.payload.row.eq(turn)")
    made = edited("cyclebound.hdl.noc.shared_dram", (kept, f"{kept}; {turns}"))
    monkeypatch.setattr(f"cyclebound.hdl.noc.{name}.SharedDram", made.SharedDram)
    assert "request withdrawn or changed" in refuted(f"noc.{name}", "commands")
