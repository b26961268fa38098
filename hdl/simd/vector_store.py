"""Words of a store on their way from vector registers.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import WORD_BITS
from cyclebound.hdl.selection import Selection
from cyclebound.hdl.simd.access_setup import JobLayout
from cyclebound.hdl.simd.interfaces import REGISTER_BANKS, HeldLayout, Transfer
from cyclebound.hdl.simd.moving_words import MovingWord
from cyclebound.hdl.simd.register_address import bank_rows, item_bit, word_place
from cyclebound.hdl.simd.word_crossbar import WordCrossbar

__all__ = ["VectorStore"]


class VectorStore(wiring.Component):
    """Asks the registers for words.

    Latency: ``answered`` follows ``words`` by a cycle.

    Parameters
    ----------
    machine : Machine
        Sizes; ``words_moved`` words move in a cycle.
    positions : int
        Of the bus in each bank.

    Members
    -------
    job : In(JobLayout), active : In(items)
        The slot's job, and its active items.
    words : In(MovingWord) times words_moved
        What is asked for.
    read, answer : Out, In
        Those of `Transfer`.
    answered : Out(HeldLayout)
        The words of the cycle before.
    """

    def __init__(self, *, machine, positions):
        self.machine, self.positions = machine, positions
        transfer = Transfer(machine=machine, words=positions).members
        super().__init__({
            "job": In(JobLayout), "active": In(machine.items),
            "words": In(MovingWord).array(machine.words_moved),
            "read": transfer["read"], "answer": transfer["answer"],
            "answered": Out(HeldLayout(machine=machine)),
        })

    def elaborate(self, platform):
        m = Module()
        places, groups = REGISTER_BANKS * self.positions, self.machine.items // self.positions
        m.submodules.crossbar = crossbar = WordCrossbar(
            words=len(self.words), places=places, fields={"group": ceil_log2(groups)})
        m.submodules.answers = answers = Selection(
            words=places, width=WORD_BITS, choices=len(self.words))
        m.d.comb += [answers.row.eq(self.answer), self.answered.words.eq(answers.chosen)]
        for number, word in enumerate(self.words):
            place, group, item = word_place(m, f"word_{number}", self.job, word.target,
                                            positions=self.positions, groups=groups)
            m.d.comb += [crossbar.select[number].eq(word.valid << place),
                         crossbar.group[number].eq(group)]
            m.d.sync += [
                answers.number[number].eq(place),
                self.answered.enable[number].eq(word.valid & item_bit(self.active, item)),
            ]
        for bank, row in enumerate(bank_rows(m, self.job)):
            for position, read in enumerate(self.read[bank]):
                m.d.comb += [read.row.eq(row), read.group.eq(
                    crossbar.placed_group[bank * self.positions + position])]
        return m
