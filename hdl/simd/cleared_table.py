"""A table that reset clears.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.hdl.interfaces import Strobe

__all__ = ["ClearedTable"]


class ClearedTable(wiring.Component):
    """Memory whose entries read 0 until they are written after a reset, by a bit for each.

    Latency: none; an entry that is written is there from the next cycle on.

    Parameters
    ----------
    shape : data.Layout
        Of an entry.
    depth : int
        Entries.
    reads : int
        Entries that are read at a time.

    Members
    -------
    write : In(Strobe): ``address``, ``entry``
        What to write.
    address : In(ceil_log2(depth)) times reads
        What to read.
    entry : Out(shape) times reads
        What is there.
    """

    def __init__(self, *, shape, depth, reads):
        self.shape, self.depth = shape, depth
        super().__init__({
            "write": In(Strobe(data.StructLayout({"address": ceil_log2(depth), "entry": shape}))),
            "address": In(ceil_log2(depth)).array(reads), "entry": Out(shape).array(reads),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, port, written = self.write, memory.write_port(), Signal(self.depth)
        m.d.comb += [port.en.eq(write.valid), port.addr.eq(write.payload.address),
                     port.data.eq(write.payload.entry)]
        with m.If(write.valid):
            m.d.sync += written.bit_select(write.payload.address, 1).eq(1)
        for address, entry in zip(self.address, self.entry, strict=True):
            read = memory.read_port(domain="comb")
            m.d.comb += [
                read.addr.eq(address),
                entry.eq(Mux(written.bit_select(address, 1), read.data.as_value(), 0)),
            ]
        return m
