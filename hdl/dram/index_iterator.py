"""Index iterator: the front end of the DRAM path for indexed requests, one burst for each index.

Ref: Sim-D, section 3.2.1. golden/dram/request.py says what the fields mean.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import ADDRESS_BITS, BURST_WORDS, TARGET_BITS
from cyclebound.hdl.dram.layouts import BurstLayout, IndexLayout, TileLayout

__all__ = ["IndexIterator"]

_LANE_BITS = BURST_WORDS.bit_length() - 1


class IndexIterator(wiring.Component):
    """A burst with one word enabled for each index, in order; the last one is marked.

    To mark it, the iterator looks one legal index ahead. An index beyond the buffer is refused: no
    burst, and ``refused`` at the end.

    Latency: 3 cycles from an element that decides about the burst before it to that burst on offer,
    both included; ``done`` in the cycle after the last burst is taken, or, if no index was legal,
    as early as if one had been and was taken at once. Throughput: one index per cycle. Bounds:
    ``index_burst`` and ``index_request`` in ``golden.dram.pipeline_bounds``.

    Members
    -------
    tile : In(stream of TileLayout)
        An indexed request; ``address`` is its buffer's. Taken when the one before is done.
    limit : In(31)
        With ``tile``: words in the buffer.
    indexes : In(stream of IndexLayout)
        The request's indexes, and an element with ``end`` set after them, which holds none. None
        is taken before its request.
    bursts : Out(stream of BurstLayout)
        ``targets`` are the same in all lanes.
    done : Out(1)
        Strobe, in the cycle after the request's last burst is taken.
    empty, refused : Out(1)
        With ``done``: no burst was issued; an index was beyond the buffer.
    """

    def __init__(self):
        super().__init__({
            "tile": In(stream.Signature(data.Layout.cast(TileLayout))),
            "limit": In(ADDRESS_BITS + 1),
            "indexes": In(stream.Signature(data.Layout.cast(IndexLayout))),
            "bursts": Out(stream.Signature(data.Layout.cast(BurstLayout))),
            "done": Out(1),
            "empty": Out(1),
            "refused": Out(1),
        })
        self.wanted = Signal(self.tile.payload.shape())  # the request
        self.size = Signal.like(self.limit)              # of its buffer
        self.busy = Signal()                             # with a request
        self.ended = Signal()                            # its end was taken
        self.judging = Signal()                          # the element taken last is judged now:
        self.legal, self.end = Signal(), Signal()
        self.word, self.target = Signal(ADDRESS_BITS), Signal(TARGET_BITS)
        self.holding = Signal()                          # the legal index before it:
        self.held_word, self.held_target = Signal(ADDRESS_BITS), Signal(TARGET_BITS)
        self.nothing = Signal()                          # the end, and no legal index before it

    def elaborate(self, platform):
        m = Module()
        wanted, bursts, indexes = self.wanted, self.bursts, self.indexes
        judging, holding = self.judging, self.holding

        # A judgement that releases the held index needs the output; all else stands still with it.
        releases, moves, finish = Signal(), Signal(), Signal()
        m.d.comb += [
            releases.eq(judging & holding & (self.end | self.legal)),
            moves.eq(~(releases & bursts.valid & ~bursts.ready)),
            finish.eq((bursts.valid & bursts.ready & bursts.payload.last) | self.nothing),
            self.tile.ready.eq(~self.busy),
            indexes.ready.eq(self.busy & ~self.ended & moves),
        ]

        # The request, from its tile to the last burst taken.
        m.d.sync += self.done.eq(finish)
        with m.If(~self.busy):
            m.d.sync += [wanted.eq(self.tile.payload), self.size.eq(self.limit),
                         self.busy.eq(self.tile.valid), self.empty.eq(1), self.refused.eq(0)]
        with m.Elif(finish):
            m.d.sync += [self.busy.eq(0), self.ended.eq(0)]

        # An element is taken, and placed in the device.
        with m.If(moves):
            m.d.sync += [
                judging.eq(indexes.valid & indexes.ready),
                self.legal.eq(~indexes.payload.end & (indexes.payload.index < self.size)),
                self.end.eq(indexes.payload.end),
                self.word.eq(wanted.address + indexes.payload.index),
                self.target.eq(indexes.payload.target),
            ]
            with m.If(indexes.valid & indexes.ready & indexes.payload.end):
                m.d.sync += self.ended.eq(1)

        # It is judged: a legal one takes the place of the held one, which leaves; so does the end.
        m.d.sync += self.nothing.eq(judging & self.end & ~holding)
        with m.If(judging & moves):
            with m.If(self.end):
                m.d.sync += holding.eq(0)
            with m.Elif(self.legal):
                m.d.sync += [holding.eq(1), self.held_word.eq(self.word),
                             self.held_target.eq(self.target), self.empty.eq(0)]
            with m.Else():
                m.d.sync += self.refused.eq(1)

        # The burst.
        with m.If(~bursts.valid | bursts.ready):
            m.d.sync += [
                bursts.valid.eq(releases),
                bursts.payload.address.eq(self.held_word[_LANE_BITS:]),
                bursts.payload.last.eq(self.end),
                bursts.payload.write.eq(wanted.write),
                bursts.payload.destination.eq(wanted.destination),
                bursts.payload.transform.eq(wanted.transform),
            ]
            m.d.sync += [bursts.payload.mask[lane].eq(self.held_word[:_LANE_BITS] == lane)
                         for lane in range(BURST_WORDS)]
            m.d.sync += [target.eq(self.held_target) for target in bursts.payload.targets]
        m.d.comb += bursts.payload.indexed.eq(1)
        return m
