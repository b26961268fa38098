"""Words of a load on their way to scalar registers.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2, exact_log2

from cyclebound.golden.simd.machine import SCALARS
from cyclebound.hdl.simd.access_setup import JobLayout
from cyclebound.hdl.simd.interfaces import Transfer
from cyclebound.hdl.simd.moving_words import MovingWord

__all__ = ["ScalarLoad"]

_TARGET_BITS = ceil_log2(2 * SCALARS)  # of a target that may lie beyond the last register


class ScalarLoad(wiring.Component):
    """Writes words in a row to registers in a row, and so to banks in a row.

    That holds over the ends of lines, too: the words of a beat or of a scratchpad's line are
    rotated by as many banks as the register of the first one says.

    Latency: none.

    Parameters
    ----------
    machine : Machine
        Sizes; ``words_moved`` words move in a cycle.
    positions : int
        Of the bus to vector registers.

    Members
    -------
    job : In(JobLayout)
        The slot's job.
    words : In(MovingWord) times words_moved
        What moves.
    scalars : Out
        That of `Transfer`.
    """

    def __init__(self, *, machine, positions):
        super().__init__({
            "job": In(JobLayout), "words": In(MovingWord).array(machine.words_moved),
            "scalars": Transfer(machine=machine, words=positions).members["scalars"],
        })

    def elaborate(self, platform):
        m = Module()
        job, count = self.job, len(self.words)
        moves, rotation = Signal(count), Signal(range(max(count, SCALARS)))
        m.d.comb += [
            moves.eq(Cat(word.valid & job.scalars & (word.target[:_TARGET_BITS] < job.end)
                         for word in self.words)),
            # the same for each word that moves
            rotation.eq(reduce(or_, (
                Mux(moves[number], (word.target - number)[:len(rotation)], 0)
                for number, word in enumerate(self.words)))),
        ]
        rotated = Cat(Cat(move, word.value) for move, word in zip(moves, self.words, strict=True))
        width = len(rotated) // count
        for stage in range(exact_log2(count)):
            further = Signal(len(rotated), name=f"rotated_{1 << stage}")
            m.d.comb += further.eq(Mux(rotation[stage], rotated.rotate_left(width << stage),
                                       rotated))
            rotated = further
        low = exact_log2(count)
        for bank, scalar in enumerate(self.scalars):
            word = rotated.word_select(bank, width)
            m.d.comb += [
                scalar.enable.eq(word[0]), scalar.data.eq(word[1:]),
                # those before the first word's bank are of the next row
                scalar.row.eq(rotation[low:] + (bank < rotation[:low])),
            ]
        return m
