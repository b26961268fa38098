# amaranth: UnusedElaboratable=no
"""Proofs of the DRAM path's blocks have to fail for faults of the kind that they are about."""

import dataclasses
import importlib
import inspect
import types

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.prove import prove

pytestmark = pytest.mark.proof

FAULTS = [  # block, property, text to edit and what takes its place, and what is said
    ("command_arbiter", "one_command", "do_act.eq(Mux(any_act, turn_act, 0))",
     "do_act.eq(turn_act)", "more than one command in a cycle"),
    ("command_arbiter", "one_command", "self.refresh & self.idle & (self.rest == 0))",
     "self.refresh & (self.rest == 0))", "refresh without rest, or rest without the refresh"),
    ("command_generator", "queues", "held_valid.eq(self.bursts.valid)", "held_valid.eq(0)",
     "invariant: bursts are held, at work, or described"),
    ("dq_scheduler", "beats", "line[self.part.nCWD - self.lead - 1]",
     "line[self.part.nCWD - self.lead]", "invariant: the line holds the commands not looked up"),
    ("index_iterator", "inside", "indexes.payload.index < self.size",
     "indexes.payload.index <= self.size", "invariant: a legal element is in the buffer"),
]


@pytest.mark.parametrize(("name", "claim", "old", "new", "says"), FAULTS,
                         ids=lambda value: value if value[0].islower() and "." not in value else "")
def test_a_fault_has_a_counterexample(tmp_path, name, claim, old, new, says):
    block = catalogue.load().find(f"dram.{name}")
    found = next(each for each in block.properties if each.name == claim)
    text = inspect.getsource(importlib.import_module(f"cyclebound.hdl.dram.{name}"))
    assert text.count(old) == 1
    module = types.ModuleType("faulty")
    exec(compile(text.replace(old, new), "<faulty>", "exec"), module.__dict__)
    block = dataclasses.replace(block, component=getattr(module, block.component.__name__))
    proof = prove(block, found, found.instances[0], folder=tmp_path)
    assert proof.status == "failed"
    assert says in proof.detail
