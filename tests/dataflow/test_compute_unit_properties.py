"""Results of the compute unit, one for each firing: the proof finds planted faults."""

import pytest

from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("buffer.fire.ready.eq(fma.operands.ready)", "buffer.fire.ready.eq(1)",
     "an item is refused without a reason, or taken while a result waits"),
    ("            with m.If(fma.operands.ready):\n                m.d.sync += held.eq(tid)",
     "            m.d.sync += held.eq(tid)", "whose they are"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("dataflow.compute_unit", "firings", (old, new))
