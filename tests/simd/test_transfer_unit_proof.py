"""The proof of the transfer unit's order finds planted faults."""

import pytest

from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("part", "old", "new", "says"), [
    ("transfer_unit", "loads = deliver.valid & mine & ~job.scratchpad",
     "loads = deliver.valid & ~job.scratchpad", "a store writes registers"),  # one beside the load
    ("dram_requester", "candidates & self.begin &", "candidates &", "a request out of its turn"),
    ("transfer_unit", "held.eq(completion.valid & self.stall)", "held.eq(completion.valid)",
     "a completion of no access"),
])
def test_faults_are_found(part, old, new, says):
    assert says in refuted("simd.transfer_unit", "order", (old, new),
                           part=f"cyclebound.hdl.simd.{part}")
