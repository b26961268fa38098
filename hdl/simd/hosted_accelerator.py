"""The accelerator with its register interface: AXI4-Lite on one side, a DRAM on the other.

    host --AXI4-Lite--> host interface --> accelerator <--> DRAM

Ref: Sim-D, sections 2 and 3; golden/simd/host_registers.py has the registers.
"""

from amaranth.hdl import Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import BEAT_WORDS, WORD_BITS
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.layouts import DriveLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.accelerator import Accelerator
from cyclebound.hdl.simd.host import AXI_LITE, HostInterface

__all__ = ["HostedAccelerator"]


class HostedAccelerator(wiring.Component):
    """Runs the kernels that a host starts by writing registers.

    Parameters
    ----------
    machine : Machine or str
        Sizes, and the compute clock's period.
    part : Part or str
        The DRAM.

    Members
    -------
    s_axil_aw*, s_axil_w*, s_axil_b*, s_axil_ar*, s_axil_r*
        Subordinate of `AXI_LITE` of the host interface.
    done : Out(1)
        No kernel runs; an interrupt's source.
    command, dq_in, dq_out
        The DRAM's pins.
    late : Out(1)
        A refresh came too late.
    """

    def __init__(self, *, machine, part):
        self.accelerator = Accelerator(machine=machine, part=part)
        self.machine, self.part = self.accelerator.machine, self.accelerator.part
        self.host = HostInterface(machine=self.machine)
        super().__init__({
            **AXI_LITE.subordinate_ports("s_axil"), "done": Out(1),
            "command": Out(CommandLayout(part=self.part)),
            "dq_in": In(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
            "dq_out": Out(Strobe(DriveLayout)), "late": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.host = host = self.host
        m.submodules.accelerator = accelerator = self.accelerator
        wiring.connect(m, AXI_LITE.of(host, "s_axil"),
                       wiring.flipped(AXI_LITE.of(self, "s_axil")))
        for name in ("mapping", "chip", "start"):
            wiring.connect(m, getattr(host, name), getattr(accelerator, name))
        wiring.connect(m, accelerator.fault, host.fault)
        wiring.connect(m, accelerator.dq_out, wiring.flipped(self.dq_out))
        m.d.comb += [
            host.idle.eq(accelerator.idle), host.loaded.eq(accelerator.loaded),
            host.cycles.eq(accelerator.cycles), self.done.eq(accelerator.idle),
            self.command.eq(accelerator.command), accelerator.dq_in.eq(self.dq_in),
            self.late.eq(accelerator.late),
        ]
        return m
