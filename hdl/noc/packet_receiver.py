"""The receiving half of a network interface: words with their addresses, from whole packets only.

Part of the network interface, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.noc.flit import FlitLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["PacketReceiver", "ReceivedLayout"]


class ReceivedLayout(data.StructLayout):
    """A word: its ``address`` in words, its ``data``, and whether it ends a transaction."""

    def __init__(self, width):
        super().__init__({"data": unsigned(width), "address": unsigned(width - 1), "last": 1})


class PacketReceiver(wiring.Component):
    """Keeps packets until they are complete, and takes them apart.

    An arriving packet is written after the others, its address header first, and counts once its
    last flit is there; if it turns out to be malformed, it is overwritten.

    Latency, throughput and members: see `NetworkInterface`; ``malformed`` is a strobe, ``sink`` is
    its ``arriving``.

    Parameters
    ----------
    width, payload : int
        Bits of a word, and words in the longest packet.
    packets : int
        Packets of that size that it has room for, at least 2.

    Attributes
    ----------
    between, address, words : Signal
        The state, of which a proof has to speak: no packet arrives; its address comes; its words
        do.
    whole, part : Signal
        Entries of whole packets, and of the packet that arrives.
    begin, tail, head : Signal
        Where that packet begins, where its next entry goes, and the oldest entry.
    inside : Signal
        The oldest entry is a word.
    """

    def __init__(self, *, width, payload, packets=2):
        check_integer("packets", packets, 2)
        self.width, self.payload = width, payload
        self.room = packets * (payload + 1)  # words and address headers
        super().__init__({
            "sink": In(stream.Signature(FlitLayout(width))),
            "received": Out(stream.Signature(ReceivedLayout(width))),
            "malformed": Out(1),
        })
        # `mark`: on an address header, and on a packet's last word
        self.memory = Memory(shape=data.StructLayout({"data": unsigned(width), "mark": 1}),
                             depth=self.room, init=[])
        self._write = self.memory.write_port()
        self._read = self.memory.read_port()
        self.between, self.address, self.words = (Signal(name=name) for name in (
            "between", "address", "words"))
        self.whole, self.part = Signal(range(self.room + 1)), Signal(range(payload + 2))
        self.begin, self.tail, self.head = (Signal(range(self.room), name=name) for name in (
            "begin", "tail", "head"))
        self.inside = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        sink, write = self.sink, self._write
        flit = sink.payload
        whole, part, begin, tail = self.whole, self.part, self.begin, self.tail
        moved, push, keep, forget, pop = (Signal(name=name) for name in (
            "moved", "push", "keep", "forget", "pop"))
        m.d.comb += [
            sink.ready.eq(whole + part != self.room),
            moved.eq(sink.valid & sink.ready),
            write.addr.eq(tail), write.data.data.eq(flit.data), write.en.eq(push),
        ]
        after = Mux(tail == self.room - 1, 0, tail + 1)
        with m.If(push):
            m.d.sync += tail.eq(after)
        with m.If(keep):
            m.d.sync += [part.eq(0), begin.eq(after)]
        with m.Elif(forget):
            m.d.sync += [part.eq(0), tail.eq(begin)]
        with m.Elif(push):
            m.d.sync += part.eq(part + 1)
        m.d.sync += whole.eq(whole + Mux(keep, part + 1, 0) - pop)

        with m.FSM() as fsm:
            m.d.comb += [self.between.eq(fsm.ongoing("BETWEEN")),
                         self.address.eq(fsm.ongoing("ADDRESS")),
                         self.words.eq(fsm.ongoing("WORDS"))]
            with m.State("BETWEEN"):
                with m.If(moved):
                    m.d.comb += self.malformed.eq(flit.last | ~flit.first)
                    with m.If(flit.first & ~flit.last):
                        m.next = "ADDRESS"
                    with m.Elif(~flit.first & ~flit.last):
                        m.next = "DROP"
            with m.State("DROP"):  # what has been counted, up to its end
                with m.If(moved & flit.last):
                    m.next = "BETWEEN"
                with m.Elif(moved & flit.first):
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                with m.If(moved):
                    with m.If(flit.first | flit.last):
                        m.d.comb += self.malformed.eq(1)
                        with m.If(flit.last):
                            m.next = "BETWEEN"
                    with m.Else():
                        m.d.comb += [push.eq(1), write.data.mark.eq(1)]
                        m.next = "WORDS"
            with m.State("WORDS"):
                with m.If(moved):
                    with m.If(flit.first | (part == self.payload + 1)):
                        m.d.comb += [forget.eq(1), self.malformed.eq(1)]
                        m.next = "DROP"
                        with m.If(flit.last):
                            m.next = "BETWEEN"
                        with m.Elif(flit.first):
                            m.next = "ADDRESS"
                    with m.Else():
                        m.d.comb += [push.eq(1), write.data.mark.eq(flit.last),
                                     keep.eq(flit.last)]
                        with m.If(flit.last):
                            m.next = "BETWEEN"
        self._deliver(m, whole, pop)
        return m

    def _deliver(self, m, whole, pop):
        """Entries of whole packets, the oldest one read ahead, become words."""
        read, received = self._read, self.received
        head, inside = self.head, self.inside
        following, address, end = Signal.like(head), Signal(self.width - 1), Signal()
        m.d.comb += [
            following.eq(Mux(pop, Mux(head == self.room - 1, 0, head + 1), head)),
            read.addr.eq(following), read.en.eq(1),
        ]
        m.d.sync += head.eq(following)
        with m.If(~inside):
            m.d.comb += pop.eq(whole != 0)
            m.d.sync += [address.eq(read.data.data), end.eq(read.data.data[-1])]
            with m.If(pop):
                m.d.sync += inside.eq(1)
        free = ~received.valid | received.ready
        with m.If(received.ready):
            m.d.sync += received.valid.eq(0)
        with m.If(inside & free):
            m.d.comb += pop.eq(1)
            m.d.sync += [
                received.valid.eq(1),
                received.payload.data.eq(read.data.data),
                received.payload.address.eq(address),
                received.payload.last.eq(end & read.data.mark),
                address.eq(address + 1),
                inside.eq(~read.data.mark),
            ]
