"""Words through the caches: the bounded proofs find planted faults."""

import pytest

from cyclebound.hdl.dataflow.banked_cache import BankedCache
from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]

_BELOW = "flushed, and the word is not below"
_LAST = "another word than the last that was stored"
_NOT_DIRTY = ("there.bit_select(row, 1) & dirty.bit_select(row, 1)), fresh",
              "there.bit_select(row, 1) & 0), fresh")
_NO_WRITE = ("writes.eq(1), fresh.eq(1), written", "writes.eq(0), fresh.eq(1), written")


@pytest.mark.parametrize(("block", "edit", "instance", "says"), [
    ("dataflow.cache", _NO_WRITE, 0, _BELOW),
    ("dataflow.cache", _NOT_DIRTY, 0, _BELOW),
    ("dataflow.cache", ("mask.eq(words_of(access)), kept", "mask.eq(1), kept"), 1, _BELOW),
    ("dataflow.cache", ("& ~pending & hits.any() & access.write", "& ~pending & access.write"), 1,
     _LAST),
    ("dataflow.l2", _NO_WRITE, 0, _BELOW),
    ("dataflow.l2", _NOT_DIRTY, 1, _BELOW),
    ("dataflow.l2", ("made.mask if self.whole", "every if self.whole"), 0, _LAST),
])
def test_faults_of_a_bank_are_found(block, edit, instance, says, monkeypatch):
    bank = edited("cyclebound.hdl.dataflow.cache_bank", edit).CacheBank
    monkeypatch.setattr("cyclebound.hdl.dataflow.banked_cache.CacheBank", bank)
    assert says in refuted(block, "words", instance=instance)


@pytest.mark.parametrize(("edit", "instance", "says"), [
    (("enumerate(self.line_ports):", "enumerate(self.line_ports[::-1]):"), 1,
     "a line of another channel"),
    (("response.valid.eq(made.any())", "response.valid.eq(1)"), 0, "an answer without a request"),
    (("Mux(silent, 0, at_once", "Mux(0, 0, at_once"), 0, _LAST),
    (("tag.eq(Mux(replays[p].any(), waited", "tag.eq(Mux(0, waited"), 0, _LAST),
])
def test_faults_between_banks_are_found(edit, instance, says, monkeypatch):
    faulty = edited("cyclebound.hdl.dataflow.banked_cache", edit).BankedCache
    monkeypatch.setattr(BankedCache, "elaborate", faulty.elaborate)
    monkeypatch.setattr(BankedCache, "_below", faulty._below)
    assert says in refuted("dataflow.l2", "words", instance=instance)
