# amaranth: UnusedElaboratable=no
"""Refresh timer: RTL against golden model, checker against planted faults, proofs."""

import dataclasses
import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const, Module, Mux

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.golden.dram.device import MOST_POSTPONED, DramDevice, DramViolation
from cyclebound.golden.dram.refresh_timer import RefreshTimerModel
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import DDR4_3200AA_X16
from cyclebound.hdl.dram.refresh_timer import RefreshTimer
from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import watch
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.dram import refresh_timer_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
proof = pytest.mark.proof
OUTPUTS = ("request", "owed", "urgent", "late")
SMALL = {"interval": 3, "most": 2}


@unit
@pytest.mark.parametrize(("values", "kind", "message"), [
    ({"interval": 1}, ValueError, r"^Refresh interval must be at least 2, not 1$"),
    ({"interval": 2.0}, TypeError, r"^Refresh interval must be an integer, not 2\.0$"),
    ({"interval": 5, "most": 0}, ValueError, r"^Most refreshes owed must be at least 1, not 0$"),
    ({"interval": 5, "most": True}, TypeError,
     r"^Most refreshes owed must be an integer, not True$"),
])
def test_refuses(values, kind, message):
    with pytest.raises(kind, match=message):
        RefreshTimer(**values)


@unit
def test_as_many_are_owed_as_the_device_allows():
    assert RefreshTimer(interval=12480).most == MOST_POSTPONED


def play(dut, done, *, cycles, check=None):
    """The outputs of each cycle, with ``done(cycle)`` as its input."""
    m = Module()
    m.submodules.dut = dut
    if check is not None:
        watch(m, dut, check)
    seen = []

    async def bench(ctx):
        for cycle in range(cycles):
            ctx.set(dut.done, done(cycle))
            seen.append(tuple(ctx.get(getattr(dut, name)) for name in OUTPUTS))
            await ctx.tick()

    run_bench(m, bench)
    return seen


@unit
@pytest.mark.parametrize(("interval", "most"), [(2, 1), (3, 2), (7, 8)])
@pytest.mark.parametrize("load", [0, 1, 50])
def test_follows_model(interval, most, load):
    rng = random.Random(f"{interval} {most} {load}")
    strobes = [rng.random() < load / interval for _ in range(60 * interval)]
    dut, model = RefreshTimer(interval=interval, most=most), RefreshTimerModel(
        interval=interval, most=most)
    expected = [model.step(done)[0] for done in strobes]
    seen = play(dut, strobes.__getitem__, cycles=len(strobes),
                check=properties.RefreshTimerCheck(dut))
    assert seen == expected
    assert {shown.owed for shown in expected} >= {0, 1}
    assert load or expected[-1].late


@unit
def test_by_hand():
    """interval 3, 2 may be owed; REFs in cycles 2 (none owed), 8 and 15 (too late)."""
    seen = play(RefreshTimer(**SMALL), {2, 8, 15}.__contains__, cycles=19)
    assert [owed for _, owed, _, _ in seen] == [
        0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 2]
    assert [cycle for cycle, (*_, late) in enumerate(seen) if late] == list(range(12, 19))
    assert all((request, urgent) == (owed > 0, owed == 2) for request, owed, urgent, _ in seen)


@unit
def test_serving_in_time_is_what_the_device_wants():
    """With the timer's latest REFs the device is content; REFs two cycles later are too late."""
    part = dataclasses.replace(DDR4_3200AA_X16, nREFI=600)
    model = RefreshTimerModel(interval=part.nREFI, most=MOST_POSTPONED)
    device, cycle, late = DramDevice(part), 0, []
    while len(late) < 5:
        last_chance = (cycle + 1) % part.nREFI == 0 and len(model.owed) == MOST_POSTPONED
        shown, due = model.step(last_chance)
        assert not shown.late
        if due is not None:
            device.command(cycle, Command.REF)
            late.append(cycle - due + 1)
        cycle += 1
    assert set(late) == {bounds.refresh_deadline(interval=part.nREFI, most=MOST_POSTPONED)}
    too_late = DramDevice(part)
    longest = bounds.refresh_gap(interval=part.nREFI, most=MOST_POSTPONED)
    with pytest.raises(DramViolation, match=r"^refresh interval: REF in cycle 5401 comes 1 cycle "):
        too_late.command(longest + 2, Command.REF)


@unit
def test_bounds_say_what_they_cover():
    assert bounds.refresh_request(interval=2) == 1
    assert bounds.refresh_deadline(interval=12480, most=8) == 99_840
    assert bounds.refresh_gap(interval=12480, most=8) == 112_319
    for bound in (bounds.refresh_request, bounds.refresh_deadline, bounds.refresh_gap):
        with pytest.raises(NotCovered, match=r"^interval must be a whole number of at least 2, "
                                             r"not 1$"):
            bound.of({"interval": 1, "most": 8})
    for bound in (bounds.refresh_deadline, bounds.refresh_gap):
        with pytest.raises(NotCovered, match=r"^most must be a whole number of at least 1, not 0$"):
            bound(interval=2, most=0)


# The checker fires

def tampered(name, fault):
    """A timer with one output wrong from cycle 10 on."""
    def late(timer, ports, cycle):
        right = getattr(timer, name)
        return getattr(ports, name).eq(Mux(cycle >= 10, fault(right), right))

    return Tampered(RefreshTimer(**SMALL), override(late))


LONGEST = "no refresh within 8 cycles, and not late"
FAULTS = {
    "owed is not what fell due less what was done": ("owed", lambda right: right ^ 1),
    "more are owed than may be": ("owed", lambda right: Const(3)),
    "request is not owed": ("request", lambda right: ~right),
    "urgent is not the most owed": ("urgent", lambda right: ~right),
    "late is not a refresh that was missed": ("late", lambda right: ~right),
    LONGEST: ("late", lambda right: Const(0)),
}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    """Each assertion alone, so that no other fires in its place; in cycle 10, no earlier."""
    only(says, properties)
    done = (lambda cycle: False) if says == LONGEST else lambda cycle: cycle % 3 == 0
    dut = RefreshTimer(**SMALL)
    play(dut, done, cycles=40, check=properties.RefreshTimerCheck(dut))
    dut = tampered(*FAULTS[says])
    play(dut, done, cycles=10, check=properties.RefreshTimerCheck(dut))
    dut = tampered(*FAULTS[says])
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(dut, done, cycles=13, check=properties.RefreshTimerCheck(dut))


@unit
def test_every_assertion_has_a_fault():
    text = rtlil.convert(properties.RefreshTimerCheck(RefreshTimer(**SMALL)))
    assert set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text)) == set(FAULTS)


@unit
def test_the_longest_gap_is_reached_and_not_a_cycle_more():
    def run(longest):
        dut = RefreshTimer(**SMALL)
        check = properties.RefreshTimerCheck(dut)
        check.longest = longest
        play(dut, {3, 11}.__contains__, cycles=12, check=check)
    run(8)
    with pytest.raises(AssertionError, match=r"^Assertion violated: no refresh within 7 cycles"):
        run(7)


# Proofs


@unit
def test_every_configuration_is_to_be_proved():
    block = catalogue.load().find("dram.refresh_timer")
    for configuration in block.configurations.values():
        assert configuration.parameters in block.properties[0].instances


class Forgetful(RefreshTimer):
    """Loses a refresh that falls due in the cycle of a REF."""

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.left.eq(self.left - 1)
        with m.If(self.left == 0):
            m.d.sync += self.left.eq(self.interval - 1)
        m.d.comb += [self.request.eq(self.owed != 0), self.urgent.eq(self.owed == self.most)]
        with m.If(self.done & self.request):
            m.d.sync += self.owed.eq(self.owed - 1)
        with m.Elif(self.left == 0):
            with m.If(self.urgent):
                m.d.sync += self.late.eq(1)
            with m.Else():
                m.d.sync += self.owed.eq(self.owed + 1)
        return m


@proof
def test_a_fault_has_a_counterexample(tmp_path):
    block = dataclasses.replace(catalogue.load().find("dram.refresh_timer"), component=Forgetful)
    found = prove(block, block.properties[0], {"interval": 2, "most": 2}, folder=tmp_path)
    assert found.status == "failed"
    assert found.detail.startswith("owed is not what fell due less what was done; ")
    assert (tmp_path / "counterexample.vcd").stat().st_size > 100

