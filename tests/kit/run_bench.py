"""A component in Amaranth's own simulator: for unit tests, where Verilator would cost a build."""

import contextlib

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from cyclebound.sim.build.elaborate import watch

LIMIT = 1_000_000
"""Steps (clock edges) after which a simulation counts as stuck."""


def run_bench(dut, bench, *checkers: wiring.Component, limit: int = LIMIT) -> None:
    """Run ``bench(ctx)`` on ``dut`` to its end, watched by ``checkers``.

    ``dut`` is a component, or a ``Module`` around it if there are no checkers. A violated
    assertion or assumption of a checker is an ``AssertionError``, and so is a bench that has not
    returned after ``limit`` clock edges.
    """
    m = Module()
    m.submodules.dut = dut
    for number, checker in enumerate(checkers):
        m.submodules[f"watch_{number}"] = watcher = Module()
        watch(watcher, dut, checker)
    running, finished = [], []

    async def counted(ctx):
        running.append(bench(ctx))
        await running[0]
        finished.append(True)

    simulator = Simulator(m)
    simulator.add_clock(1e-6, if_exists=True)
    simulator.add_testbench(counted)
    try:
        for _ in range(limit):
            if not simulator.advance():
                break
    finally:  # a bench in the middle of ``repeat`` complains; better here than when it is collected
        with contextlib.suppress(RuntimeError):
            running[0].close()
    assert finished, f"no end after {limit} clock edges"
