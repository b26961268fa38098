"""A memory channel: lines in a DRAM, below a cache.

    lines --> requests, two under way --> DRAM controller
          <-- the line of the oldest <--- words read, by target
              the line of the oldest ---> words to write

Ref: SGMF, section 5, Table 1; Sim-D, section 3.2.
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cyclebound.golden.dataflow.channel_shape import SLOTS, ChannelShape
from cyclebound.golden.dram.request import BEAT_WORDS, WORD_BITS
from cyclebound.hdl.dataflow.banked_cache import LinePort
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.layouts import DramClient
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.parameters import check_integer

__all__ = ["PINS", "Channel", "DramChannel"]

PINS = "command", "dq_in", "dq_out", "late"
"""Ports of a controller to its DRAM."""


class Channel(wiring.Component):
    """Asks a DRAM controller for whole lines, which lie in it one after the other.

    Two requests are under way at most: the second is looked up while the words of the first move.
    They are done in the order in which they are taken. A write is of the words in its mask.

    Latency: a read's line is there in the cycle after its completion.
    Bounds: ``golden.dataflow.channel_bounds``.

    Parameters
    ----------
    line : int
        Words of a line: a power of two, at least 4.
    address_width : int
        Bits of a word's address.
    id_width : int
        Bits of an ``id``.

    Members
    -------
    lines : In(LinePort)
        Of the cache above.
    dram : Out(DramClient)
        The controller. After a reset, its buffer 0 is mapped to all lines.
    idle : Out(1)
        No request is under way; the last one's line may come in this cycle.
    """

    def __init__(self, *, line, address_width, id_width):
        check_integer("id width", id_width, least=1)
        self.shape = shape = ChannelShape(line=line, address_width=address_width)
        super().__init__({
            "lines": In(LinePort(id_width=id_width, line_width=max(1, ceil_log2(shape.lines)),
                                 line=line, width=WORD_BITS)),
            "dram": Out(DramClient()), "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        shape, request, dram = self.shape, self.lines.request, self.dram

        # -- all lines are a buffer --
        asked, mapped = Signal(), Signal()
        with m.If(dram.mapping.ready):
            m.d.sync += asked.eq(1)
        with m.If(dram.mapped):
            m.d.sync += mapped.eq(1)
        m.d.comb += [dram.mapping.valid.eq(~asked), dram.mapping.payload.valid.eq(1),
                     dram.mapping.payload.x.eq(shape.line), dram.mapping.payload.y.eq(shape.lines)]

        # -- requests: a slot for each --
        count, oldest, newest = (Signal(range(SLOTS + 1), name="count"),
                                 Signal(range(SLOTS), name="oldest"),
                                 Signal(range(SLOTS), name="newest"))
        room, taken, over = Signal(), Signal(), dram.completion.valid
        asks, target = dram.request.payload, request.payload
        m.d.comb += [
            self.idle.eq(count == 0), room.eq(mapped & (count != SLOTS)),
            dram.request.valid.eq(request.valid & room),
            request.ready.eq(dram.request.ready & room), taken.eq(request.valid & request.ready),
            asks.y.eq(target.line), asks.words.eq(shape.line), asks.count.eq(1),
            asks.write.eq(target.write),
        ]
        m.d.sync += [count.eq(count + taken - over), newest.eq(newest ^ taken),
                     oldest.eq(oldest ^ over)]
        # what is kept of it; words read go where a write's come from
        kept = data.StructLayout({"id": len(target.id), "write": 1, "mask": shape.line})
        rows = shape.line // BEAT_WORDS
        beat = data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)
        slots = Array(Signal(kept, name=f"slot_{number}") for number in range(SLOTS))
        words = [Array(Signal(beat, name=f"words_{number}_{row}") for row in range(rows))
                 for number in range(SLOTS)]
        deliver, fetch = dram.deliver, dram.fetch
        row_of = exact_log2(BEAT_WORDS)

        comes = deliver.valid & deliver.payload.enable[0]  # a beat has all of its words, or none

        def row(beat):
            return beat.targets[0][row_of:][:max(1, ceil_log2(rows))]

        for number in range(SLOTS):
            for place, its in enumerate(words[number]):
                with m.If(taken & (newest == number)):
                    m.d.sync += its.eq(Cat(target.data[place * BEAT_WORDS + lane]
                                           for lane in range(BEAT_WORDS)))
                with m.Elif(comes & (oldest == number) & (row(deliver.payload) == place)):
                    m.d.sync += its.eq(deliver.payload.words)
            with m.If(taken & (newest == number)):
                m.d.sync += [slots[number].id.eq(target.id), slots[number].write.eq(target.write),
                             slots[number].mask.eq(target.mask)]

        # -- words to write: in the second cycle after they are asked for --
        goes, lanes = Signal(beat), Signal(BEAT_WORDS)
        masks = Array(mask for mask in (
            slots[oldest].mask[place * BEAT_WORDS:][:BEAT_WORDS] for place in range(rows)))
        m.d.sync += [
            goes.eq(Mux(oldest, words[1][row(fetch.payload)], words[0][row(fetch.payload)])),
            lanes.eq(masks[row(fetch.payload)]),
            dram.store.words.eq(goes), dram.store.enable.eq(lanes),
        ]

        # -- the line that was read --
        answer, came = self.lines.response, Signal(range(SLOTS))
        m.d.sync += [answer.valid.eq(over & ~slots[oldest].write), came.eq(oldest)]
        m.d.comb += [answer.payload.id.eq(slots[came].id),
                     answer.payload.data.as_value().eq(
                         Mux(came, Cat(words[1]), Cat(words[0])))]
        return m


class DramChannel(wiring.Component):
    """A channel with a DRAM controller of its own.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    line, address_width, id_width
        As of `Channel`.

    Members
    -------
    lines, idle
        As of `Channel`.
    command, dq_in, dq_out, late
        As of `DramController`.

    Attributes
    ----------
    part : Part
        The DRAM.
    """

    def __init__(self, *, part, line, address_width, id_width):
        self.channel = Channel(line=line, address_width=address_width, id_width=id_width)
        self.controller = DramController(part=part)
        self.part = self.controller.part
        self.channel.shape.check_part(self.part.name, self.part.bursts)
        own, pins = self.channel.signature.members, self.controller.signature.members
        super().__init__({"lines": own["lines"], "idle": own["idle"],
                          **{name: pins[name] for name in PINS}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.channel, m.submodules.controller = self.channel, self.controller
        wiring.connect(m, self.channel.dram, DramClient().of(self.controller))
        pass_through(m, self, self.channel, "lines", "idle")
        pass_through(m, self, self.controller, *PINS)
        return m
