# amaranth: UnusedElaboratable=no
"""Checkers of fabrics, cores and processors fire, and the proofs find planted faults."""

import pytest

from cyclebound.hdl.dataflow.core import Core
from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.hdl.dataflow.processor import Processor
from cyclebound.tb import streams_properties
from cyclebound.tb.dataflow import core_properties, fabric_properties
from kit.faults import edited
from kit.planted import refuted
from kit.puppet import Puppet, show

FABRIC = {"rows": ("SL", "LT"), "depth": 2, "tid_width": 3, "address_width": 3}
LINES = {"size": 4, "line": 2, "banks": 1, "ways": 1, "misses": 1, "targets": 1}
MAKE = {"fabric": (lambda: Fabric(**FABRIC), fabric_properties.FabricCheck),
        "core": (lambda: Core(**FABRIC, **LINES), core_properties.LinesCheck),
        "processor": (lambda: Processor(
            **FABRIC, **LINES, cores=2, l2_size=4, l2_banks=2, l2_ways=1, l2_misses=1, l2_targets=1,
            channels=2), core_properties.LinesCheck)}
WORD, START, DONE = {"configuration.valid": 1}, {"start": 1}, {"done": 1}


def watch(name, *cycles):
    make, check = MAKE[name]
    puppet = Puppet(make())
    show(puppet, check(puppet), *cycles)


def line(port, **payload):
    """A read, or what is said, on offer at the memory of that port, and taken."""
    return {f"{port}.request.valid": 1, f"{port}.request.ready": 1,
            f"{port}.request.payload": payload}


@pytest.mark.unit
def test_checkers_accept():
    offer = {"memory.1.request.valid": 1}
    watch("fabric", WORD, START, DONE, offer, offer | WORD, {})
    watch("core", WORD, START, line("lines"), {"lines.response.valid": 1}, line("lines", write=1),
          DONE, WORD)
    watch("processor", WORD, START, line("lines.1", id=1), line("lines.1", id=0),
          {"lines.1.response.valid": 1, "lines.1.response.payload": {"id": 1}},
          {"lines.1.response.valid": 1}, DONE)


@pytest.mark.unit
@pytest.mark.parametrize(("name", "cycles", "says"), [
    ("fabric", [DONE], "done without a start"),
    ("fabric", [START, WORD, DONE], "done without a start"),
    ("fabric", [{"memory.1.request.valid": 1}, {}], "memory 1 request: offer withdrawn or changed"),
    ("core", [START, WORD | START, DONE], "done without a start"),
    ("core", [START, line("lines"), DONE],
     "line 0: done, and a line is on offer or under way"),
    ("core", [START, DONE | {"lines.request.valid": 1}],
     "line 0: done, and a line is on offer or under way"),
    ("processor", [line("lines.1", id=1), line("lines.0", id=1), line("lines.1", id=1)],
     "line 1: an id is used again before its line has come")])
def test_checkers_fire(only, name, cycles, says):
    only(says, fabric_properties, core_properties, streams_properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        watch(name, *cycles)


@pytest.mark.unit
@pytest.mark.parametrize("name", ["core", "processor"])
def test_memories_answer_what_was_asked(name):
    port = "lines" if name == "core" else "lines.1"
    with pytest.raises(AssertionError, match=r"owed: a line that was not asked for$"):
        watch(name, {f"{port}.response.valid": 1})


# Planted faults

@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new", "says"), [
    ("m.d.sync += started.eq(0)", "pass", "done without a start"),
    ("own = words[UNIT_WORDS * number:]", "own = words[UNIT_WORDS * number + 1:]",
     "unit (0, 0): another word"),
    ("word[CHOICE_BITS * port:]", "word[CHOICE_BITS * port + 1:]", "switch (0, 0): another word"),
    ("zip(self.memory, grid.of_kind(Kind.LOAD_STORE)",
     "zip(self.memory, list(grid.of_kind(Kind.LOAD_STORE))[::-1]", "unit (0, 1): another port"),
])
def test_faults_of_the_fabric_are_found(old, new, says):
    assert says in refuted("dataflow.fabric", "ends", (old, new))


@pytest.mark.proof
@pytest.mark.thorough
def test_a_sink_that_does_not_count_is_found(monkeypatch):
    made = edited("cyclebound.hdl.dataflow.thread_sink",
                  ("(ended == self.configuration.threads)",
                   "(ended[1:] == self.configuration.threads[1:])"))
    monkeypatch.setattr("cyclebound.hdl.dataflow.fabric_unit.ThreadSink", made.ThreadSink)
    assert "done, or not, before the last thread's end" in refuted("dataflow.fabric", "ends")


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new", "says"), [
    ("cache.flush.eq(fabric.done)", "cache.flush.eq(1)", "done before what is above the cache"),
    ("self.done.eq(cache.flushed)", "self.done.eq(fabric.done)",
     "line 0: done, and a line is on offer or under way"),
    ("wiring.connect(m, port.response, memory.response)",
     "m.d.comb += memory.response.valid.eq(cache.ports[0].response.valid)",
     "port 1: an answer without an access"),
])
def test_faults_of_the_core_are_found(old, new, says):
    assert says in refuted("dataflow.core", "lines", (old, new))


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new", "says"), [
    ("for core in self.cores).all())", "for core in self.cores).any())",
     "done before what is above the cache"),
    ("self.done.eq(l2.flushed)", "self.done.eq(l2.flush)",
     "done, and a line is on offer or under way"),
])
def test_faults_of_the_processor_are_found(old, new, says):
    assert says in refuted("dataflow.processor", "lines", (old, new))


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new", "says"), [
    ("self.threads > first, self.threads - first", "self.threads > first, self.share",
     "a sink's threads"),
    ("Cat(count, Mux(numbered, first[:rest]", "Cat(count, Mux(numbered, word[bits:]",
     "a source's first number"),
])
def test_faults_of_the_dispatcher_are_found(old, new, says, monkeypatch):
    made = edited("cyclebound.hdl.dataflow.dispatcher", (old, new))
    monkeypatch.setattr("cyclebound.hdl.dataflow.processor.Dispatcher", made.Dispatcher)
    assert says in refuted("dataflow.processor", "threads")
