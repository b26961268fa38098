"""Bound checker of the scratchpad: it reads its ports and drives none.

Ref: Sim-D, section 3.3.
"""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal

from cyclebound.tb.watcher import Watcher

__all__ = ["ScratchpadCheck"]

_BITS = 32


class ScratchpadCheck(Watcher):
    """A transfer moves as many words as its tile has, none twice as far as numbers tell: those read
    from the cycle after ``go`` on without a pause, those to be written are asked for from ``go``
    on; ``done`` is set once, with the last of them.

    Parameters
    ----------
    target : Scratchpad
        The scratchpad, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    moved : Signal
        Words of this transfer that have moved, or were asked for.
    """

    def __init__(self, target):
        super().__init__(target)
        self.moved = Signal(_BITS)

    def elaborate(self, platform):
        m = Module()
        tile, busy, served = self.tile, Signal(), Signal()
        size = Signal(_BITS)
        reads = Mux(self.deliver.valid, sum(self.deliver.payload.enable), 0)
        asks = Mux(self.ask.valid, sum(self.ask.payload.enable), 0)
        total = Signal(_BITS)
        m.d.comb += [size.eq(tile.words * tile.count),
                     total.eq(Mux(self.go, 0, self.moved) + reads + asks)]
        m.d.sync += [
            self.moved.eq(total), busy.eq((busy | self.go) & ~self.done),
            served.eq((self.go & (size != 0)) | (busy & ~self.done)),
            Assert(~self.deliver.valid | ~self.ask.valid, "a transfer reads and writes"),
            Assert(~(self.deliver.valid | self.ask.valid) | busy | self.go,
                   "words of no transfer"),
            Assert(~self.done | busy | self.go, "done without a transfer"),
            Assert(~self.done | (total == size), "not all words have moved, or too many"),
            Assert(~(busy & served & ~tile.write) | self.deliver.valid, "a pause among words"),
            Assert(~self.deliver.valid | self.deliver.payload.enable.any(),
                   "a line without a word"),
            Cover(self.done & (size > 4), "a transfer of more than four words ends"),
        ]
        return m
