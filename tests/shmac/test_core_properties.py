# amaranth: UnusedElaboratable=no
"""The bound checker of SHMAC's core, and its proofs: they fire on faults."""

import dataclasses
import re

import pytest

from cyclebound.hdl.shmac.core import Core
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.shmac.core_properties import CoreCheck
from cyclebound.tools.shmac.assembler import encode
from kit.puppet import Puppet, show

from ..sim.mutants import Mutant, component_of

unit = pytest.mark.unit

FETCH = {"request.valid": 1, "request.payload.fetch": 1, "request.payload.strobes": 15,
         "request.ready": 1, "response.ready": 1}
IDLE = {"response.ready": 1}
ANSWER = {"response.valid": 1, "response.ready": 1}


def begins(name, **more):
    return {"trace.begins": 1, "trace.instruction": encode(name), **IDLE, **more}


PLAIN = begins("addu", **{"trace.ends": 1}, **{name: value for name, value in FETCH.items()
                                               if name != "response.ready"})
FAULTS = {
    "response without a request": [FETCH, ANSWER, ANSWER],
    "request: offer withdrawn or changed": [{**FETCH, "request.ready": 0}, IDLE],
    "a response is not taken at once": [{**FETCH, "response.ready": 0}],
    "a second request while one is under way": [FETCH, FETCH],
    "an unaligned request": [{**FETCH, "request.payload.address": 2}],
    "a fetch that is none": [{**FETCH, "request.payload.write": 1}],
    "an access of no instruction": [{**FETCH, "request.payload.fetch": 0}],
    "an instruction begins before another one ends": [begins("lw"), begins("lw")],
    "an end without an instruction": [{**IDLE, "trace.ends": 1}],
    "an exception without an end": [begins("lw", **{"trace.exception": 1})],
    "a register is written before the end, or in spite of an exception":
        [begins("lw", **{"trace.register": 1})],
    "an instruction of no class": [begins("lui")],
    "plain: other core cycles than predicted": [PLAIN, ANSWER, IDLE, PLAIN],
    "multiply: too late": [begins("mult"), *[IDLE] * 36],
    "store: other core cycles than predicted": [
        begins("sw"), {**FETCH, "request.payload.fetch": 0, "request.payload.write": 1,
                       "trace.ends": 1}, PLAIN],
}


@unit
@pytest.mark.parametrize("message", FAULTS)
def test_checker_fires(message):
    puppet = Puppet(Core())
    with pytest.raises(AssertionError, match=f"violated: (owed: )?{message}$"):
        show(puppet, CoreCheck(puppet), *FAULTS[message])


@unit
def test_checker_is_silent_where_all_is_well():
    puppet = Puppet(Core())
    with pytest.raises(AssertionError, match="a response is not taken at once"):  # the last cycle
        show(puppet, CoreCheck(puppet), FETCH, ANSWER, PLAIN, IDLE, ANSWER, PLAIN, ANSWER,
             begins("lw"), {**FETCH, "request.payload.fetch": 0}, {**ANSWER, "trace.ends": 1})


FOUND = {
    "time": ("m.d.comb += overlaps.eq(of.plain", "m.d.comb += overlaps.eq(of.plain & ~of.branches",
             r"plain"),
    "results": ("after.eq(next_pc + 4)", "after.eq(pc + 4)", r"another result"),
    "flow": ("in_slot.eq(of.branches)", "in_slot.eq(of.branches & (follows != after))",
             r"delay slot"),
    "memory": ("place + left_unit", "place", r"[ls]wl: "),
    "system": ("in_slot.eq(0), linked.eq(0)", "in_slot.eq(0)", r"link"),
}


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize("name", FOUND)
def test_a_fault_has_a_counterexample(name):
    block = catalogue.load().find("shmac.core")
    claim = next(claim for claim in block.properties if claim.name == name)
    old, new, says = FOUND[name]
    made = component_of(block, Mutant("shmac.core", name, old, new))
    found = prove(dataclasses.replace(block, component=made),
                  dataclasses.replace(claim, induction=None), claim.instances[0])
    assert found.status == "failed"
    assert re.search(says, found.detail)
