"""Gives each core of a processor its range of the threads, while all are configured.

Part of the processor, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.bitstream import UNIT_WORDS, WORD
from cyclebound.golden.dataflow.grid import PORTS, Kind

__all__ = ["Dispatcher"]


class Dispatcher(wiring.Component):
    """One configuration for all cores, but for how many threads they start and with which numbers.

    It counts the words: those of sources and of the sink are changed on their way. Core c has the
    ``share`` threads from c times ``share`` on, those of them that there are.

    Latency: none.

    Parameters
    ----------
    cores : int
        How many.
    grid : golden.dataflow.grid.Grid
        Of each core's fabric.
    tid_width : int
        Bits of a thread identifier, 23 at most: a sink's count is in its first word.

    Members
    -------
    configuration : In(stream of 32)
        Of all cores. The words between two starts are one whole configuration.
    start : In(1)
        The next word is the first of a configuration.
    threads : In(32)
        To run, by all cores; does not change while they are configured.
    share : In(tid_width + 1)
        Of one core.
    cores : Out(stream of 32).array(cores)
        Their configurations.
    """

    def __init__(self, *, cores, grid, tid_width):
        self.grid, self.tid_width = grid, tid_width
        words = stream.Signature(unsigned(WORD))
        super().__init__({"configuration": In(words), "start": In(1), "threads": In(WORD),
                          "share": In(tid_width + 1), "cores": Out(words).array(cores)})
        # the state; a proof has to speak of it
        last = UNIT_WORDS * len(grid.units) + len(grid.switches) - 1
        self.left = Signal(range(last + 1), init=last)  # the register that the word is for
        self.numbered = Signal()  # a source's third word, which comes first, asks for numbers

    def elaborate(self, platform):
        m = Module()
        grid, bits, source = self.grid, self.tid_width + 1, self.configuration
        left, numbered, last = self.left, self.numbered, self.left.init
        with m.If(self.start):
            m.d.sync += left.eq(last)
        with m.Elif(source.valid):
            m.d.sync += left.eq(Mux(left == 0, last, left - 1))

        # Words of sources, the second and third of a unit, and the second of a sink.
        places = {kind: [UNIT_WORDS * number for number, unit in enumerate(grid.units)
                         if grid.kind(unit) == kind] for kind in (Kind.SOURCE, Kind.SINK)}
        low, high = (Cat(left == at + word for at in places[Kind.SOURCE]).any() for word in (1, 2))
        sink = Cat(left == at + 1 for at in places[Kind.SINK]).any()
        rest = WORD - bits  # bits of a source's value that are in its second word
        word, numbers = source.payload, Signal()
        m.d.comb += [source.ready.eq(1), numbers.eq(word[WORD - rest])]
        with m.If(source.valid & high):
            m.d.sync += numbered.eq(numbers)

        for number, core in enumerate(self.cores):
            first, after = (Signal(WORD + 1, name=f"{name}_{number}")
                            for name in ("first", "after"))
            count = Signal(bits, name=f"count_{number}")
            m.d.comb += [
                first.eq(self.share * number), after.eq(first + self.share),
                count.eq(Mux(self.threads >= after, self.share,
                             Mux(self.threads > first, self.threads - first, 0))),
                core.valid.eq(source.valid), core.payload.eq(word)]
            with m.If(high & numbers):
                m.d.comb += core.payload.eq(Cat(first[rest:WORD], numbers))
            with m.If(low):
                m.d.comb += core.payload.eq(Cat(count, Mux(numbered, first[:rest], word[bits:])))
            with m.If(sink):
                m.d.comb += core.payload.eq(Cat(word[:PORTS], count))
        return m
