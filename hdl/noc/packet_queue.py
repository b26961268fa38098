"""Input queue of the pipelined routers, whatever their packets are.

Part of those routers, whose models, testbenches and tests cover it.
"""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PacketQueue"]


class PacketQueue(wiring.Component):
    """Queue of two packets, whose routes are decoded before they enter it.

    Latency: one cycle from the cycle in which a packet is taken to the first in which it asks; it
    is on ``packet`` in the cycle after it was granted. Throughput: a packet in every cycle.
    ``ready`` is a register.

    Only the decoded fields of a packet move up in the queue. The packet stays in its place, and
    leaves it a cycle later: the next packet in that place comes at the end of that cycle.

    A router's own class says what is decoded.

    Parameters
    ----------
    layout : Layout
        Of a packet.
    reach : int
        Bit by output: a packet that came by this input may ask for it.
    outputs : int
        Of the router.
    facts : tuple of str
        What is known of a packet besides its output, a bit each.
    members : mapping
        Ports besides these.

    Members
    -------
    sink : In(stream of ``layout``)
        Packets.
    connected : In(outputs)
        Outputs that lead anywhere.
    asks : Out(outputs)
        One-hot output that the packet at the head asks for.
    granted : In(1)
        The head leaves.
    packet : Out(``layout``)
        The packet that was at the head in the cycle before.
    unroutable : Out(1)
        The head is dropped in this cycle: its output is none of ``reach``, or leads nowhere.

    Attributes
    ----------
    drops : list of Signal
        By which of its outputs it says that the head is dropped.
    """

    def __init__(self, layout, *, reach, outputs, facts=(), members=None):
        self.reach = reach
        super().__init__({
            "sink": In(stream.Signature(layout)), "connected": In(outputs), **(members or {}),
            "packet": Out(layout), "asks": Out(outputs), "granted": In(1), "unroutable": Out(1),
        })
        self.drops = [self.unroutable]
        # the state; a proof has to speak of it
        decoded = data.StructLayout({"output": outputs, **dict.fromkeys(facts, 1)})  # 0: none
        self.valid, self.second = Signal(), Signal()  # packets at the head, and after it
        self.head, self.queued = Signal(decoded), Signal(decoded)
        self.places = [Signal(layout, name=f"place_{number}") for number in range(2)]
        self.enters, self.leaves = Signal(), Signal()  # the places of the next and of the head
        self.left = Signal()  # the head's, in the cycle before

    def decode(self, m, incoming):
        """What is known of a packet, by name; ``output`` is the one that it has to leave by."""
        raise NotImplementedError

    def judge(self, m):
        """Whether the head is dropped whatever its output is, which the class says in ``m``."""
        return Const(0)

    def elaborate(self, platform):
        m = Module()
        sink, incoming, head = self.sink, self.sink.payload, self.head
        decoded = Signal.like(head)
        known = self.decode(m, incoming)
        known["output"] &= self.connected & self.reach
        m.d.comb += sink.ready.eq(~self.second)
        m.d.comb += [decoded[name].eq(value) for name, value in known.items()]
        bad, pops = Signal(), Signal()
        m.d.comb += [
            bad.eq(self.judge(m)),
            self.unroutable.eq(self.valid & ~bad & (head.output == 0)),
            self.asks.eq(Mux(self.valid & ~bad, head.output, 0)),
            pops.eq(self.granted | (self.valid & bad) | self.unroutable),
        ]
        with m.If(sink.ready):  # else it is full, and the second place stays as it is
            m.d.sync += self.queued.eq(decoded)
        with m.If(~self.valid | pops):
            m.d.sync += [self.valid.eq(sink.valid | self.second), self.second.eq(0),
                         head.eq(Mux(self.second, self.queued, decoded))]
        with m.Elif(sink.valid):
            m.d.sync += self.second.eq(1)

        takes = sink.valid & sink.ready
        m.d.sync += [self.enters.eq(self.enters ^ takes), self.leaves.eq(self.leaves ^ pops),
                     self.left.eq(self.leaves)]
        for number, place in enumerate(self.places):
            with m.If(takes & (self.enters == number)):
                m.d.sync += place.eq(incoming)
        m.d.comb += self.packet.eq(Mux(self.left, self.places[1], self.places[0]))
        return m
