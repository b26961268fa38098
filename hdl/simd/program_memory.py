"""The program's memory.

Part of the compute unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.interfaces import ProgramWriteLayout
from cyclebound.hdl.simd.token import INDEX_BITS

__all__ = ["ProgramMemory"]


class ProgramMemory(wiring.Component):
    """The program: pairs of instructions, of which one is fetched.

    Latency: 1 cycle to ``word``, which stays until the next fetch.

    Members
    -------
    program : In(Strobe(ProgramWriteLayout))
        Written, stall or not.
    stall : In(1)
        Nothing is fetched.
    fetch : In(1), index : In(12)
        The instruction to fetch.
    word : Out(64)
        The one that was.
    """

    def __init__(self):
        super().__init__({"program": In(Strobe(ProgramWriteLayout())), "stall": In(1),
                          "fetch": In(1), "index": In(INDEX_BITS + 1), "word": Out(64)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(unsigned(64), 2), depth=INSTRUCTIONS // 2, init=[])
        write, fetch = memory.write_port(granularity=1), memory.read_port()
        program, odd = self.program.payload, Signal()
        m.d.comb += [write.addr.eq(program.index), write.data.eq(program.words),
                     write.en.eq(Mux(self.program.valid, program.enable, 0)),
                     fetch.en.eq(self.fetch & ~self.stall), fetch.addr.eq(self.index[1:]),
                     self.word.eq(fetch.data[odd])]
        with m.If(fetch.en):
            m.d.sync += odd.eq(self.index[0])
        return m
