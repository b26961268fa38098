"""A catalogue page with a block whose testbench does not look at one of its outputs."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.bound import bound
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Testbench
from cyclebound.tb.probe import Probe


class Tally(wiring.Component):
    """Counts the cycles with ``go``; ``parity`` is that of ``word``, with a gate that is dead."""

    def __init__(self, *, width):
        super().__init__({"go": In(1), "word": In(2), "count": Out(width), "parity": Out(1)})

    def elaborate(self, platform):
        m = Module()
        dead = self.word.all() & self.word.xor()  # dead
        with m.If(self.go):
            m.d.sync += self.count.eq(self.count + 1)  # counted
        m.d.comb += self.parity.eq(self.word.xor() | dead)  # unseen
        return m


class Offer(wiring.Component):
    """A stream whose payload shows ``word``, also while there is no offer."""

    def __init__(self, *, width):
        super().__init__({"word": In(width), "go": In(1), "out": Out(stream.Signature(width))})

    def elaborate(self, platform):
        m = Module()
        shown = self.word & self.go.replicate(len(self.word))
        m.d.comb += [self.out.valid.eq(self.go), self.out.payload.eq(shown)]
        return m


class Kept(wiring.Component):
    """A memory, read a cycle later; nothing says what its port shows before it has read."""

    def __init__(self, *, width):
        super().__init__({"go": In(1), "word": In(width), "kept": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=len(self.word), depth=2, init=[])
        write, read = memory.write_port(), memory.read_port()
        dead = self.word.all() & ~self.word.any()  # shadow
        m.d.comb += [write.en.eq(self.go), write.addr.eq(self.word[0]), write.data.eq(self.word),
                     read.en.eq(self.go | dead), read.addr.eq(self.word[1]),
                     self.kept.eq(read.data)]
        return m


@bound(formula="n", source="this test")
def turns(*, n: int) -> int:
    """A cycle for each."""
    return n


def _block(name, component, module="weak_bench", **bench):
    return Block(f"test.{name}", "a counter", component, {"three": Configuration({"width": 3})},
                 (Testbench("cycle", module, **bench),
                  Testbench("around", module, top=component)),
                 (BoundBinding("turns", turns, Probe("go", "go")),))


BLOCKS = (_block("tally", Tally), _block("offer", Offer),
          _block("kept", Kept), _block("apart", Tally, configurations=()))
