# amaranth: UnusedElaboratable=no
"""Checker of the array whose folds overlap: each claim fires, and the proof finds a fault."""

import dataclasses

import pytest

from cyclebound.hdl.systolic.overlapped_output import OverlappedOutputArray
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.systolic import overlapped_output_properties
from cyclebound.tb.systolic.overlapped_output_properties import OverlappedOutputCheck
from kit.faults import Tampered, override
from kit.random_streams import play_streams

SMALL = {"rows": 2, "columns": 3, "operand_width": 1, "accumulator_width": 2}


def left(rng, _):
    return {"values": [rng.randint(-1, 0) for _ in range(2)], "last": rng.random() < 0.5}


def run(fault=None):
    dut = OverlappedOutputArray(**SMALL)
    if fault:
        dut = Tampered(dut, override(fault))
    play_streams(dut, OverlappedOutputCheck(dut), cycles=300, payloads={
        "left": left, "top": lambda rng, _: [rng.randint(-1, 0) for _ in range(3)]})


@pytest.mark.unit
def test_it_is_quiet_without_a_fault():
    run()


@pytest.mark.unit
@pytest.mark.parametrize(("fault", "says"), [
    (lambda inner, outer, cycle: outer.left.ready.eq(inner.left.ready & (cycle < 50)),
     "one operand is taken without the other"),
    (lambda inner, outer, cycle: [outer.left.ready.eq(inner.left.ready & (cycle < 50)),
                                  outer.top.ready.eq(inner.top.ready & (cycle < 50))],
     "operands are refused without a reason, or taken before their time"),
    (lambda inner, outer, cycle: outer.results.valid.eq(inner.results.valid & (cycle < 50)),
     "a row is early, late, or of no fold"),
    (lambda inner, outer, cycle: outer.active.eq(inner.active ^ 1),
     "a PE executes nothing, or not what it should")])
def test_it_fires(only, fault, says):
    only(says, overlapped_output_properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run(fault)


class Hasty(OverlappedOutputArray):
    """A fold may end a cycle after the one before: their rows meet."""

    def _accept(self, m, step):
        accepted = super()._accept(m, step)
        m.d.sync += self._to_wait.eq(0)
        return accepted


@pytest.mark.proof
def test_the_proof_finds_folds_that_end_too_soon_after_each_other():
    block = catalogue.load().find("systolic.overlapped_output")
    claim, = block.properties
    proof = prove(dataclasses.replace(block, component=Hasty), claim, SMALL)
    assert proof.status == "failed"
    assert proof.trace is not None
