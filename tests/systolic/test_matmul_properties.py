"""Rows of whole products: the proof finds planted faults."""

import pytest

from cyclebound.hdl.systolic.matmul import Matmul
from cyclebound.tb.systolic.matmul_properties import MatmulProof
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    (" & sums.results.payload.final),", "),", "a product begins before"),
    ("address.eq(place + 1)", "address.eq(place)", "not the product"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("systolic.matmul", "products", (old, new))


def test_an_array_of_more_rows_is_refused():
    with pytest.raises(ValueError, match=r"^rows must be 1, not 2$"):
        MatmulProof(Matmul(rows=2, columns=1))
