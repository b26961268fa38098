# amaranth: UnusedElaboratable=no
"""An accelerator as a client of a DRAM controller that another client uses, too."""

import dataclasses

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.hdl.dram.client_arbiter import SharedController
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.simd import accelerator_harness
from cyclebound.hdl.simd.accelerator import Accelerator
from cyclebound.sim import catalogue
from cyclebound.sim.run.job import Job, simulate

_PINS = "command", "dq_in", "dq_out", "late"


class SharedAccelerator(wiring.Component):
    """An `Accelerator` on a controller that it shares with a client that, if it is ``busy``, reads
    a burst of the kernel's program without a pause."""

    def __init__(self, *, machine, part, busy):
        self.inner = Accelerator(machine=machine, part=part, controller=False)
        self.machine, self.part, self.asks = self.inner.machine, self.inner.part, busy
        self.shared = SharedController(clients=2, part=part)
        members, pins = self.inner.signature.members, self.shared.signature.members
        super().__init__({**{name: member for name, member in members.items() if name != "dram"},
                          **{name: pins[name] for name in _PINS}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = self.inner
        m.submodules.shared = shared = self.shared
        pass_through(m, self, inner, *(name for name in self.signature.members
                                       if name not in _PINS))
        pass_through(m, self, shared, *_PINS)
        wiring.connect(m, inner.dram, shared.client[0])
        mapping, request = shared.client[1].mapping, shared.client[1].request
        maps, mapped, address = Signal(), Signal(), Signal(30)
        with m.If(self.start.valid & self.idle):
            m.d.sync += [maps.eq(1), mapped.eq(0), address.eq(self.start.payload.address)]
        with m.If(mapping.valid & mapping.ready):
            m.d.sync += maps.eq(0)
        with m.If(shared.client[1].mapped):
            m.d.sync += mapped.eq(1)
        m.d.comb += [
            mapping.valid.eq(maps), mapping.payload.valid.eq(1),
            mapping.payload.address.eq(address), mapping.payload.x.eq(BURST_WORDS),
            mapping.payload.y.eq(1), request.payload.words.eq(BURST_WORDS),
            request.payload.count.eq(1),
            request.valid.eq(mapped & ~maps & ~self.idle if self.asks else 0),
        ]
        return m


@pytest.mark.cosim
@pytest.mark.thorough
def test_kernels_beside_another_client(tmp_path, monkeypatch):
    """Their results are what their mathematics have; another client makes them longer."""
    block, cycles = catalogue.load().find("simd.accelerator"), {}
    bench = dataclasses.replace(block.testbench("harness"), tests=None,
                                module="cyclebound.tb.simd.accelerator_shared")
    block = dataclasses.replace(block, bounds=(), testbenches=(bench,))
    for busy in (False, True):
        monkeypatch.setattr(accelerator_harness, "Accelerator", lambda busy=busy, **sizes:
                            SharedAccelerator(busy=busy, **sizes))
        outcome = simulate(block, Job(block.name, "small", "harness", 1, str(tmp_path / str(busy)),
                                      wall_limit=1200))
        assert outcome.passed, outcome.reason
        assert outcome.compared > 1000
        cycles[busy] = outcome.cycles
    assert cycles[True] > 1.2 * cycles[False]
