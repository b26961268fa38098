"""Where a request begins, by the mappings that the controller has accepted."""

import pytest
from amaranth.sim import Simulator

from cyclebound.hdl.dram.controller import DramController
from cyclebound.sim.build.elaborate import leave_unused
from cyclebound.tb.dram.controller_observer import ControllerObserver

pytestmark = pytest.mark.unit


def test_mapped_buffers_and_places_in_them():
    """One that is refused changes nothing."""
    controller = DramController(part="ddr4-3200aa-x16")
    observer = ControllerObserver(controller)
    leave_unused(controller)
    seen = []

    async def bench(ctx):
        for buffer, address, x, refusal in ((3, 1600, 100, 0), (5, 0, 64, 0), (3, 4800, 10, 1)):
            ctx.set(observer.mapping.payload, {"buffer": buffer, "valid": 1, "address": address,
                                               "x": x, "y": 9})
            for signal, value in ((observer.mapping.valid, 1), (observer.mapping.ready, 1)):
                ctx.set(signal, value)
            await ctx.tick()
            ctx.set(observer.mapping.valid, 0)
            ctx.set(observer.mapped, 1)
            ctx.set(observer.mapping_refusal, refusal)
            await ctx.tick()
            ctx.set(observer.mapped, 0)
        for buffer, x, y in ((3, 0, 0), (3, 16, 0), (3, 12, 1), (5, 15, 0), (5, 0, 2)):
            ctx.set(observer.request.payload, {"buffer": buffer, "x": x, "y": y})
            await ctx.delay(1e-9)
            seen.append(ctx.get(observer.burst))

    simulator = Simulator(observer)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [100, 101, 107, 0, 8]
