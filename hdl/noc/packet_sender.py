"""The sending half of a network interface: packets, within the windows of a TDMA table.

Part of the network interface, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import HEADER_FLITS, LENGTH_BITS, TIME_BITS
from cyclebound.hdl.noc.flit import FlitLayout

__all__ = ["PacketSender", "TransactionLayout", "WindowLayout"]

WindowLayout = data.StructLayout({"period": TIME_BITS, "offset": TIME_BITS, "length": TIME_BITS,
                                  "crossing": TIME_BITS})


class TransactionLayout(data.StructLayout):
    """``route`` (first flit of every packet), ``address`` in words, ``words`` that follow."""

    def __init__(self, width):
        super().__init__({"route": unsigned(width), "address": unsigned(width - 1),
                          "words": unsigned(LENGTH_BITS)})


class PacketSender(wiring.Component):
    """Splits transactions into packets, and sends them in their window.

    Latency, throughput and members: see `NetworkInterface`; ``refused`` and ``overrun`` are
    strobes, ``source`` is its ``injected``.

    Parameters
    ----------
    width, payload : int
        Bits of a word, and words in the longest packet.
    """

    def __init__(self, *, width, payload):
        self.width, self.payload = width, payload
        self.room = 2 * payload  # words: of the packet that leaves, and of the next one
        super().__init__({
            "window": In(WindowLayout),
            "transactions": In(stream.Signature(TransactionLayout(width))),
            "words": In(stream.Signature(width)),
            "source": Out(stream.Signature(FlitLayout(width))),
            "sent": Out(1), "refused": Out(1), "overrun": Out(1),
        })
        # the state; a proof has to speak of it
        self.count = Signal(TIME_BITS)  # cycles since reset, modulo the period
        self.left = Signal(TIME_BITS)   # cycles of the window that begin with the next one
        self.open = Signal()            # the window is
        self.loaded = Signal()          # a flit waits to be taken,
        self.flit = Signal(FlitLayout(width))  # this one
        self.remaining = Signal(LENGTH_BITS)   # words that are in no packet yet
        self.of_packet = Signal(range(payload + 1))  # words of this packet still to be loaded
        self.of_last = Signal()                # it is its transaction's last packet
        self.between, self.header, self.body = Signal(), Signal(), Signal()  # what is loaded next
        self.memory = Memory(shape=unsigned(width), depth=self.room, init=[])
        self._write = self.memory.write_port()
        self._read = self.memory.read_port()

    def elaborate(self, platform):
        m = Module()
        was_open, bad, always = self._follow_window(m)
        load, ends = self._drive_link(m, was_open)
        last, size, needs = self._cut_packet(m)
        taking, dropping = Signal(), Signal()  # words of the transaction: to be stored, or dropped
        to_take, stored, pop = self._take_words(m, taking, dropping)

        route, address = Signal(self.width), Signal(self.width - 1)
        remaining, of_packet, of_last, flit = (self.remaining, self.of_packet, self.of_last,
                                               self.flit)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.transactions.ready.eq(1)
                asked = self.transactions.payload
                with m.If(self.transactions.valid):
                    m.d.sync += [route.eq(asked.route), address.eq(asked.address),
                                 remaining.eq(asked.words), to_take.eq(asked.words)]
                    m.next = "SIZE"
            with m.State("SIZE"):
                m.next = "NEED"
            with m.State("NEED"):
                m.next = "CHECK"
            with m.State("CHECK"):
                wrong = bad | (remaining == 0) | (~always & (needs > self.window.length))
                m.d.comb += self.refused.eq(wrong)
                m.d.sync += dropping.eq(wrong)
                m.next = "BETWEEN"
                with m.If(wrong):
                    m.next = "DROP"
            with m.State("DROP"):
                m.d.comb += taking.eq(1)
                with m.If(to_take == 0):
                    m.d.sync += dropping.eq(0)
                    m.next = "IDLE"
            with m.State("BETWEEN"):
                m.d.comb += [taking.eq(1), self.between.eq(1)]
                fits = (self.left != 0) & (always | (needs <= self.left))
                with m.If(load & fits & (stored >= size)):
                    m.d.sync += [
                        self.loaded.eq(1), flit.data.eq(route), flit.first.eq(1),
                        flit.last.eq(0), ends.eq(0),
                        of_packet.eq(size), of_last.eq(last), remaining.eq(remaining - size),
                    ]
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                m.d.comb += [taking.eq(1), self.header.eq(1)]
                with m.If(load):
                    m.d.sync += [self.loaded.eq(1), flit.data.eq(Cat(address, of_last)),
                                 flit.first.eq(0), address.eq(address + of_packet)]
                    m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [taking.eq(1), self.body.eq(1), pop.eq(load)]
                with m.If(load):
                    m.d.sync += [self.loaded.eq(1), flit.data.eq(self._read.data),
                                 flit.last.eq(of_packet == 1),
                                 ends.eq(of_last & (of_packet == 1)),
                                 of_packet.eq(of_packet - 1)]
                    with m.If(of_packet == 1):
                        m.next = "BETWEEN"
                        with m.If(of_last):
                            m.next = "IDLE"
        return m

    def _follow_window(self, m):
        """Follows the window: ``open`` a cycle late, as a flit that is loaded in one cycle is on
        the link in the next. Whether it was open before, is no window, is all the time."""
        window = self.window
        m.d.sync += [
            self.count.eq(Mux(self.count + 1 >= window.period, 0, self.count + 1)),
            self.left.eq(Mux(self.count == window.offset, window.length,
                             Mux(self.left == 0, 0, self.left - 1))),
            self.open.eq(self.left != 0),
        ]
        was_open, bad, always = Signal(), Signal(), Signal()
        m.d.sync += [
            was_open.eq(self.open),
            bad.eq((window.length > window.period) | (window.offset >= window.period)),
            always.eq(window.length == window.period),
        ]
        return was_open, bad, always

    def _drive_link(self, m, was_open):
        """The flit on the link. Returns whether another may be loaded, and a register to be set if
        the flit ends a transaction."""
        source = self.source
        load, moved, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            source.valid.eq(self.loaded & self.open),
            source.payload.eq(self.flit),
            moved.eq(source.valid & source.ready),
            load.eq(~self.loaded | moved),
            self.sent.eq(moved & ends),
            self.overrun.eq(self.loaded & was_open & ~self.open),
        ]
        with m.If(moved):
            m.d.sync += self.loaded.eq(0)
        return load, ends

    def _cut_packet(self, m):
        """The next packet: whether it is the last, its words, the cycles of a window it takes."""
        last, size = Signal(), Signal(range(self.payload + 1))
        needs = Signal(TIME_BITS + 2)
        m.d.comb += last.eq(self.remaining <= self.payload)
        m.d.sync += [
            size.eq(Mux(last, self.remaining, self.payload)),
            needs.eq(size + self.window.crossing + HEADER_FLITS),
        ]
        return last, size, needs

    def _take_words(self, m, taking, dropping):
        """Words from outside. Returns how many are to come, how many are stored, and the signal
        that takes one out."""
        to_take = Signal(LENGTH_BITS)
        stored = Signal(range(self.room + 1))
        pop, push = Signal(), Signal()
        m.d.sync += stored.eq(stored + push - pop)
        self._store(m, push, pop)
        m.d.comb += [
            self.words.ready.eq(taking & (to_take != 0) & (dropping | (stored != self.room))),
            push.eq(self.words.valid & self.words.ready & ~dropping),
        ]
        with m.If(self.words.valid & self.words.ready):
            m.d.sync += to_take.eq(to_take - 1)
        return to_take, stored, pop

    def _store(self, m, push, pop):
        """The words, of which the oldest is read ahead."""
        m.submodules.memory = self.memory
        head, tail = Signal(range(self.room)), Signal(range(self.room))
        following = Signal.like(head)
        m.d.comb += [
            following.eq(Mux(pop, Mux(head == self.room - 1, 0, head + 1), head)),
            self._read.addr.eq(following), self._read.en.eq(1),
            self._write.addr.eq(tail), self._write.data.eq(self.words.payload),
            self._write.en.eq(push),
        ]
        m.d.sync += head.eq(following)
        with m.If(push):
            m.d.sync += tail.eq(Mux(tail == self.room - 1, 0, tail + 1))
