"""Queue of a cache's answers that have to wait for others.

Part of the cache's banks, whose model, testbench, proof and tests cover it.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.hdl.interfaces import Strobe

__all__ = ["AnswerQueue"]


class AnswerQueue(wiring.Component):
    """First in, first out; its user must never put in more than it holds.

    Latency: what enters is ``head`` in the next cycle, or when all before it have left. Where the
    next one goes follows from the oldest one's place and from ``level``: no two registers could
    ever disagree about it, so that a proof needs to know nothing about them.

    Parameters
    ----------
    shape : ShapeLike
        Of an answer.
    depth : int
        Answers held, a power of two.

    Members
    -------
    source : In(Strobe(shape))
        Enters. Not while ``level`` is ``depth`` and nothing leaves.
    head : Out(shape)
        The oldest; means nothing if ``level`` is 0.
    leaves : In(1)
        The oldest, if there is one, leaves.
    level : Out(range(depth + 1))
        Answers held.
    """

    def __init__(self, *, shape, depth):
        self.shape, self.depth = shape, depth
        super().__init__({"source": In(Strobe(shape)), "head": Out(shape), "leaves": In(1),
                          "level": Out(range(depth + 1))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.places = places = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = places.write_port(), places.read_port(domain="comb")
        oldest = Signal(exact_log2(self.depth))
        goes = self.leaves & (self.level != 0)
        m.d.comb += [
            write.addr.eq((oldest + self.level)[:len(oldest)]),
            write.data.eq(self.source.payload), write.en.eq(self.source.valid),
            read.addr.eq(oldest), self.head.eq(read.data),
        ]
        m.d.sync += [oldest.eq(oldest + goes), self.level.eq(self.level + self.source.valid - goes)]
        return m
