"""What the tests of the accelerator's units share."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from cyclebound.sim import catalogue
from cyclebound.sim.job import Job, simulate
from cyclebound.sim.run_bench import run_bench
from cyclebound.sim.verdict import judge

from ..sim.mutants import with_fault

LIMIT = 30_000  # cycles of a test


class _Tampered(wiring.Component):
    """A component with a fault: ``fault(m, inner, outer)`` overrides some connections."""

    def __init__(self, inner, fault):
        self.inner, self.fault, self.stages = inner, fault, inner.stages
        super().__init__(inner.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self.inner
        for name, member in self.signature.members.items():
            outer, inner = getattr(self, name), getattr(self.inner, name)
            m.d.comb += inner.eq(outer) if member.flow == wiring.In else outer.eq(inner)
        self.fault(m, self.inner, self)
        return m


@pytest.fixture
def tampered():
    """``tampered(component, fault)``: the component with some of its connections overridden."""
    return _Tampered


@pytest.fixture
def play():
    """``play(dut, names, steps, *checkers)``: results of operations in a row.

    Each step has a value for each input of ``names``. Without checkers, ``done`` is compared.
    """
    def run(dut, names, steps, *checkers):
        results = []

        async def bench(ctx):
            for cycle in range(len(steps) + dut.stages):
                ctx.set(dut.valid, cycle < len(steps))
                if cycle < len(steps):
                    for name, value in zip(names, steps[cycle], strict=True):
                        ctx.set(getattr(dut, name), value)
                if not checkers:
                    assert ctx.get(dut.done) == (cycle >= dut.stages)
                if cycle >= dut.stages:
                    results.append(ctx.get(dut.result))
                await ctx.tick()
        run_bench(dut, bench, *checkers)
        return results
    return run


@pytest.fixture
def run_mutant(tmp_path):
    """``run_mutant(mutant)``: why the per-cycle testbench fails on it, or nothing."""
    def run(mutant):
        block = with_fault(catalogue.load().find(mutant.block), mutant, watched=False,
                           max_cycles=LIMIT)
        configuration, _ = block.configuration(None)
        outcome = simulate(block, Job(block.name, configuration, "cycle", 0, str(tmp_path),
                                      wall_limit=240))
        assert "Traceback" not in outcome.reason
        verdicts = judge(block, configuration, [(outcome.name, group) for group in outcome.groups])
        return outcome.reason + "".join(row.verdict for row in verdicts if row.failed)
    return run
