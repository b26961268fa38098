"""Words through a first-level cache: the bounded proof finds planted faults."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]

_BELOW = "flushed, and the word is not below"
_LAST = "another word than the last that was stored"


@pytest.mark.parametrize(("old", "new", "policy", "says"), [
    ("writes.eq(1), fresh.eq(1), written", "writes.eq(0), fresh.eq(1), written", 0, _BELOW),
    ("there.bit_select(row, 1) & dirty.bit_select(row, 1)), fresh",
     "there.bit_select(row, 1) & 0), fresh", 0, _BELOW),
    ("mask.eq(words_of(access)), kept", "mask.eq(1), kept", 1, _BELOW),
    ("& ~pending & hits.any() & access.write", "& ~pending & access.write", 1, _LAST),
])
def test_faults_of_a_bank_are_found(old, new, policy, says, monkeypatch):
    bank = edited("cyclebound.hdl.dataflow.cache_bank", (old, new)).CacheBank
    monkeypatch.setattr("cyclebound.hdl.dataflow.banked_cache.CacheBank", bank)
    assert says in refuted("dataflow.cache", "words", instance=policy)
