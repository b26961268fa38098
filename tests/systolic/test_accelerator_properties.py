# amaranth: UnusedElaboratable=no
"""Checker of the accelerator's transfers: each claim fires, and the proof finds planted faults."""

import pytest

from cyclebound.hdl.systolic.accelerator import Accelerator
from cyclebound.tb import streams_properties
from cyclebound.tb.systolic import accelerator_properties as properties
from kit.planted import refuted
from kit.puppet import Puppet, show

ASKS = {"requests.valid": 1, "requests.ready": 1, "requests.payload": {"count": 2}}
STORES = {**ASKS, "requests.payload": {"count": 2, "write": 1}}


@pytest.mark.unit
@pytest.mark.parametrize(("cycles", "says"), [
    ([ASKS, {"read.valid": 1, "read.ready": 1}, {"read.valid": 1, "read.ready": 1},
      {"read.ready": 1}], "a beat is read that was not asked for"),
    ([ASKS, {"write.valid": 1, "write.ready": 1}], "a beat is written that was not asked for"),
    ([STORES, {"read.ready": 1}], "a beat is read that was not asked for"),
    ([STORES, STORES], "a transfer within a transfer"),
    ([STORES, {"idle": 1}], "idle within a transfer"),
    ([{"write.valid": 1}, {}], "write: offer withdrawn or changed"),
])
def test_it_fires(only, cycles, says):
    only(says, properties, streams_properties)
    puppet = Puppet(Accelerator(size=2))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        show(puppet, properties.AcceleratorTransfers(puppet), *cycles)


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize(("old", "new", "says"), [
    ("with m.If(left == 1):", "with m.If(left == 2):", "a transfer has begun"),
    ("self.read.ready.eq(busy & asked & ~store)", "self.read.ready.eq(busy & asked)",
     "a beat is read that was not asked for"),
    ("self.idle.eq(~queue.r_rdy & engine.command.ready & ~transferring)",
     "self.idle.eq(~queue.r_rdy & engine.command.ready)", "idle within a transfer"),
])
def test_faults_are_found(old, new, says):
    assert says in refuted("systolic.accelerator", "transfers", (old, new))
