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

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import TARGET_BITS
from cyclebound.hdl.simd.interfaces import SnoopLayout, snooped_words

__all__ = ["SnoopRegisters"]


class SnoopRegisters(wiring.Component):
    """Index and data of each warp's item in one lane, for one slot.

    Words on the bus have consecutive indexes, modulo ``2 ** TARGET_BITS``, and each active item
    whose index is that of an enabled word matches it. An index of more bits matches none. While
    words pass that are loaded, every match takes its word, in that cycle. Otherwise the word that
    is wanted is the lowest match's, over all lanes: each lane says which words its warps match
    (``matched``), is told for which of them a warp is the lowest with a match in any lane
    (``first``; the same as a number in ``lowest``, which is any if no warp has a match) and which
    words a lower lane has (``before``), and shows those that are its own (``own``, ``held``).

    Latency: none from ``read`` to ``special``; ``matched`` follows ``snoop`` by one cycle, the
    others none after that.

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
    snoop : In(SnoopLayout)
        Words that pass.
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
            "snoop": In(SnoopLayout(machine=machine)),
            "matched": Out(data.ArrayLayout(unsigned(count), warps)),
            "first": In(data.ArrayLayout(unsigned(count), warps)),
            "lowest": In(data.ArrayLayout(unsigned(warp), count)),
            "before": In(count), "own": Out(count),
            "held": Out(data.ArrayLayout(unsigned(32), count)),
        })

    def elaborate(self, platform):
        m = Module()
        snoop, warps = self.snoop, self.machine.warps
        index = Array(Signal(32, name=f"index_{warp}", reset_less=True) for warp in range(warps))
        # One signal, and choices as slices of it: with a choice among warps for each word, and
        # among words for each warp, as gates, 128 lanes were 68 MB of simulator.
        words = Signal(data.ArrayLayout(unsigned(32), warps), name="data", reset_less=True)
        for number, register in enumerate((index, words)):
            write = self.write[number]
            m.d.comb += self.special[number].eq(register[self.read[number] if warps > 1 else 0])
            for warp in range(warps):
                with m.If(write.enable & (write.warp == warp)):
                    m.d.sync += register[warp].eq(write.data)

        # The words lie in one block of indexes or in two; which one an item has to compare with,
        # its own low bits say.
        low = ceil_log2(self.count)
        high, follows = snoop.index[low:], Signal(TARGET_BITS - low)
        m.d.comb += follows.eq(high + 1)
        for warp in range(warps):
            own = index[warp]
            word, match = Signal(low, name=f"word_{warp}"), Signal(name=f"match_{warp}")
            m.d.comb += [
                word.eq(own[:low] - snoop.index[:low]),
                match.eq(self.active[warp] & snoop.enable.bit_select(word, 1)
                         & ~own[TARGET_BITS:].any()
                         & (own[low:TARGET_BITS] == Mux(own[:low] < snoop.index[:low], follows,
                                                        high))),
            ]
            with m.If(match & snoop.load):
                m.d.sync += words[warp].eq(snoop.words[word])
            # A row of words for each warp, as it is: a row of warps for each word would be taken
            # together bit by bit in every lane.
            m.d.sync += self.matched[warp].eq(match << word)

        chosen, taken = Signal(self.count), Signal(self.count)
        m.d.comb += [
            chosen.eq(reduce(or_, (self.matched[warp] & self.first[warp]
                                   for warp in range(warps)))),
            self.own.eq(chosen | self.before), taken.eq(chosen & ~self.before),
        ]
        for word, held in enumerate(self.held):
            warp = self.lowest[word] if warps > 1 else 0
            m.d.comb += held.eq(Mux(taken[word], words[warp], 0))
        return m
