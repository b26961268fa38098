"""Checks packets where they enter the network: illegal ones are ended or dropped, and counted.

Part of the wormhole router, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.noc.flit import FlitLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["PacketGuard"]


class PacketGuard(wiring.Component):
    """Passes well-formed packets, and turns others into well-formed ones.

    Latency: none. When a packet turns out to have more than ``longest`` flits, or a first flit
    before a last one, a part of it has left already: the offending flit becomes an *abort* (first
    and last), which ends it, and what follows is dropped up to and including the next last flit.
    Flits between packets that do not begin one are dropped up to the next first flit.

    Parameters
    ----------
    width : int
        Bits of data in a flit.
    longest : int
        Flits in the longest packet allowed, at least 2.

    Members
    -------
    sink : In(stream of FlitLayout)
        Packets, well-formed or not.
    source : Out(stream of FlitLayout)
        Packets.
    overlong, misplaced : Out(1)
        A packet is too long, or a first flit is where none may be or none where one is due, in
        this cycle.
    """

    def __init__(self, *, width, longest):
        check_integer("Flit width", width, 1)
        check_integer("Longest packet", longest, 2)
        self.width, self.longest = width, longest
        flits = stream.Signature(FlitLayout(width))
        super().__init__({"sink": In(flits), "source": Out(flits),
                          "overlong": Out(1), "misplaced": Out(1)})
        self.inside = Signal()      # of a packet
        self.dropping = Signal()    # the rest of a packet that was aborted
        self.lost = Signal()        # flits between packets, counted already
        self.count = Signal(range(longest + 1))  # flits of the packet so far

    def elaborate(self, platform):
        m = Module()
        sink, source = self.sink, self.source
        flit, inside, dropping = sink.payload, self.inside, self.dropping

        again, discard, full, moved = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            again.eq(inside & flit.first),
            discard.eq(sink.valid & ~inside & (dropping | ~flit.first)),  # to be dropped
            full.eq(~flit.last & (self.count == self.longest - 1)),  # this would not be the last
            moved.eq(sink.valid & sink.ready),
            source.valid.eq(sink.valid & ~discard),
            source.payload.eq(flit),
            sink.ready.eq(source.ready | discard),
        ]
        with m.If(again | full):
            m.d.comb += [source.payload.first.eq(1), source.payload.last.eq(1)]
        m.d.comb += [
            self.overlong.eq(moved & ~discard & ~again & full),
            self.misplaced.eq(moved & (again | (discard & ~dropping & ~self.lost))),
        ]
        with m.If(moved):
            with m.If(discard):
                m.d.sync += self.lost.eq(~dropping)
                with m.If(flit.last):
                    m.d.sync += dropping.eq(0)
            with m.Else():
                ends = flit.last | again | full
                m.d.sync += [
                    inside.eq(~ends),
                    self.lost.eq(0),
                    dropping.eq((again | full) & ~flit.last),
                ]
                with m.If(ends):
                    m.d.sync += self.count.eq(0)
                with m.Else():
                    m.d.sync += self.count.eq(self.count + 1)
        return m
