"""Load/store unit: memory accesses of many threads at once, answered in any order.

Ref: SGMF, sections 4.1, 4.3, 4.5, 5.1.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.dataflow.operations import WIDTH
from cyclebound.hdl.dataflow.layouts import MemoryRequestLayout, MemoryResponseLayout, TokenLayout
from cyclebound.hdl.dataflow.parameters import check_depth
from cyclebound.hdl.dataflow.token_buffer import TokenBuffer
from cyclebound.hdl.dataflow.turn import Turn, keep_epochs
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.leading_zeros import leading_zeros
from cyclebound.hdl.parameters import check_integer

__all__ = ["LoadStoreConfiguration", "LoadStoreUnit"]


class LoadStoreConfiguration(data.StructLayout):
    """The kind of access, and its buffer.

    ``store``: it writes. ``gated``: it waits for an enable token. ``base``, ``size``: the buffer's
    first word and its number of words.
    """

    def __init__(self, *, address_width):
        super().__init__({"store": unsigned(1), "gated": unsigned(1),
                          "base": unsigned(address_width), "size": unsigned(address_width + 1)})


class LoadStoreUnit(wiring.Component):
    """One static load or store, for one thread after the other.

    A thread fires with its index into the buffer, the value to be stored, and an enable token, as
    far as they are needed. Its access goes to memory and leaves the thread's identifier in the
    reservation buffer, whose entries are those of the token buffer: thread mod ``depth``. The
    answer, in whatever order, makes a result and an enable token for the next access of the same
    thread. A poisoned enable token makes no access, the result 0, and a poisoned enable token. An
    index outside the buffer makes none either, the result 0, and a report.

    Epochs: threads fire, and are sent on, epoch by epoch, ``depth`` of them each, so that none
    finds the buffers downstream full of younger threads, and none waits for a younger one to
    fire, whose entry is not free before a response has come. Within an epoch it is round robin
    among those that are answered.

    Latency: the request is offered 3 cycles after the last token was taken, and a result 2 cycles
    after the response. Throughput: one thread per cycle, while ``depth`` covers the path from
    firing to being sent on.

    Parameters
    ----------
    depth : int
        Entries of token buffer and reservation buffer: 2, 4, 8 or 16.
    tid_width : int
        Bits of a thread identifier.
    address_width : int
        Bits of a word's address.
    width : int
        Bits of a word.
    epochs : bool
        False: a thread takes any free entry of the reservation buffer, and is sent on as soon as
        it is answered. Graphs can deadlock then [Figure 4].

    Members
    -------
    configuration : In(LoadStoreConfiguration)
        May change only in reset.
    operands : In(stream of TokenLayout).array(3)
        Index, value to be stored, enable.
    result, enable : Out(stream of TokenLayout)
        What was loaded (0 after a store), and 1, or 0 for a poisoned thread. They leave
        independently; the next thread is sent on when both have left.
    request : Out(stream of MemoryRequestLayout)
        Accesses; the tag is the reservation buffer's entry.
    response : In(Strobe(MemoryResponseLayout))
        Answers: each request has its entry. Not in the cycle of its request.
    fault : Out(Strobe(TokenLayout))
        A thread, and its index, outside of the buffer.
    """

    def __init__(self, *, depth, tid_width, address_width, width=WIDTH, epochs=True):
        check_depth(depth, tid_width)
        check_integer("width", width, least=1)
        check_integer("address width", address_width, least=1, most=width)
        if not isinstance(epochs, bool):
            raise TypeError(f"epochs must be a bool, not {epochs!r}")
        self.depth, self.tid_width, self.width = depth, tid_width, width
        self.address_width, self.epochs = address_width, epochs
        self.buffer = TokenBuffer(operands=3, depth=depth, tid_width=tid_width, width=width,
                                  epochs=epochs)
        layout = TokenLayout(tid_width=tid_width, width=width)
        token = stream.Signature(layout)
        tag = exact_log2(depth)
        super().__init__({
            "configuration": In(LoadStoreConfiguration(address_width=address_width)),
            "operands": In(token).array(3),
            "result": Out(token),
            "enable": Out(token),
            "request": Out(stream.Signature(MemoryRequestLayout(
                tag_width=tag, address_width=address_width, width=width))),
            "response": In(Strobe(MemoryResponseLayout(tag_width=tag, width=width))),
            "fault": Out(Strobe(layout)),
        })
        # the reservation buffer
        self.busy = Signal(depth)    # has a thread
        self.done = Signal(depth)    # that has been answered
        self.sent = Signal(depth)    # this epoch's thread has been sent on
        self.alive = Signal(depth)   # the thread was not poisoned
        self.empty = Signal(depth)   # nothing was loaded

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = self.buffer
        m.submodules.turn = turn = Turn(depth=self.depth)
        tids = Memory(shape=unsigned(self.tid_width), depth=self.depth, init=[])
        words = Memory(shape=unsigned(self.width), depth=self.depth, init=[])
        m.submodules.tids, m.submodules.words = tids, words
        write_tid, write_word = tids.write_port(), words.write_port()
        read_tid, read_word = tids.read_port(domain="comb"), words.read_port(domain="comb")
        self._enter(m, write_tid, write_word)
        self._leave(m, turn, read_tid, read_word)
        return m

    def _enter(self, m, write_tid, write_word):
        """A firing takes its entry, and is a request, or answered at once; words are kept."""
        buffer, configuration = self.buffer, self.configuration
        for outer, inner in zip(self.operands, buffer.operands, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        m.d.comb += buffer.needed.eq(Cat(1, configuration.store, configuration.gated))

        fire, request, response = buffer.fire, self.request, self.response
        index = fire.payload.tid[:exact_log2(self.depth)]
        if not self.epochs:
            index = leading_zeros(m, ~self.busy[::-1])[0]  # the lowest free entry, if there is one
        place, value, enable = fire.payload["values"]
        enters, free = Signal(), Signal()
        enabled, inside = Signal(), Signal()
        m.d.comb += [
            free.eq(~request.valid | request.ready),
            fire.ready.eq(free & ~(self.busy.bit_select(index, 1) if self.epochs
                                   else self.busy.all())),
            enters.eq(fire.valid & fire.ready),
            enabled.eq(~configuration.gated | enable[0]),
            inside.eq(place < configuration.size),
            write_tid.addr.eq(index), write_tid.data.eq(fire.payload.tid),
            write_tid.en.eq(enters),
        ]
        with m.If(free):
            m.d.sync += [
                request.valid.eq(enters & enabled & inside),
                request.payload.tag.eq(index),
                request.payload.address.eq(configuration.base + place),
                request.payload.write.eq(configuration.store),
                request.payload.data.eq(value),
            ]
        m.d.sync += [
            self.fault.valid.eq(enters & enabled & ~inside),
            self.fault.payload.tid.eq(fire.payload.tid),
            self.fault.payload.data.eq(place),
        ]
        entered, skipped, answered = (Signal(self.depth, name=name)
                                      for name in ("entered", "skipped", "answered"))
        m.d.comb += [
            entered.eq(Mux(enters, 1 << index, 0)),
            skipped.eq(Mux(enabled & inside, 0, entered)),
            answered.eq(Mux(response.valid, 1 << response.payload.tag, 0)),
            write_word.addr.eq(response.payload.tag),
            write_word.data.eq(response.payload.data),
            write_word.en.eq(response.valid),
        ]

        self._enabled, self._entered = enabled, entered
        self._skipped, self._answered = skipped, answered

    def _leave(self, m, turn, read_tid, read_word):
        """Of the threads of this epoch that have been answered, one is sent on at a time."""
        enabled, entered = self._enabled, self._entered
        leaves, open_ = Signal(self.depth), Signal()
        m.d.comb += [
            open_.eq((~self.result.valid | self.result.ready)
                     & (~self.enable.valid | self.enable.ready)),
            turn.requests.eq(self.done & ~self.sent if self.epochs else self.done),
            turn.take.eq(open_),
            leaves.eq(Mux(open_, turn.grant, 0)),
            read_tid.addr.eq(turn.index), read_word.addr.eq(turn.index),
        ]
        for port in (self.result, self.enable):
            with m.If(open_):
                m.d.sync += [port.valid.eq(turn.requests.any()),
                             port.payload.tid.eq(read_tid.data)]
            with m.Elif(port.ready):
                m.d.sync += port.valid.eq(0)
        nothing = (self.empty & turn.grant).any() | self.configuration.store
        with m.If(open_):
            m.d.sync += [self.result.payload.data.eq(Mux(nothing, 0, read_word.data)),
                         self.enable.payload.data.eq((self.alive & turn.grant).any())]
        m.d.sync += [
            self.busy.eq(self.busy & ~leaves | entered),
            self.done.eq(self.done & ~leaves | self._skipped | self._answered),
            self.alive.eq(Mux(enabled, self.alive | entered, self.alive & ~entered)),
            self.empty.eq(self.empty & ~entered | self._skipped),
        ]
        if self.epochs:
            keep_epochs(m, self.sent, leaves, open_ & turn.requests.any())
