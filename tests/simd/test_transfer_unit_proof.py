"""The proof of the transfer unit's order finds planted faults."""

import pytest

from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    ("loads = deliver.valid & mine & ~job.scratchpad",
     "loads = deliver.valid & ~job.scratchpad", "one word of DRAM for both slots"),
    ("wants, mine = self._waits & of_dram & self.begin,", "wants, mine = self._waits & of_dram,",
     "a request out of its turn"),
    ("kept.eq(completion.valid & self.stall)", "kept.eq(completion.valid)",
     "a completion of no access"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("simd.transfer_unit", "order", (old, new))
