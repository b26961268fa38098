"""DRAM controller: buffer requests in, one command per cycle and data out; no refresh is missed.

    request -> buffer table -> stride sequencer --> command generator -> command arbiter -> command
                            -> index iterator --/         | describe            | issue
                                                          '----> DQ scheduler <-'  <-> data

Ref: Sim-D, section 3.2.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BEAT_WORDS,
    BUFFERS,
    WORD_BITS,
    Refusal,
)
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.buffer_table import BufferTable
from cyclebound.hdl.dram.command_arbiter import CommandArbiter, CommandLayout
from cyclebound.hdl.dram.command_generator import CommandGenerator
from cyclebound.hdl.dram.dq_scheduler import DqScheduler
from cyclebound.hdl.dram.index_iterator import IndexIterator
from cyclebound.hdl.dram.layouts import BurstLayout, DramClient, DriveLayout
from cyclebound.hdl.dram.refresh_timer import RefreshTimer
from cyclebound.hdl.dram.stride_sequencer import StrideSequencer
from cyclebound.hdl.interfaces import Strobe, pass_through

__all__ = ["DramController"]

# Cycles from taking a request into the front end to choosing its first command.
_TILE_LEAD = 7 + 3   # stride sequencer, then command generator
_INDEX_LEAD = 4 + 3  # index iterator, if its indexes wait there
_LOOKUP = 6          # cycles from taking a request to its start


class DramController(wiring.Component):
    """The path from mapped buffers to DRAM, with closed pages between requests.

    A request is looked up in the buffer table. It starts when the one before has closed all banks:
    so early that its first command is on the pins in the first cycle in which it is legal. A
    refresh that is owed goes first. Requests are completed in order, refused ones among them.

    Latency: 17 cycles and the request's issue delay from taking it to its completion, both
    included, if nothing else is under way; a command is on the pins one cycle after it was chosen.
    Bounds: ``golden.dram.bounds``.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    capacity : int or None
        Words in the device, if fewer than the part has, or can be addressed.
    carry : bool
        See `CommandArbiter`; for the errata only.
    bus : Part or None
        Where data take another time than the part says, since a PHY lies between: a part whose nCAS
        and nCWD are the cycles from ``command`` to ``dq_in`` and ``dq_out``. A completion may come
        before the last words of its read then.

    buffers : int
        That may be mapped, a power of two.

    Members
    -------
    mapping, mapped, mapping_refusal, request, indexes, completion, deliver, fetch, store, started
        Those of `DramClient`, flipped.
    command : Out(CommandLayout)
        To DRAM.
    dq_in, dq_out
        The data bus, see `DqScheduler`.
    free : Out(1)
        A request that is offered in this cycle, and no mapping with it, is taken, and waits for no
        request before it: if no refresh falls due, a tile's first command is chosen 16 cycles
        later.
    late : Out(1)
        Set from the first refresh that came too late.
    """

    def __init__(self, *, part, capacity=None, carry=False, bus=None, buffers=BUFFERS):
        self.part = part = part_named(part)
        if bus is None and part.nRTP + part.nRP < part.nCAS + part.nBURST + 1:
            raise ValueError(f"{part.name}: nRTP + nRP must be at least nCAS + nBURST + 1 "
                             f"({part.nCAS + part.nBURST + 1}), or a request is completed before "
                             f"its data, not {part.nRTP + part.nRP}")
        most = min(part.bursts * 16, 1 << ADDRESS_BITS)
        self.table = BufferTable(capacity=most if capacity is None else capacity, buffers=buffers)
        self.sequencer, self.iterator = StrideSequencer(), IndexIterator()
        self.generator = CommandGenerator(part=part)
        self.arbiter = CommandArbiter(part=part, carry=carry)
        self.dq = DqScheduler(part=part if bus is None else bus)
        self.timer = RefreshTimer(interval=part.nREFI)
        super().__init__({
            **DramClient(buffers=buffers).flip().members,
            "command": Out(CommandLayout(part=part)),
            "dq_in": In(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
            "dq_out": Out(Strobe(DriveLayout)),
            "free": Out(1), "late": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        table, iterator, generator = self.table, self.iterator, self.generator
        arbiter, dq, timer = self.arbiter, self.dq, self.timer
        for name in ("table", "sequencer", "iterator", "generator", "arbiter", "dq", "timer"):
            m.submodules[name] = getattr(self, name)

        pass_through(m, self, table, "mapping", "mapped", "mapping_refusal", "request")
        pass_through(m, self, iterator, "indexes")
        pass_through(m, self, dq, "deliver", "fetch", "store", "dq_in", "dq_out")
        wiring.connect(m, generator.describe, dq.describe)
        wiring.connect(m, arbiter.issue, dq.issue)
        for ours, theirs in zip(generator.heads, arbiter.heads, strict=True):
            m.d.comb += theirs.eq(ours)
        m.d.comb += [
            generator.pop.eq(arbiter.pop),
            self.command.eq(arbiter.command),
            timer.done.eq(arbiter.refreshed),
            self.late.eq(timer.late),
        ]
        source = stream.Signature(data.Layout.cast(BurstLayout)).flip().create()
        self._requests(m, source)
        self._bursts(m, source)
        self._complete(m)
        return m

    def _requests(self, m, source):
        """One request at a time: when the next one starts, and when this one is over."""
        table, sequencer, iterator = self.table, self.sequencer, self.iterator
        generator, arbiter, timer = self.generator, self.arbiter, self.timer
        active, indexed = Signal(), Signal()  # a request is under way, and of which kind
        entered = Signal()                    # its last burst left the front end, or there is none
        waits = Signal()                      # a burst waits for the generator
        over = Signal()                       # its last command was chosen in the cycle before
        closing = Signal()                    # a request is over, its banks are not closed yet
        refused, verdict = Signal(), Signal(3)
        tile = table.tile.payload
        nothing = iterator.done & iterator.empty
        m.d.comb += over.eq(active & entered & ~waits & ~closing & ~generator.busy
                            & ~Cat(head.valid for head in generator.heads).any())
        start = self.started
        m.d.comb += [
            start.eq(table.tile.valid & (~active | over) & ~timer.request
                     & (arbiter.holdoff <= Mux(tile.indexed, _INDEX_LEAD, _TILE_LEAD))),
            sequencer.tile.payload.eq(tile), sequencer.tile.valid.eq(start & ~tile.indexed),
            iterator.tile.payload.eq(tile), iterator.tile.valid.eq(start & tile.indexed),
            iterator.limit.eq(table.limit),
            table.tile.ready.eq(start),
            self.free.eq(~timer.request & (table.stage == 0) & (~active | over)
                         & (arbiter.holdoff <= _LOOKUP + _TILE_LEAD)),
        ]
        with m.If(start):
            m.d.sync += [active.eq(1), indexed.eq(tile.indexed), entered.eq(0), refused.eq(0)]
        with m.Else():
            with m.If(over):
                m.d.sync += active.eq(0)
            with m.If((source.valid & ~waits & source.payload.last) | nothing):
                m.d.sync += entered.eq(1)
            with m.If(iterator.done):
                m.d.sync += refused.eq(iterator.refused)
        self._active, self._indexed, self._waits, self._over = active, indexed, waits, over
        self._closing, self._refused, self._verdict = closing, refused, verdict

    def _bursts(self, m, source):
        """Bursts to the generator, and refreshes.

        One burst has a place to wait in, or full queues would hold up all of the front end in the
        same cycle. A burst that need not wait goes past it.
        """
        arbiter, waits = self.arbiter, self._waits
        with m.If(self._indexed):
            wiring.connect(m, self.iterator.bursts, source)
        with m.Else():
            wiring.connect(m, self.sequencer.bursts, source)
        sink, waiting = self.generator.bursts, Signal(BurstLayout, reset_less=True)
        m.d.comb += [
            sink.valid.eq(waits | source.valid),
            sink.payload.eq(Mux(waits, waiting, source.payload)),
            source.ready.eq(~waits),
        ]
        m.d.sync += waits.eq(sink.valid & ~sink.ready)
        with m.If(~waits):
            m.d.sync += waiting.eq(source.payload)
        m.d.comb += [
            arbiter.in_request.eq(self._active & ~self._over),
            arbiter.refresh.eq(self.timer.request),  # nothing starts while it is set
        ]

    def _complete(self, m):
        """A request completes once its banks are closed; a refused one, between two others.

        Where banks are closed in the cycle after their precharge, that is the cycle in which the
        request is over. A refresh that is owed may be chosen in it: the completion must not wait
        for what holds back commands from then on.
        """
        table, closing, kept = self.table, self._closing, self._verdict
        verdict, done = Signal(3), Signal()
        m.d.comb += [
            done.eq((self._over | closing) & (self.arbiter.holdoff == 0)),
            verdict.eq(Mux(closing, kept, Mux(self._refused, Refusal.INDEX, Refusal.NONE))),
            self.completion.valid.eq(done | (table.refusal.valid & table.refusal.ready)),
            self.completion.payload.eq(Mux(done, verdict, table.refusal.payload)),
            table.refusal.ready.eq(~self._active & ~closing),
        ]
        m.d.sync += [closing.eq((self._over | closing) & ~done), kept.eq(verdict)]
