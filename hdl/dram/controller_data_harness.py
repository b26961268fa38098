"""Data through the DRAM controller, in hardware: batches of requests, and their results.

Requests of a batch follow each other without a pause. Words to be written, and indexes, are
functions of a request's seed; words that were read end in a sum; words on their way to or from the
CAM meet a real one. On the pins is a stand-in for the DRAM.

It has no model of its own: golden/dram/data_harness.py says what the functions are, and a
testbench what the sums must be.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.data_harness import (
    BATCH,
    DATA_FAULTS,
    FIRST,
    LANES,
    SECOND,
    SHIFT,
    WINDOW_BITS,
)
from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    COUNT_BITS,
    TARGET_BITS,
    WORD_BITS,
    Destination,
    Refusal,
)
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.layouts import BufferRequest, Mapping
from cyclebound.hdl.dram.snoop_cam import LoadLayout, ReadLayout, SnoopCam
from cyclebound.hdl.dram.stand_in import DramStandIn
from cyclebound.hdl.harness.checker_slot import CheckerSlot
from cyclebound.hdl.interfaces import Strobe

__all__ = ["DataRequestLayout", "DramDataHarness"]

_SUM_BITS = 64


class DataRequestLayout(data.StructLayout):
    """A request, and what its words and indexes are.

    ``seed`` of both; ``holes``: the chip does not have every word. An indexed request has
    ``length`` indexes, from 0 to ``span`` - 1; their targets count up from ``base``.
    """

    def __init__(self):
        super().__init__({"request": data.Layout.cast(BufferRequest), "seed": WORD_BITS,
                          "holes": 1, "span": COUNT_BITS, "length": COUNT_BITS})


class ResultLayout(data.StructLayout):
    """Result of a request: its `Refusal`, the number of words delivered, and their sum."""

    def __init__(self):
        super().__init__({"refusal": 3, "words": COUNT_BITS, "sum": _SUM_BITS})


def _mixed_1(seed, number):
    """The first half of `mixed`: a product, and a sum."""
    return (number * FIRST + seed)[:WORD_BITS]


def _mixed_2(first):
    """The second half of the hash: ``first`` is what the first half made."""
    return ((first ^ first[SHIFT:]) * SECOND)[:WORD_BITS]


class DramDataHarness(wiring.Component):
    """The controller between a DRAM's stand-in and a chip that is made of functions.

    While nothing is under way: ``put`` requests, ``mapping`` buffers and ``load`` lanes; then
    ``start``. When it is ``done``, look at results and ``read`` lanes.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    window_bits : int
        Of the stand-in: a testbench must not reach further in one request.

    Members
    -------
    mapping : In(Strobe(Mapping))
        Map a buffer; ``mapped`` counts those that are in force, and ``mapping_refusal`` is the
        last one's.
    put : In(1)
        Keep ``data_request`` as request ``slot`` of the batch.
    slot, data_request : In(6), In(DataRequestLayout)
        See ``put``. ``result`` is that of the slot in the cycle before.
    start : In(1)
        Carry out the first ``requests``.
    requests : In(range(65))
        How many.
    clear, load, read, answer
        Of the CAM, see `SnoopCam`.
    done : Out(1)
        All requests are completed.
    result : Out(ResultLayout)
        The result of a request.
    failed : Out(len(DATA_FAULTS))
        Sticky: faults that occurred.
    command : Out(CommandLayout)
        The pins, for a checker.
    """

    def __init__(self, *, part, window_bits=WINDOW_BITS):
        self.controller = DramController(part=part)
        self.part = self.controller.part
        self.stand_in = DramStandIn(part=part, window_bits=window_bits)
        super().__init__({
            "mapping": In(Strobe(Mapping)), "mapped": Out(16), "mapping_refusal": Out(3),
            "put": In(1), "slot": In(range(BATCH)), "data_request": In(DataRequestLayout()),
            "start": In(1), "requests": In(range(BATCH + 1)),
            "clear": In(1),
            "load": In(Strobe(LoadLayout(lanes=LANES, index_width=TARGET_BITS))),
            "read": In(Strobe(unsigned(ceil_log2(LANES)))),
            "answer": Out(Strobe(ReadLayout)),
            "done": Out(1), "result": Out(ResultLayout()),
            "failed": Out(len(DATA_FAULTS)), "command": Out(CommandLayout(part=self.part)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.controller = controller = self.controller
        m.submodules.stand_in = stand_in = self.stand_in
        m.submodules.cam = cam = SnoopCam(lanes=LANES, index_width=TARGET_BITS)
        m.submodules.slot = slot = CheckerSlot(count=len(DATA_FAULTS))
        m.submodules.batch = batch = Memory(shape=DataRequestLayout(), depth=BATCH, init=[])
        wiring.connect(m, controller.dq_out, stand_in.dq_out)
        m.d.comb += [
            stand_in.command.eq(controller.command), controller.dq_in.eq(stand_in.dq_in),
            self.command.eq(controller.command), self.failed.eq(slot.failed),
            controller.mapping.valid.eq(self.mapping.valid),  # it is ready when nothing goes on
            controller.mapping.payload.eq(self.mapping.payload),
        ]
        with m.If(controller.mapped):
            m.d.sync += [self.mapped.eq(self.mapped + 1),
                         self.mapping_refusal.eq(controller.mapping_refusal)]
        write = batch.write_port()
        m.d.comb += [write.en.eq(self.put), write.addr.eq(self.slot),
                     write.data.eq(self.data_request)]

        # -- requests: offered, started, completed ---------------------------------------------
        count, offered, completed = (Signal(range(BATCH + 1)) for _ in range(3))
        current = Signal(DataRequestLayout())  # the one started last
        under_way = Signal(2)  # one starts before the completion of the one before
        over = controller.completion.valid
        with m.If(self.start):
            m.d.sync += [count.eq(self.requests), offered.eq(0), completed.eq(0)]
        with m.Else():
            with m.If(controller.request.valid & controller.request.ready):
                m.d.sync += offered.eq(offered + 1)
            m.d.sync += completed.eq(completed + over)
        waiting = batch.read_port(domain="comb")
        started = batch.read_port(domain="comb")
        moving = batch.read_port(domain="comb")
        m.d.comb += [
            waiting.addr.eq(offered), controller.request.payload.eq(waiting.data.request),
            controller.request.valid.eq(offered != count),
            started.addr.eq(completed + under_way),
            moving.addr.eq(completed),
        ]
        with m.If(controller.started):
            m.d.sync += current.eq(started.data)
        carried_out = over & controller.completion.payload.matches(Refusal.NONE, Refusal.INDEX)
        m.d.sync += under_way.eq(under_way + controller.started - carried_out)

        self._indexes(m, current)
        mine = moving.data  # whose words are moved
        self._fetch(m, cam, mine)
        self._deliver(m, cam, count, over)
        deliver = controller.deliver
        beat, wanted = deliver.payload, mine.request
        m.d.comb += slot.faults.eq(Cat(
            deliver.valid & ((beat.destination != wanted.destination)
                             | (beat.transform != wanted.transform)),
            deliver.valid & ((under_way == 0) | wanted.write),
            controller.late))
        return m

    def _indexes(self, m, current):
        """The index stream of the request that was started last, and an end after it."""
        controller = self.controller
        indexes = controller.indexes
        number, left = Signal(COUNT_BITS), Signal()
        first, index = Signal(WORD_BITS), Signal(WORD_BITS + COUNT_BITS)
        m.d.comb += [
            first.eq(_mixed_1(current.seed, number)),
            index.eq(_mixed_2(first) * current.span),
            indexes.valid.eq(left),
            indexes.payload.index.eq(index[WORD_BITS:]),
            indexes.payload.target.eq(current.request.base + number),
            indexes.payload.end.eq(number == current.length),
        ]
        with m.If(controller.started):
            m.d.sync += [number.eq(0), left.eq(controller.table.tile.payload.indexed)]
        with m.Elif(left & indexes.ready):
            m.d.sync += [number.eq(number + 1), left.eq(~indexes.payload.end)]

    def _fetch(self, m, cam, mine):
        """Answers to fetches, two cycles later: from the CAM, or words made of their targets."""
        fetch, store = self.controller.fetch, self.controller.store
        from_cam = fetch.payload.destination == Destination.CAM
        m.d.comb += [
            cam.fetch.valid.eq(fetch.valid & from_cam),
            cam.fetch.payload.enable.eq(fetch.payload.enable),
            cam.fetch.payload.index.eq(fetch.payload.targets[0]),
        ]
        asked, snoopy, holes = Signal(2), Signal(2), Signal(2)
        m.d.sync += [asked.eq(Cat(fetch.valid, asked)), snoopy.eq(Cat(from_cam, snoopy)),
                     holes.eq(Cat(mine.holes, holes))]
        made = Signal(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS))
        for word in range(BEAT_WORDS):
            first = Signal(WORD_BITS, name=f"first_{word}")
            with m.If(fetch.valid):
                m.d.sync += first.eq(_mixed_1(mine.seed, fetch.payload.targets[word]))
            with m.If(asked[0]):
                m.d.sync += made[word].eq(_mixed_2(first))
            m.d.comb += store.enable[word].eq(~holes[1] | (made[word][-2:] != 0))
        m.d.comb += store.words.eq(made)
        with m.If(snoopy[1]):
            m.d.comb += store.eq(cam.store)

    def _deliver(self, m, cam, count, over):
        """Words read: to the CAM, if they are for it; and into the sum, two cycles later."""
        controller, deliver = self.controller, self.controller.deliver
        beat = deliver.payload
        m.d.comb += [
            cam.load.valid.eq(self.load.valid), cam.load.payload.eq(self.load.payload),
            cam.read.valid.eq(self.read.valid), cam.read.payload.eq(self.read.payload),
            cam.clear.eq(self.clear),
            self.answer.valid.eq(cam.answer.valid), self.answer.payload.eq(cam.answer.payload),
            cam.snoop.valid.eq(deliver.valid & (beat.destination == Destination.CAM)),
            cam.snoop.payload.enable.eq(beat.enable), cam.snoop.payload.words.eq(beat.words),
            cam.snoop.payload.index.eq(beat.targets[0]),
        ]

        products, arrived = [], Signal(BEAT_WORDS)
        m.d.sync += arrived.eq(Mux(deliver.valid, beat.enable, 0))
        for word in range(BEAT_WORDS):
            product = Signal(_SUM_BITS, name=f"product_{word}")
            with m.If(deliver.valid):
                m.d.sync += product.eq((beat.words[word] + 1) * Cat(Const(1, 1),
                                                                    beat.targets[word]))
            products.append(Mux(arrived[word], product, 0))
        ends, verdicts = Signal(2), [Signal(3, name=f"verdict_{n}") for n in range(2)]
        m.d.sync += [ends.eq(Cat(over, ends)), verdicts[0].eq(controller.completion.payload),
                     verdicts[1].eq(verdicts[0])]
        total, words = Signal(_SUM_BITS), Signal(COUNT_BITS)
        with m.If(arrived.any() | ends[1]):
            m.d.sync += [total.eq(Mux(ends[1], 0, total) + sum(products)),
                         words.eq(Mux(ends[1], 0, words) + sum(arrived))]

        m.submodules.results = results = Memory(shape=ResultLayout(), depth=BATCH, init=[])
        keep, look = results.write_port(), results.read_port()
        kept = Signal(range(BATCH + 1))  # results so far
        m.d.comb += [
            keep.en.eq(ends[1]), keep.addr.eq(kept), keep.data.refusal.eq(verdicts[1]),
            keep.data.sum.eq(total), keep.data.words.eq(words),
            look.addr.eq(self.slot), self.result.eq(look.data),
        ]
        with m.If(self.start):
            m.d.sync += [kept.eq(0), self.done.eq(0)]
        with m.Else():
            m.d.sync += [kept.eq(kept + ends[1]), self.done.eq(kept == count)]
