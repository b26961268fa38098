"""Rows of the weight-stationary array in floating point: the proof finds planted faults."""

import pytest

from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("& (under_way != self.room)", "", "more rows under way than there is room for"),
    ("valid.eq(Cat(accept, valid))", "valid.eq(Cat(self.left.valid, valid))",
     "a row of sums is missing, late or of no row of A"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("systolic.float_weight_stationary", "rows", (old, new))
