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
from cyclebound.hdl.simd.interfaces import PassedLayout, snooped_words

__all__ = ["SnoopRegisters"]


class SnoopRegisters(wiring.Component):
    """Index and data of each warp's item in one lane, for one slot.

    Words on the bus have consecutive indexes, modulo ``2 ** TARGET_BITS``, and each active item
    whose index is that of an enabled word matches it. An index of more bits matches none. While
    words pass that are loaded, every match takes its word, one cycle later. Otherwise the word that
    is wanted is the lowest match's, over all lanes: each lane says which words its warps match
    (``matched``), is told for which of them a warp is the lowest with a match in any lane
    (``first``; the same as a number in ``lowest``, which is any if no warp has a match) and which
    words a lower lane has (``before``), and shows those that are its own (``own``, ``held``).

    Latency: none from ``read`` to ``special``; ``matched`` follows ``snoop`` by one cycle, the
    others none after that. A word that passed in one cycle is on ``special`` two cycles later.

    Parameters
    ----------
    machine : Machine
        Warps; words of a bus, *n*.

    Members
    -------
    write : In(2 times ``enable``, ``warp``, ``data``)
        Into an index and into data.
    read : In(2 times warp)
        Warps whose index and whose data are on ``special``.
    special : Out(2 times 32)
        See ``read``.
    active : In(warps)
        Items that take part.
    snoop : In(``enable``, ``index``)
        Words that pass.
    passed : In(PassedLayout)
        Those that passed in the cycle before, and whether they are loaded.
    matched : Out(warps times n)
        Words that the items of each warp have.
    first : In(warps times n)
        Words for which the item that is chosen is of this warp.
    lowest : In(n times warp)
        The item that is chosen for each word is of this warp.
    before : In(n)
        Words that are a lower lane's.
    own : Out(n)
        Words that this lane has, or a lower one.
    held : Out(n times 32)
        Words of this lane, and 0 for others.
    """

    def __init__(self, *, machine):
        self.machine = machine
        self.count = count = snooped_words(machine)
        warps, warp = machine.warps, ceil_log2(machine.warps)
        write = data.StructLayout({"enable": 1, "warp": warp, "data": 32})
        super().__init__({
            "write": In(data.ArrayLayout(write, 2)),
            "read": In(data.ArrayLayout(unsigned(warp), 2)),
            "special": Out(data.ArrayLayout(unsigned(32), 2)), "active": In(warps),
            "snoop": In(data.StructLayout({"enable": count, "index": TARGET_BITS})),
            "passed": In(PassedLayout(machine=machine)),
            "matched": Out(data.ArrayLayout(unsigned(count), warps)),
            "first": In(data.ArrayLayout(unsigned(count), warps)),
            "lowest": In(data.ArrayLayout(unsigned(warp), count)),
            "before": In(count), "own": Out(count),
            "held": Out(data.ArrayLayout(unsigned(32), count)),
        })

    def elaborate(self, platform):
        m = Module()
        index, words = self._registers(m, "index"), self._registers(m, "data")
        for number, registers in enumerate((index, words)):
            write, port = self.write[number], registers.write_port()
            m.d.comb += [port.en.eq(write.enable), port.addr.eq(write.warp),
                         port.data.eq(write.data),
                         self.special[number].eq(_read(m, registers, self.read[number]))]
        self._match(m, index)
        for warp in range(self.machine.warps):
            port, matched = words.write_port(), self.matched[warp]
            m.d.comb += [
                port.en.eq(self.passed.load & matched.any()), port.addr.eq(warp),
                port.data.eq(reduce(or_, (Mux(matched[word], passed, 0)
                                          for word, passed in enumerate(self.passed.words)))),
            ]
        self._answer(m, words)
        return m

    def _registers(self, m, name):
        """One for each warp. As a memory, since simulators read one place of it: with a choice
        among warps for each word, as gates, 128 lanes were 68 MB of simulator."""
        m.submodules[name] = registers = Memory(shape=unsigned(32), depth=self.machine.warps,
                                                init=[], attrs={"ram_style": "logic"})
        return registers

    def _match(self, m, index):
        """How far an item's index lies before that of the last word on the bus is the number of its
        word, from the last one. Nothing but this register depends on the differences, so that
        simulators make them only while words pass."""
        snoop, count = self.snoop, self.count
        last = Signal(TARGET_BITS)
        m.d.comb += last.eq(snoop.index + (count - 1))
        rows = []
        for warp in range(self.machine.warps):
            own = _read(m, index, Const(warp, len(self.read[0])))
            before = (last - own[:TARGET_BITS])[:TARGET_BITS]
            asks = self.active[warp] & ~own[TARGET_BITS:].any()
            rows.append(asks.replicate(count) & snoop.enable
                        & (Const(1 << (count - 1), count) >> before))
        m.d.sync += self.matched.as_value().eq(Mux(snoop.enable.any(), Cat(rows), 0))

    def _answer(self, m, words):
        """The words that this lane has to give."""
        chosen, taken = Signal(self.count), Signal(self.count)
        m.d.comb += [
            chosen.eq(reduce(or_, (self.matched[warp] & self.first[warp]
                                   for warp in range(self.machine.warps)))),
            self.own.eq(chosen | self.before), taken.eq(chosen & ~self.before),
        ]
        for word, held in enumerate(self.held):
            m.d.comb += held.eq(Mux(taken[word], _read(m, words, self.lowest[word]), 0))


def _read(m, memory, address):
    """What a memory has at an address now."""
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(address)
    return port.data
