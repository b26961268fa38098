"""A block whose outputs depend on its inputs with and without a register, for tests of playing."""

from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim.describe.block import Block, Configuration, Testbench

__all__ = ["BLOCKS", "Mixer"]


class Mixer(wiring.Component):
    """A register of what came, mixed; and what comes, with that at once.

    Parameters
    ----------
    width : int
        Bits.
    falls : bool
        A second register moves on falling edges, and is part of what is kept.
    """

    def __init__(self, *, width, falls=False):
        self.width, self.falls = width, falls
        super().__init__({"word": In(width), "kept": Out(width), "mixed": Out(width)})

    def elaborate(self, platform):
        m = Module()
        kept = Signal(self.width)
        m.d.sync += kept.eq(kept.rotate_left(1) + self.word + 1)
        m.d.comb += [self.kept.eq(kept), self.mixed.eq(kept ^ self.word)]
        if self.falls:
            m.domains.falling = ClockDomain(clk_edge="neg", local=True)
            m.d.comb += [ClockSignal("falling").eq(ClockSignal()),
                         ResetSignal("falling").eq(ResetSignal())]
            count = Signal(self.width)
            m.d.falling += count.eq(count + 3)
            m.d.comb += self.kept.eq(kept ^ count)
        return m


BLOCKS = (Block(
    name="test.player", summary="mixes words", component=Mixer,
    configurations={**{f"of_{width}": Configuration({"width": width})
                       for width in (3, 8, 40, 100)},
                    "falling": Configuration({"width": 40, "falls": True})},
    testbenches=(Testbench("cycle", "player_bench", observes=False),), bounds=()),)
