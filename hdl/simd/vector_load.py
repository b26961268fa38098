"""Words of a load on their way to vector registers.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import WORD_BITS
from cyclebound.hdl.interfaces import drive
from cyclebound.hdl.simd.access_setup import JobLayout
from cyclebound.hdl.simd.interfaces import REGISTER_BANKS, Transfer
from cyclebound.hdl.simd.moving_words import MovingWord
from cyclebound.hdl.simd.register_address import bank_rows, item_bit, word_place
from cyclebound.hdl.simd.word_crossbar import WordCrossbar

__all__ = ["VectorLoad"]


class VectorLoad(wiring.Component):
    """Writes the words of active items; at each place of the bus, the last word that is there.

    Latency: none.

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
        What moves.
    write : Out
        That of `Transfer`.
    """

    def __init__(self, *, machine, positions):
        self.machine, self.positions = machine, positions
        super().__init__({
            "job": In(JobLayout), "active": In(machine.items),
            "words": In(MovingWord).array(machine.words_moved),
            "write": Transfer(machine=machine, words=positions).members["write"],
        })

    def elaborate(self, platform):
        m = Module()
        job, groups = self.job, self.machine.items // self.positions
        m.submodules.crossbar = crossbar = WordCrossbar(
            words=len(self.words), places=REGISTER_BANKS * self.positions,
            fields={"group": ceil_log2(groups), "value": WORD_BITS})
        for number, word in enumerate(self.words):
            place, group, item = word_place(m, f"word_{number}", job, word.target,
                                            positions=self.positions, groups=groups)
            moves = Signal(name=f"moves_{number}")
            m.d.comb += [
                moves.eq(word.valid & ~job.cam & ~job.scalars),
                crossbar.select[number].eq((moves & item_bit(self.active, item)) << place),
                crossbar.group[number].eq(group),
            ]
        drive(m, crossbar.value, [word.value for word in self.words])
        for bank, row in enumerate(bank_rows(m, job)):
            for position, write in enumerate(self.write[bank]):
                place = bank * self.positions + position
                m.d.comb += [
                    write.enable.eq(crossbar.selected[place]), write.row.eq(row),
                    write.group.eq(crossbar.placed_group[place]),
                    write.data.eq(crossbar.placed_value[place]),
                ]
        return m
