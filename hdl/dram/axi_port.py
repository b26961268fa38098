"""AXI4 for the DRAM controller: a subordinate that serves one burst after the other.

Ref: AMBA AXI Protocol Specification (IHI 0022), sections A3.2 to A3.4 and A5.3.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.axi_port import (
    DATA_BYTES,
    LINE_WORDS,
    MOST_TRANSFERS,
    PAGE_BYTES,
    AxiResponse,
    AxiType,
)
from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BEAT_WORDS,
    BURST_WORDS,
    WORD_BYTES,
    Destination,
    Refusal,
)
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.axi import AxiSignature
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.layouts import Beat, BufferRequest, FetchLayout, Mapping, StoreLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer

__all__ = ["AxiController", "AxiPort", "axi_signature"]

_ROWS = PAGE_BYTES // DATA_BYTES  # a row is what the data bus and a DRAM clock move
_OFFSET_BITS, _ROW_BITS = PAGE_BYTES.bit_length() - 1, _ROWS.bit_length() - 1
_LANE_BITS = _OFFSET_BITS - _ROW_BITS
_LINE_BITS = LINE_WORDS.bit_length() - 1
_PINS = ("command", "dq_in", "dq_out", "late")  # of the DRAM controller
_STATES = ("MAP", "MAPPING", "IDLE", "TAKE-READ", "TAKE-WRITE", "DECODE", "COLLECT", "ASK", "WAIT",
           "ANSWER", "SETTLE", "SEND", "DRAIN")


def axi_signature(*, id_width):
    """AXI4 with addresses of 32 bits, and data as wide as a DRAM clock moves."""
    return AxiSignature(id_width=id_width, data_width=8 * DATA_BYTES)


class _Burst:
    """The burst under way: what was asked for, where its next transfer is, and its rows."""

    def __init__(self):
        self.address = Signal(32)
        self.length, self.size, self.kind = Signal(8), Signal(3), Signal(AxiType)
        self.offset = Signal(_OFFSET_BITS)   # of the next transfer, within the 4 KiB
        self.moving = Signal(_OFFSET_BITS)   # the bits of it that change from one to the next
        # rows to be moved: the first, others
        self.first, self.more = Signal(_ROW_BITS), Signal(_ROW_BITS)
        self.partial, self.filled = Signal(), Signal()
        self.start, self.following = Signal(_OFFSET_BITS), Signal(_OFFSET_BITS)
        self.wrap, self.extent = Signal(_OFFSET_BITS), Signal(_OFFSET_BITS + 1)
        self.legal = Signal()
        self.row = Signal(_ROW_BITS)  # of the next transfer

    def follow(self, m):
        """Compute where it begins, wraps and continues, and whether it is legal."""
        address, length, start = self.address, self.length, self.start
        step, span = Signal(_LANE_BITS + 1), Signal(_OFFSET_BITS)
        low, end = Signal(_OFFSET_BITS), Signal(_OFFSET_BITS + 1)
        m.d.comb += [
            step.eq(1 << self.size), low.eq(step - 1), span.eq(length << self.size),
            self.wrap.eq(span | low), start.eq(address[:_OFFSET_BITS] & ~low),
            end.eq(start + span), self.extent.eq(start[:_LANE_BITS] + span),
            self.following.eq((self.offset & ~self.moving)
                              | ((self.offset + step) & self.moving)),
            self.row.eq(self.offset[_LANE_BITS:]),
        ]
        with m.Switch(self.kind):
            with m.Case(AxiType.INCR):
                m.d.comb += self.legal.eq(~end[-1])
            with m.Case(AxiType.WRAP):
                count = (length == 1) | (length == 3) | (length == 7) | (length == 15)
                m.d.comb += self.legal.eq(count & (start == address[:_OFFSET_BITS]))
            with m.Case(AxiType.FIXED):
                m.d.comb += self.legal.eq(length < 16)

    def decode(self, m):
        """Set the state to the burst's first transfer."""
        m.d.sync += [self.offset.eq(self.start), self.first.eq(self.start[_LANE_BITS:]),
                     self.moving.eq(-1), self.more.eq(self.extent[_LANE_BITS:])]
        with m.If(self.kind == AxiType.WRAP):
            m.d.sync += [self.first.eq((self.start & ~self.wrap)[_LANE_BITS:]),
                         self.moving.eq(self.wrap), self.more.eq(self.wrap[_LANE_BITS:])]
        with m.If(self.kind == AxiType.FIXED):
            m.d.sync += [self.moving.eq(0), self.more.eq(0)]


class AxiPort(wiring.Component):
    """Turns AXI4 bursts into buffer requests, one at a time, in the order of their acceptance.

    All burst types, transfers of 1 to 16 bytes, any strobes and alignment. A burst lies within
    4 KiB, so that each of its rows of 16 bytes has a place in a memory of 4 KiB, where the words of
    a write are collected before their request is made, and those of a read before they are sent.
    DRAM masks whole words: if any transfer of a write has part of one, the rows are read first,
    which costs a second request, and what was not written is filled in. Exclusive accesses are
    normal ones. An illegal burst is answered SLVERR, one beyond the device DECERR; neither touches
    memory, and the words of such a read are 0.

    No output depends on an input in the same cycle [IHI 0022: A3.2.1]. Where reads and writes wait,
    they take turns. Bounds: ``golden.dram.axi_bounds``.

    Parameters
    ----------
    words : int
        Words in the device: up to 2 ** 18 or a multiple of that, and a multiple of 4.
    id_width : int
        Bits of the transaction identifiers.

    Members
    -------
    s_axi_aw*, s_axi_w*, s_axi_b*, s_axi_ar*, s_axi_r*
        AXI4 by Arm's names: see `axi_signature`.
    mapping, mapped : Out(stream of Mapping), In(1)
        After reset, all of the device becomes buffer 0. No burst is taken before: its request
        would wait for the mapping, and take longer than any other.
    request : Out(stream of BufferRequest)
        Lines of that buffer. The target of a word is its place in its 4 KiB.
    completion, deliver, fetch, store
        See `DramController`; ``store`` answers two cycles after ``fetch``.

    Attributes
    ----------
    state : dict
        A bit for each state, by name; with those below, what the proof has to see.
    write, identity, response, left, after_read : Signal
        Of the burst under way: its direction, identifier and answer, the transfers after the next
        one; and whether the last burst was a read.
    fetched, fetched_last : Signal
        A transfer has been fetched for R; it is the last.
    """

    def __init__(self, *, words=1 << ADDRESS_BITS, id_width=4):
        check_integer("words", words, BEAT_WORDS, 1 << ADDRESS_BITS)
        if words % (LINE_WORDS if words > LINE_WORDS else BEAT_WORDS):
            raise ValueError(f"words must be a multiple of {BEAT_WORDS}, and beyond {LINE_WORDS} "
                             f"a multiple of that, not {words}")
        self._axi = axi_signature(id_width=id_width)
        self.words, self.id_width = words, id_width
        self.depth = _ROWS  # of the memories; what they hold decides nothing but data
        super().__init__({
            **self._axi.subordinate_ports("s_axi"),
            "mapping": Out(stream.Signature(data.Layout.cast(Mapping))), "mapped": In(1),
            "request": Out(stream.Signature(data.Layout.cast(BufferRequest))),
            "completion": In(Strobe(unsigned(3))),
            "deliver": In(Strobe(Beat)),
            "fetch": In(Strobe(FetchLayout)),
            "store": Out(data.Layout.cast(StoreLayout)),
        })
        self.state = {name: Signal(name=f"in_{name.lower().replace('-', '_')}")
                      for name in _STATES}
        self.write, self.after_read, self.fetched, self.fetched_last = (
            Signal(name=name) for name in ("write", "after_read", "fetched", "fetched_last"))
        self.identity, self.response = Signal(id_width), Signal(AxiResponse)
        self.left = Signal(range(MOST_TRANSFERS))

    def elaborate(self, platform):
        m = Module()
        axi, burst = self._axi.of(self, "s_axi"), _Burst()
        burst.follow(m)
        taken, issue, advance = Signal(), Signal(), Signal()
        streaming = Signal()
        look, marked = self._rows(m, axi, burst, taken)
        self._send(m, axi, burst, look, marked, issue, advance, streaming)
        self._ask(m, burst)
        self._control(m, axi, burst, taken, issue, advance, streaming)
        return m

    def _rows(self, m, axi, burst, taken):
        """The rows' memories, written from both sides; their read ports, of data and of marks."""
        m.submodules.rows = rows = Memory(shape=unsigned(8 * DATA_BYTES), depth=self.depth, init=[])
        m.submodules.marks = marks = Memory(shape=unsigned(DATA_BYTES), depth=self.depth, init=[])
        put, look = rows.write_port(granularity=8), rows.read_port()
        mark, marked = marks.write_port(), marks.read_port()
        w, row, address = axi.w, burst.row, burst.address

        # What comes from either side is written in the next cycle. By then it is known which bytes
        # of a row from DRAM must not be: those that the write under way brought.
        strobe = Signal(DATA_BYTES)
        merging, lanes = Signal(), Signal(DATA_BYTES)
        m.d.comb += put.en.eq(lanes & ~Mux(merging, marked.data, 0))
        m.d.sync += [
            put.addr.eq(Mux(taken, row, self._row(self.deliver))),
            put.data.eq(Mux(taken, w.data, self.deliver.payload.words.as_value())),
            lanes.eq(Mux(taken, w.strb, (self.deliver.valid
                                         & self.deliver.payload.enable[0]).replicate(DATA_BYTES))),
            merging.eq(self.write & ~taken),
            mark.addr.eq(row), mark.data.eq(strobe), mark.en.eq(taken),
        ]

        # A row's bytes may come in several transfers, one after the other; and in a burst that
        # wraps, those of the first row come first and last.
        head, tail, before = Signal(DATA_BYTES), Signal(DATA_BYTES), Signal(_ROW_BITS)
        at_head = Signal()
        m.d.comb += [
            at_head.eq(row == address[_LANE_BITS:_OFFSET_BITS]),
            strobe.eq(w.strb | Mux(at_head, head, Mux(row == before, tail, 0))),
        ]
        with m.If(self.state["IDLE"]):
            m.d.sync += head.eq(0)
        with m.If(taken):
            m.d.sync += before.eq(row)
            with m.If(at_head):
                m.d.sync += head.eq(strobe)
            with m.Else():
                m.d.sync += tail.eq(strobe)
            for word in range(BEAT_WORDS):
                bits = w.strb.word_select(word, WORD_BYTES)
                with m.If(bits.any() & ~bits.all()):
                    m.d.sync += burst.partial.eq(1)
        return look, marked

    def _send(self, m, axi, burst, look, marked, issue, advance, streaming):
        """Rows to R and to DRAM, with one register after the memory; on R it may have to wait."""
        b, r, fetch = axi.b, axi.r, self._row(self.fetch)
        m.d.comb += [
            advance.eq(~streaming | ~r.valid | r.ready),
            look.addr.eq(Mux(streaming, burst.row, fetch)), look.en.eq(advance),
            marked.addr.eq(Mux(self.deliver.valid, self._row(self.deliver), fetch)),
            self.store.words.eq(r.data),
            r.id.eq(self.identity), r.resp.eq(self.response),
            b.id.eq(self.identity), b.resp.eq(self.response),
        ]
        m.d.sync += self.store.enable.eq(Cat(marked.data.word_select(word, WORD_BYTES).any()
                                             for word in range(BEAT_WORDS)))
        with m.If(advance):
            m.d.sync += [
                self.fetched.eq(issue), self.fetched_last.eq(self.left == 0),
                r.valid.eq(self.fetched), r.last.eq(self.fetched_last),
                r.data.eq(Mux(self.response == AxiResponse.OKAY, look.data, 0)),
            ]

    def _ask(self, m, burst):
        """The mapping, and the request for the burst's rows."""
        mapping, request, address = self.mapping.payload, self.request.payload, burst.address
        m.d.comb += [
            mapping.valid.eq(1), mapping.x.eq(min(self.words, LINE_WORDS)),
            mapping.y.eq(max(1, self.words // LINE_WORDS)),
            request.x.eq(Cat(Const(0, 2), burst.first, address[_OFFSET_BITS:_LINE_BITS + 2])),
            request.y.eq(address[_LINE_BITS + 2:]),
            request.words.eq((burst.more + 1) << 2), request.count.eq(1),
            request.write.eq(self.write & ~(burst.partial & ~burst.filled)),
            request.destination.eq(Destination.SCRATCHPAD),
            request.base.eq(Cat(Const(0, 2), burst.first)),
        ]

    def _control(self, m, axi, burst, taken, issue, advance, streaming):
        """One burst after the other: taken, carried out by the controller, and answered."""
        with m.FSM() as fsm:
            with m.State("MAP"):
                m.d.comb += self.mapping.valid.eq(1)
                with m.If(self.mapping.ready):
                    m.next = "MAPPING"
            with m.State("MAPPING"):
                with m.If(self.mapped):
                    m.next = "IDLE"
            self._take(m, axi, burst)
            self._collect(m, axi.w, burst, taken)
            self._carry_out(m, burst)
            self._answer(m, axi, burst, issue, advance, streaming)
        m.d.comb += [bit.eq(fsm.ongoing(name)) for name, bit in self.state.items()]

    def _take(self, m, axi, burst):
        """An address, read or write; what it asks for; and an illegal burst is answered at once."""
        aw, ar, write, response = axi.aw, axi.ar, self.write, self.response
        with m.State("IDLE"):
            m.d.sync += [burst.partial.eq(0), burst.filled.eq(0),
                         response.eq(AxiResponse.OKAY)]
            with m.If(ar.valid & ~(aw.valid & self.after_read)):
                m.next = "TAKE-READ"
            with m.Elif(aw.valid):
                m.next = "TAKE-WRITE"
        for name, channel in (("TAKE-READ", ar), ("TAKE-WRITE", aw)):
            with m.State(name):  # it is still there: an offer is never withdrawn
                m.d.comb += channel.ready.eq(1)
                m.d.sync += [
                    write.eq(channel is aw), self.after_read.eq(channel is ar),
                    self.identity.eq(channel.id), burst.address.eq(channel.addr),
                    burst.length.eq(channel.len), burst.size.eq(channel.size),
                    burst.kind.eq(channel.burst), self.left.eq(channel.len),
                ]
                m.next = "DECODE"
        with m.State("DECODE"):
            wrong = ~burst.legal | (burst.size > _LANE_BITS)
            burst.decode(m)
            with m.If(wrong):
                m.d.sync += response.eq(AxiResponse.SLVERR)
            with m.If(write):
                m.next = "COLLECT"
            with m.Elif(wrong):
                m.next = "SEND"
            with m.Else():
                m.next = "ASK"

    def _collect(self, m, w, burst, taken):
        """All words of a write."""
        response, left = self.response, self.left
        with m.State("COLLECT"):
            m.d.comb += [w.ready.eq(1), taken.eq(w.valid)]
            with m.If(w.valid):
                m.d.sync += [burst.offset.eq(burst.following), left.eq(left - 1)]
                with m.If(w.last != (left == 0)):
                    m.d.sync += response.eq(AxiResponse.SLVERR)
                with m.If(left == 0):
                    m.next = "ASK"
                    with m.If((response != AxiResponse.OKAY) | ~w.last):
                        m.next = "ANSWER"

    def _carry_out(self, m, burst):
        """Ask the controller; a write of parts of a row asks twice: the row is read first."""
        with m.State("ASK"):
            m.d.comb += self.request.valid.eq(1)
            with m.If(self.request.ready):
                m.next = "WAIT"
        with m.State("WAIT"):
            refused = self.completion.payload != Refusal.NONE
            with m.If(self.completion.valid):
                m.d.sync += burst.filled.eq(1)
                with m.If(refused):
                    m.d.sync += self.response.eq(AxiResponse.DECERR)
                with m.If(~self.write):
                    m.next = "SETTLE"
                with m.Elif(burst.partial & ~burst.filled & ~refused):
                    m.next = "ASK"
                with m.Else():
                    m.next = "ANSWER"

    def _answer(self, m, axi, burst, issue, advance, streaming):
        """The response of a write, or the words of a read."""
        b, r, left = axi.b, axi.r, self.left
        with m.State("ANSWER"):
            m.d.comb += b.valid.eq(1)
            with m.If(b.ready):
                m.next = "IDLE"
        with m.State("SETTLE"):  # words delivered with the completion are being written
            m.next = "SEND"
        with m.State("SEND"):
            m.d.comb += [streaming.eq(1), issue.eq(1)]
            with m.If(advance):
                m.d.sync += [burst.offset.eq(burst.following), left.eq(left - 1)]
                with m.If(left == 0):
                    m.next = "DRAIN"
        with m.State("DRAIN"):
            m.d.comb += streaming.eq(1)
            with m.If(r.valid & r.ready & r.last):
                m.next = "IDLE"

    def _row(self, beat):
        """The row of a beat: whole rows are asked for, so that all its words count, or none."""
        return beat.payload.targets[0][BEAT_WORDS.bit_length() - 1:][:_ROW_BITS]


class AxiController(wiring.Component):
    """The DRAM controller with an AXI4 port: `AxiPort` and `DramController`.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    capacity : int or None
        Words in the device, if fewer than the part has, or can be addressed; see `AxiPort`.
    id_width : int
        Bits of the transaction identifiers.

    Members
    -------
    s_axi_aw*, s_axi_w*, s_axi_b*, s_axi_ar*, s_axi_r*
        AXI4 by Arm's names: see `axi_signature`.
    command, dq_in, dq_out, late
        See `DramController`.
    """

    def __init__(self, *, part, capacity=None, id_width=4):
        self.part = part = part_named(part)
        if capacity is None:
            capacity = min(part.bursts * BURST_WORDS, 1 << ADDRESS_BITS)
        self.port = AxiPort(words=capacity, id_width=id_width)
        self.controller = DramController(part=part, capacity=capacity)
        self._axi = axi_signature(id_width=id_width)
        super().__init__({**self._axi.subordinate_ports("s_axi"),
                          **{name: self.controller.signature.members[name] for name in _PINS}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.port, m.submodules.controller = port, controller = self.port, self.controller
        for name in ("mapping", "request", "completion", "deliver", "fetch"):
            wiring.connect(m, getattr(port, name), getattr(controller, name))
        m.d.comb += [controller.store.eq(port.store), port.mapped.eq(controller.mapped)]
        wiring.connect(m, self._axi.of(port, "s_axi"), wiring.flipped(self._axi.of(self, "s_axi")))
        for name in _PINS:
            ours, theirs = getattr(self, name), getattr(controller, name)
            if not controller.signature.members[name].is_port:
                wiring.connect(m, theirs, wiring.flipped(ours))
            elif controller.signature.members[name].flow is In:
                m.d.comb += theirs.eq(ours)
            else:
                m.d.comb += ours.eq(theirs)
        return m
