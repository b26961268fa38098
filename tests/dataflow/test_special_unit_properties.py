"""Results of the special unit, one for each firing: the proof finds planted faults."""

import pytest

from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    (" & ~self.busy.bit_select(index, 1))", ")", "it is in its entry, or on offer"),
    ("block.operands.valid.eq(enters & ~free[:number].any())", "block.operands.valid.eq(enters)",
     "a block has entry"),
    ("self.done.eq(self.done & ~leaves | answered)", "self.done.eq(self.done | answered)",
     "a block has entry"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("dataflow.special_unit", "firings", (old, new))
