"""Register interface of the accelerator: AXI4-Lite.

Ref: AMBA AXI Protocol Specification (IHI 0022), chapter B1; golden/simd/host_registers.py has the
registers.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import ADDRESS_BITS
from cyclebound.golden.simd.host_registers import Register, Status
from cyclebound.golden.simd.machine import machine_named
from cyclebound.golden.simd.program import BUFFERS, INSTRUCTIONS
from cyclebound.hdl.axi import AxiLiteSignature
from cyclebound.hdl.dram.layouts import Mapping
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.access_setup import ScratchpadBuffer
from cyclebound.hdl.simd.interfaces import FaultLayout, KernelLayout
from cyclebound.hdl.simd.scheduler import COMPUTE

__all__ = ["AXI_LITE", "HostInterface", "no_kernel"]

_ADDRESS_BITS = 8
AXI_LITE = AxiLiteSignature(address_width=_ADDRESS_BITS)  # ports by the prefix s_axil
_DIMENSION_BITS, _CHIP_BITS = 20, 14
_CHIP = 8  # bit of MAP
_BURST_BITS = 4  # a program begins at a burst

_KERNEL = (Register.PROGRAM, Register.INSTRUCTIONS, Register.GRID_X, Register.GRID_Y,
           Register.WIDTH, Register.POLICY)


def no_kernel(machine, program, instructions, x, y, width, policy):
    """Whether these are no kernel that the accelerator can run: values of such registers, of any
    number of bits."""
    widths = [width.bit_length() - 1 for width in machine.widths]
    return (~(x.any() & y.any() & instructions.any()) | x[_DIMENSION_BITS:].any()
            | y[_DIMENSION_BITS:].any() | (instructions > INSTRUCTIONS) | ~width.matches(*widths)
            | (policy > COMPUTE) | program[:_BURST_BITS].any() | program[ADDRESS_BITS:].any())


class HostInterface(wiring.Component):
    """Registers that start kernels, map buffers, and report their results.

    One write and one read at a time, each answered OKAY; only writes of whole words have an effect.
    An illegal write has no effect and is reported in STATUS. Bounds: ``golden.simd.host_bounds``.

    Parameters
    ----------
    machine : Machine or str
        Sizes.

    Members
    -------
    s_axil_aw*, s_axil_w*, s_axil_b*, s_axil_ar*, s_axil_r*
        Subordinate of `AXI_LITE`.
    mapping, chip, start, idle, loaded, cycles, fault
        Of the accelerator, in its directions.

    Attributes
    ----------
    kept : dict of Register to Signal
        The registers that keep what is written.
    refused : Signal
        The mark in STATUS.
    """

    def __init__(self, *, machine):
        self.machine = machine_named(machine)
        super().__init__({
            **AXI_LITE.subordinate_ports("s_axil"),
            "mapping": Out(stream.Signature(data.Layout.cast(Mapping))),
            "chip": Out(Strobe(data.StructLayout({
                "number": ceil_log2(BUFFERS), "buffer": data.Layout.cast(ScratchpadBuffer)}))),
            "start": Out(Strobe(KernelLayout(machine=self.machine))), "idle": In(1),
            "loaded": In(1), "cycles": In(40), "fault": In(Strobe(FaultLayout())),
        })
        self.kept = {register: Signal(bits, name=register.name.lower()) for register, bits in (
            (Register.PROGRAM, 30), (Register.INSTRUCTIONS, 32), (Register.GRID_X, 32),
            (Register.GRID_Y, 32), (Register.WIDTH, 4), (Register.POLICY, 3),
            (Register.ADDRESS, 30), (Register.SIZE_X, 32), (Register.SIZE_Y, 32))}
        self.refused = Signal()

    def elaborate(self, platform):
        m = Module()
        axi, kept, refused = AXI_LITE.of(self, "s_axil"), self.kept, self.refused

        acts, offers, answers = Signal(), Signal(), Signal()  # a write, a mapping, a response
        address, word, whole = self._take_writes(m, axi, acts, offers, answers)
        maps, starts = Signal(), Signal()
        m.d.comb += [
            maps.eq(acts & whole & (address == Register.MAP)),
            starts.eq(acts & whole & (address == Register.CONTROL) & word[0]),
        ]
        with m.If(acts & whole):
            for register, signal in kept.items():
                with m.If(address == register):
                    m.d.sync += signal.eq(word)
            with m.If((address == Register.STATUS) & (word & Status.REFUSED.value).any()):
                m.d.sync += refused.eq(0)
        bad_map, bad_start = self._wrong(kept, word)
        with m.If((maps & bad_map) | (starts & bad_start)):
            m.d.sync += refused.eq(1)

        # a mapping of a DRAM buffer takes as long as the accelerator lets it; all else is done
        chip = word[_CHIP]
        with m.If(maps & ~bad_map & ~chip):
            m.d.sync += offers.eq(1)
        with m.Elif(self.mapping.ready):
            m.d.sync += offers.eq(0)
        with m.If((acts & ~(maps & ~bad_map & ~chip)) | (offers & self.mapping.ready)):
            m.d.sync += answers.eq(1)

        self._drive(m, kept, word, mapping=offers, chip=maps & ~bad_map & chip,
                    start=starts & ~bad_start)
        self._read(m, axi, kept, refused)
        return m

    def _take_writes(self, m, axi, acts, offers, answers):
        """Address and data are taken together, carried out, answered. Returns address, word, and
        whether all bytes of it are written."""
        address, word, whole = Signal(_ADDRESS_BITS), Signal(32), Signal()
        free = ~acts & ~offers & (~answers | axi.b.ready)
        taken = axi.aw.valid & axi.w.valid & free
        m.d.comb += [axi.aw.ready.eq(taken), axi.w.ready.eq(taken),
                     axi.b.valid.eq(answers)]
        m.d.sync += acts.eq(taken)
        with m.If(taken):
            m.d.sync += [address.eq(axi.aw.addr), word.eq(axi.w.data),
                         whole.eq(axi.w.strb.all())]
        with m.If(answers & axi.b.ready):
            m.d.sync += answers.eq(0)
        return address, word, whole

    def _wrong(self, kept, word):
        """Whether a mapping, and a start, is to be refused."""
        def large(register, bits):
            return kept[register][bits:].any()

        wide = Mux(word[_CHIP], large(Register.SIZE_X, _CHIP_BITS)
                   | large(Register.SIZE_Y, _CHIP_BITS) | large(Register.ADDRESS, _CHIP_BITS),
                   large(Register.SIZE_X, _DIMENSION_BITS) | large(Register.SIZE_Y,
                                                                   _DIMENSION_BITS))
        bad_map = ~self.idle | wide
        bad_start = ~self.idle | no_kernel(self.machine, *(kept[register] for register in _KERNEL))
        return bad_map, bad_start

    def _drive(self, m, kept, word, *, mapping, chip, start):
        """Drive the accelerator's strobes that are set, with fields from the registers."""
        x, y = kept[Register.SIZE_X], kept[Register.SIZE_Y]
        mapped, buffer = self.mapping.payload, self.chip.payload.buffer
        kernel = self.start.payload
        m.d.comb += [
            self.mapping.valid.eq(mapping), mapped.buffer.eq(word[:5]), mapped.valid.eq(1),
            mapped.address.eq(kept[Register.ADDRESS]), mapped.x.eq(x), mapped.y.eq(y),
            self.chip.valid.eq(chip), self.chip.payload.number.eq(word[:5]),
            buffer.address.eq(kept[Register.ADDRESS]), buffer.x.eq(x), buffer.y.eq(y),
            self.start.valid.eq(start),
            kernel.address.eq(kept[Register.PROGRAM]),
            kernel.instructions.eq(kept[Register.INSTRUCTIONS]),
            kernel.grid.x.eq(kept[Register.GRID_X]), kernel.grid.y.eq(kept[Register.GRID_Y]),
            kernel.grid.width.eq(kept[Register.WIDTH]),
            kernel.policy.eq(kept[Register.POLICY]),
        ]

    def _read(self, m, axi, kept, refused):
        """Reads: an address is taken, its register looked up, its value shown."""
        wanted, looks, shows = Signal(_ADDRESS_BITS), Signal(), Signal()
        idle = ~looks & (~shows | axi.r.ready)
        m.d.comb += [axi.ar.ready.eq(idle & axi.ar.valid),
                     axi.r.valid.eq(shows)]
        m.d.sync += looks.eq(axi.ar.valid & axi.ar.ready)
        with m.If(axi.ar.valid & axi.ar.ready):
            m.d.sync += wanted.eq(axi.ar.addr)
        with m.If(looks):
            m.d.sync += shows.eq(1)
        with m.Elif(axi.r.ready):
            m.d.sync += shows.eq(0)
        fault = self.fault.payload
        status = Cat(self.idle, self.fault.valid, self.loaded, refused)
        with m.If(looks):
            m.d.sync += axi.r.data.eq(0)
            with m.Switch(wanted):
                for register, value in {
                        **kept, Register.STATUS: status, Register.CYCLES_LOW: self.cycles[:32],
                        Register.CYCLES_HIGH: self.cycles[32:],
                        Register.FAULT: Cat(fault.cause, Const(0, 5), fault.slot, Const(0, 7),
                                            fault.index),
                        Register.GROUP_LOW: fault.number[:32],
                        Register.GROUP_HIGH: fault.number[32:]}.items():
                    with m.Case(register.value):
                        m.d.sync += axi.r.data.eq(value)
