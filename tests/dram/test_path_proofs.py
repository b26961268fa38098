# amaranth: UnusedElaboratable=no
"""Proofs of the DRAM path's blocks have to fail for faults of the kind that they are about."""

import dataclasses
import re

import pytest

from cyclebound.golden.dram.small_part import SMALL
from cyclebound.hdl.dram.command_arbiter import CommandArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.dram.command_arbiter_properties import CommandArbiterBursts
from kit.faults import edited

proof = pytest.mark.proof

FAULTS = [  # block, property, text to edit and what takes its place, and what is said
    ("command_arbiter", "one_command", "do_act.eq(Mux(any_act, turn_act, 0))",
     "do_act.eq(turn_act)", "more than one command in a cycle"),
    ("command_arbiter", "one_command", "self.refresh & self.idle & (self.holdoff == 0))",
     "self.refresh & (self.holdoff == 0))", "refresh in the hold-off, or none after it"),
    ("command_arbiter", "activates", "Cat(turn_cas[:(i | 1) + 1].any() for i",
     "Cat(turn_cas[i] for i", "invariant: the priority mask is a thermometer"),
    ("buffer_table", "inside_wide", "(middle << half)", "(middle << half + 1)",
     "invariant: product"),
    # buffers 16 to 31 take the places of 0 to 15: not seen of fewer
    ("buffer_table", "inside_wide", "write.addr.eq(coming.buffer)",
     "write.addr.eq(coming.buffer[:4])", "invariant: buffer_0 in memory"),
    ("command_generator", "queues", "held_valid.eq(self.bursts.valid)", "held_valid.eq(0)",
     "invariant: bursts are held, at work, or described"),
    ("dq_scheduler", "beats", "line[self.part.nCWD - self.lead - 1]",
     "line[self.part.nCWD - self.lead]", "invariant: the line holds the commands not looked up"),
    ("index_iterator", "inside", "indexes.payload.index < self.size",
     "indexes.payload.index <= self.size", "invariant: a legal element is in the buffer"),
]


def with_fault(name, claim, old, new):
    """The block with a fault in it, and its property."""
    block = catalogue.load().find(f"dram.{name}")
    found = next(prop for prop in block.properties if prop.name == claim)
    module = edited(f"cyclebound.hdl.dram.{name}", (old, new))
    return dataclasses.replace(
        block, component=getattr(module, block.component.__name__)), found


@proof
@pytest.mark.parametrize(
    ("name", "claim", "old", "new", "says"),
    [FAULTS[0], *(pytest.param(*fault, marks=pytest.mark.thorough) for fault in FAULTS[1:])],
    ids=lambda value: value if value[0].islower() and "." not in value else "")
def test_a_fault_has_a_counterexample(tmp_path, name, claim, old, new, says):
    block, found = with_fault(name, claim, old, new)
    outcome = prove(block, found, found.instances[0], folder=tmp_path)
    assert outcome.status == "failed"
    assert says in outcome.detail


@pytest.mark.thorough
@proof
@pytest.mark.parametrize(("name", "claim", "parameters", "old", "new", "says"), [
    # it takes nRCD cycles to a read, so no counterexample is short; but induction does not close
    ("command_arbiter", "bursts", {"part": "ddr3-1600-module"},
     '"rcd": part.nRCD', '"rcd": part.nRCD - 1', r"bank \d+ is held back"),
    ("command_arbiter", "bursts", {"part": "ddr3-1600-module"},
     '"ccd_s": part.nCCD_S', '"ccd_s": part.nCCD_S - 1', "rank is held back|ccd_s"),
    ("buffer_table", "inside_wide", {"buffers": 32}, "wide.eq(right > descriptor.x)",
     "wide.eq(right > descriptor.x + 1)",
     "a line ends priority_mask the buffer's|refusal is not for the first reason"),
    ("stride_sequencer", "inside_16", {}, "at.low.eq(Mux(near, 0, at.next[:4]))", "at.low.eq(0)",
     "words before the line"),
    ("stride_sequencer", "inside_16", {}, "mask.eq(Cat(words) & pattern)",
     "mask.eq(Cat(words) & pattern & 0x7FFF)", "words enabled are not those of the tile"),
    ("stride_sequencer", "inside_16", {},
     "at.last_line.eq(left == 1)", "at.last_line.eq(left == 0)",
     "last line|lines left"),
], ids=["rcd", "ccd_s", "width", "first word", "left out",
        "last line"])
def test_a_fault_is_not_proved_away(tmp_path, name, claim, parameters, old, new, says):
    block, found = with_fault(name, claim, old, new)
    outcome = prove(block, found, parameters, folder=tmp_path)
    assert outcome.status in ("bounded", "failed")
    assert re.search(says, outcome.detail)


@pytest.mark.unit
def test_a_part_whose_bursts_nothing_keeps_apart():
    message = r"^small: nCCD_S, nCAS and nRCD must keep bursts apart$"
    with pytest.raises(ValueError, match=message):
        CommandArbiterBursts(CommandArbiter(part=SMALL))
