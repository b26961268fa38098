# amaranth: UnusedElaboratable=no
import dataclasses
import random

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.noc import bounds
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import watch
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.noc.arbiter_properties import RoundRobinCheck
from kit.run_bench import run_bench

unit = pytest.mark.unit
proof = pytest.mark.proof


@unit
@pytest.mark.parametrize(("count", "kind", "message"), [
    (0, ValueError, r"^Requester count must be at least 1, not 0$"),
    (-3, ValueError, r"^Requester count must be at least 1, not -3$"),
    ("4", TypeError, r"^Requester count must be an integer, not '4'$"),
    (2.0, TypeError, r"^Requester count must be an integer, not 2\.0$"),
    (True, TypeError, r"^Requester count must be an integer, not True$"),
])
def test_refuses(count, kind, message):
    with pytest.raises(kind, match=message):
        RoundRobinArbiter(count=count)


@unit
@pytest.mark.parametrize("count", [1, 2, 11])
def test_converts_alone(count):
    assert "attribute \\top 1" in rtlil.convert(RoundRobinArbiter(count=count))


def _simulate(count, cycles, *, keeps, checked, ask, accept):
    """Random traffic on RTL and model; returns the worst wait, in accepted grants."""
    dut = RoundRobinArbiter(count=count)
    m = Module()
    m.submodules.dut = dut
    if checked:
        watch(m, dut, RoundRobinCheck(dut))
    chance = random.Random(f"{count} {keeps} {ask} {accept}")
    model = RoundRobinModel(count)
    waits = []

    async def bench(ctx):
        pending, passed = 0, [0] * count
        for _ in range(cycles):
            fresh = sum((chance.random() < ask) << who for who in range(count))
            pending = pending | fresh if keeps else fresh
            accepted = chance.random() < accept
            ctx.set(dut.requests, pending)
            ctx.set(dut.accept, accepted)
            grant = ctx.get(dut.grant)
            assert grant == model.step(pending, accepted)
            if accepted and grant:
                for who in range(count):
                    passed[who] = passed[who] + 1 if pending >> who & 1 else 0
                waits.append(passed[grant.bit_length() - 1])
                passed[grant.bit_length() - 1] = 0
                pending &= ~grant
            await ctx.tick()

    run_bench(m, bench)
    assert len(waits) > cycles * accept / 4  # grants were accepted indeed
    return max(waits)


@unit
@pytest.mark.parametrize(("count", "accept"), [(1, 0.3), (3, 1.0), (8, 0.3)])
def test_follows_model_and_keeps_bound(count, accept):
    worst = _simulate(count, 400, keeps=True, checked=True, ask=0.4, accept=accept)
    assert worst == bounds.round_robin_wait(requesters=count)


@unit
@pytest.mark.parametrize("count", [5])
def test_follows_model_when_requests_are_withdrawn(count):
    _simulate(count, 400, keeps=False, checked=False, ask=0.5, accept=0.5)


# (requests, accept, grant) of each cycle, with a fault in the last one
FAULTS = {
    "grant is not one-hot": [(3, 1, 3)],
    "grant without a request": [(1, 1, 1), (1, 1, 2)],
    "idle while there is a request": [(0, 1, 0), (2, 0, 0)],
    "grant moved while stalled": [(3, 0, 1), (3, 0, 2)],
    "requester 1 not served within 3 grants": [(7, 1, 1), (7, 1, 4), (7, 0, 1), (7, 1, 1)],
    "request withdrawn before it was served": [(3, 1, 1), (1, 1, 1)],
}


@unit
@pytest.mark.parametrize("message", FAULTS)
def test_checker_fires(message):
    check = RoundRobinCheck(RoundRobinArbiter(count=3))
    reached = []

    async def bench(ctx):
        for cycle in FAULTS[message]:
            for port, value in zip((check.requests, check.accept, check.grant), cycle, strict=True):
                ctx.set(port, value)
            reached.append(cycle)
            await ctx.tick()

    with pytest.raises(AssertionError, match=rf"^\w+ violated: (owed: )?{message}$"):
        run_bench(check, bench)
    assert reached == FAULTS[message]  # not a cycle too early


@proof
def test_fair_for_any_number_of_cycles():
    """One of the proofs that a regression makes, for all of them."""
    block = catalogue.load().find("noc.arbiter")
    found = prove(block, block.properties[0], {"count": 2})
    assert (found.status, found.detail) == ("proved", "")
    assert found.induction <= 4


class Priority(RoundRobinArbiter):
    """Holds its grants and keeps the protocol, but requester 0 always comes first."""

    def elaborate(self, platform):
        m = Module()
        pool = self.requests & self.held
        with m.If(pool.any()):
            m.d.comb += self.grant.eq(pool)
        with m.Else():
            m.d.comb += self.grant.eq(self.requests & -self.requests)
        with m.If(self.accept):
            m.d.sync += self.held.eq(0)
        with m.Else():
            m.d.sync += self.held.eq(self.grant)
        return m


@proof
def test_unfair_arbiter_has_a_counterexample(tmp_path):
    block = dataclasses.replace(catalogue.load().find("noc.arbiter"), component=Priority)
    found = prove(block, block.properties[0], {"count": 2}, folder=tmp_path)
    assert found.status == "failed"
    assert "requester 1" in found.detail
    assert (tmp_path / "counterexample.vcd").stat().st_size > 100
    assert found.trace == str(tmp_path / "counterexample.vcd")



@pytest.mark.cosim
@pytest.mark.parametrize("count", [1, 5, 6, pytest.param(12, marks=pytest.mark.thorough)])
def test_its_testbench_takes_any_number_of_requesters(call, count):
    """Of five and six, whose sets it did not all try, it once drew 100 of fewer."""
    said = call("run", "noc.arbiter", "--set", f"count={count}", "-o", "run")
    assert said.returncode == 0, said.stdout[-3000:]
    assert f"exact, worst {count} of {count} grants" in said.stdout
