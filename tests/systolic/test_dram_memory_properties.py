"""Beats through the accelerator's memory in a DRAM: the bounded proof finds planted faults."""

import pytest

from kit.faults import edited
from kit.planted import refuted

pytestmark = [pytest.mark.proof, pytest.mark.thorough]


@pytest.mark.parametrize(("old", "new", "says"), [
    (" & ((self.fault == 0) | waits)", "", "a tile is offered after a refusal"),
    (" & ((self.fault == 0) | waits)", " & (self.fault == 0)", "tile: offer withdrawn"),
    ("room.eq(tile - place[:inside])", "room.eq(tile)", "a tile reaches over the end"),
    ("place.eq(place + words)", "place.eq(place + words + 1)", "a tile begins elsewhere"),
    ("words.eq(Mux(left < room, left, room))", "words.eq(room)", "more words than are left"),
    ("(self.asked - self.moved)[:len(self.asked)] != self.slots",
     "(self.asked - self.moved)[:len(self.asked)] != self.slots + 1", "more tiles than slots"),
    ("deliver.payload.words[lane]", "deliver.payload.words[lane ^ 1]",
     "another word than DRAM delivered"),
    ("word_select(lane % self.words", "word_select(lane ^ 1", "another word than the beat of its"),
    ("self.asked != self.moved,", "1,", "a word that the accelerator has not offered"),
    ("request.ready.eq(~busy & ", "request.ready.eq(", "a transfer ends before"),
])
def test_faults_are_found(old, new, says, monkeypatch):
    faulty = edited("cyclebound.hdl.systolic.dram_memory", (old, new)).DramMemory
    monkeypatch.setattr("cyclebound.sim.catalogue.systolic_layers.DramMemory", faulty)
    assert says in refuted("systolic.dram_memory", "words")
