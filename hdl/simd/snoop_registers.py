"""`mem_idx` and `mem_data` of one lane, which compare themselves with the words that pass.

Part of the compute unit, whose model, testbench and tests cover it; by itself it is driven in
tests/simd/test_snoop_registers.py.

A register file is extended with content-addressable memories (Sim-D, section 3.2.3): each item's
index is compared with those of all words on a bus, and its data is taken from there or goes there.
The registers are the memories, so that nothing is copied from one to the other.

Ref: Sim-D, section 3.2.3.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import TARGET_BITS
from cyclebound.hdl.simd.interfaces import PassedLayout

__all__ = ["SnoopRegisters"]


class SnoopRegisters(wiring.Component):
    """Index and data of each warp's item in one lane, for one slot.

    Words on the bus have consecutive indexes, modulo ``2 ** TARGET_BITS``, and each active item
    whose index is that of an enabled word matches it. An index of more bits matches none. While
    words pass that are loaded, every match takes its word, one cycle later. Words that are wanted
    are chosen outside, among ``special`` of all lanes: what depends on inputs at once is no part of
    a lane's registers, so that simulators may take its step once a cycle, by the same code for all.

    Latency: ``matched`` follows ``snoop`` by one cycle. What was written in one cycle is on
    ``special`` in the next; a word that passed, in the one after that.

    Parameters
    ----------
    machine : Machine
        Warps; words of a bus, *n*.

    Members
    -------
    write : In(2 times ``enable``, ``warp``, ``data``)
        Into an index and into data.
    special : Out(2 times warps times 32)
        All indexes and all data.
    active : In(warps)
        Items that take part.
    snoop : In(``enable``, ``index``)
        Words that pass.
    passed : In(PassedLayout)
        Those that passed in the cycle before, and whether they are loaded.
    matched : Out(warps times n)
        Words that the items of each warp have.
    """

    def __init__(self, *, machine):
        self.machine = machine
        self.count = count = machine.words_moved
        warps, warp = machine.warps, ceil_log2(machine.warps)
        write = data.StructLayout({"enable": 1, "warp": warp, "data": 32})
        super().__init__({
            "write": In(data.ArrayLayout(write, 2)),
            "special": Out(data.ArrayLayout(data.ArrayLayout(unsigned(32), warps), 2)),
            "active": In(warps),
            "snoop": In(data.StructLayout({"enable": count, "index": TARGET_BITS})),
            "passed": In(PassedLayout(machine=machine)),
            "matched": Out(data.ArrayLayout(unsigned(count), warps)),
        })

    def elaborate(self, platform):
        m = Module()
        index, words = self._registers(m, "index"), self._registers(m, "data")
        for number, registers in enumerate((index, words)):
            write, port = self.write[number], registers.write_port()
            m.d.comb += [port.en.eq(write.enable), port.addr.eq(write.warp),
                         port.data.eq(write.data)]
            for warp, word in enumerate(self.special[number]):
                read = registers.read_port(domain="comb")
                m.d.comb += [read.addr.eq(warp), word.eq(read.data)]
        self._match(m)
        for warp in range(self.machine.warps):
            port, matched = words.write_port(), self.matched[warp]
            m.d.comb += [
                port.en.eq(self.passed.load & matched.any()), port.addr.eq(warp),
                port.data.eq(reduce(or_, (Mux(matched[word], passed, 0)
                                          for word, passed in enumerate(self.passed.words)))),
            ]
        return m

    def _registers(self, m, name):
        """One for each warp."""
        m.submodules[name] = registers = Memory(shape=unsigned(32), depth=self.machine.warps,
                                                init=[], attrs={"ram_style": "logic"})
        return registers

    def _match(self, m):
        """How far an item's index lies before that of the last word on the bus is the number of its
        word, from the last one. Nothing but this register depends on the differences, so that
        simulators make them only while words pass."""
        snoop, count = self.snoop, self.count
        last = Signal(TARGET_BITS)
        m.d.comb += last.eq(snoop.index + (count - 1))
        rows = []
        for warp in range(self.machine.warps):
            own = self.special[0][warp]
            before = (last - own[:TARGET_BITS])[:TARGET_BITS]
            asks = self.active[warp] & ~own[TARGET_BITS:].any()
            rows.append(asks.replicate(count) & snoop.enable
                        & (Const(1 << (count - 1), count) >> before))
        m.d.sync += self.matched.as_value().eq(Mux(snoop.enable.any(), Cat(rows), 0))
