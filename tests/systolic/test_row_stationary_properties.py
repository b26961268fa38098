# amaranth: UnusedElaboratable=no
"""Checker of the row-stationary array: each claim fires, and the proof finds a fault."""

import dataclasses

import pytest

from cyclebound.hdl.systolic.row_stationary import RowStationaryArray
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.systolic import row_stationary_properties
from cyclebound.tb.systolic.row_stationary_properties import RowStationaryCheck
from kit.faults import Tampered, override
from kit.random_streams import play_streams

SMALL = {"rows": 2, "columns": 3, "taps": 2, "operand_width": 1, "accumulator_width": 2}


def run(fault=None):
    dut = RowStationaryArray(**SMALL)
    if fault:
        dut = Tampered(dut, override(fault))
    play_streams(dut, RowStationaryCheck(dut), cycles=400, payloads={
        "left": lambda rng, _: {"values": [rng.randint(-1, 0) for _ in range(4)],
                                "last": rng.random() < 0.2},
        "weights": lambda rng, _: [rng.randint(-1, 0) for _ in range(2)]})


@pytest.mark.unit
def test_it_is_quiet_without_a_fault():
    run()


@pytest.mark.unit
@pytest.mark.parametrize(("fault", "says"), [
    (lambda inner, outer, cycle: outer.weights.ready.eq(inner.weights.ready | (cycle > 50)),
     "weights are refused, or too many are taken"),
    (lambda inner, outer, cycle: outer.left.ready.eq(inner.left.ready & (cycle < 50)),
     "a column is refused without a reason, or taken before its time"),
    (lambda inner, outer, cycle: outer.results.valid.eq(inner.results.valid & (cycle < 50)),
     "a result is early, late, or of no column"),
    (lambda inner, outer, cycle: outer.active.eq(inner.active ^ 1),
     "a PE executes nothing, or not what it should")])
def test_it_fires(only, fault, says):
    only(says, row_stationary_properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run(fault)


class Forgetful(RowStationaryArray):
    """The last column of a pass ends it at once: the next weights come while the PEs execute."""

    def _pass(self, m):
        super()._pass(m)
        with m.If(self._accept & self.left.payload.last):
            m.d.sync += self._loaded.eq(0)


@pytest.mark.proof
def test_the_proof_finds_weights_that_come_too_early():
    block = catalogue.load().find("systolic.row_stationary")
    claim, = block.properties
    proof = prove(dataclasses.replace(block, component=Forgetful), claim, SMALL)
    assert proof.status == "failed"
    assert proof.trace is not None
