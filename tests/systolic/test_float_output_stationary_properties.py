# amaranth: UnusedElaboratable=no
"""Checker of the output-stationary array in floating point: each claim fires, and the proof finds a
fault."""

import dataclasses
import itertools

import pytest
from amaranth.hdl import Const

from cyclebound.golden.systolic.float_layout import STAGES
from cyclebound.hdl.systolic.float_output_stationary import FloatOutputStationaryArray
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.systolic import float_output_stationary_properties
from cyclebound.tb.systolic.float_output_stationary_properties import FloatTurnsCheck
from kit.faults import Tampered, override
from kit.random_streams import play_streams


def run(fault=None, *, apart=False):
    """Folds of two operands; ``apart``: the second one ends alone."""
    dut = FloatOutputStationaryArray(rows=1, columns=2)
    if fault:
        dut = Tampered(dut, override(fault))
    numbers = itertools.count()

    def left(rng, _):
        number = next(numbers)
        return {"values": [rng.getrandbits(16)],
                "last": number == 1 if apart else number // STAGES % 2}

    play_streams(dut, FloatTurnsCheck(dut), cycles=400, busy=0.9, payloads={"left": left})


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
     "a PE begins nothing, or not what it should")])
def test_it_fires(only, fault, says):
    only(says, float_output_stationary_properties)
    with pytest.raises(AssertionError, match=rf"^Assertion violated: {says}$"):
        run(fault)


@pytest.mark.unit
def test_folds_of_a_set_that_end_apart_are_named():
    with pytest.raises(AssertionError, match=r"the folds of a set end apart$"):
        run(apart=True)


class Early(FloatOutputStationaryArray):
    """A set may end while rows of the one before leave: their sums are captured over these."""

    def _accept(self, m):
        super()._accept(m)
        m.d.comb += self._begins.eq(Const(0))


@pytest.mark.proof
def test_the_proof_finds_sets_that_end_too_soon_after_each_other():
    block = catalogue.load().find("systolic.float_output_stationary")
    claim, = block.properties
    proof = prove(dataclasses.replace(block, component=Early), claim, claim.instances[0])
    assert proof.status == "failed"
    assert proof.trace is not None
