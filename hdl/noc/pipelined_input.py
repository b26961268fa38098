"""Input port of the pipelined successor of SHMAC's router.

Part of that router, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.shmac_packet import ShmacPort
from cyclebound.hdl.noc.router_input import PositionLayout
from cyclebound.hdl.noc.shmac_packet import PacketLayout, answered, compare, output_of, wrong_kind

__all__ = ["PipelinedInput"]


class PipelinedInput(wiring.Component):
    """Queue of two packets, whose routes are decoded before they enter it.

    Latency: one cycle from the cycle in which a packet is taken to the first in which it asks; it
    is on ``packet`` in the cycle after it was granted. Throughput: a packet in every cycle.
    ``ready`` is a register.

    Only the decoded fields of a packet move up in the queue. The packet stays in its place, and
    leaves it a cycle later: the next packet in that place comes at the end of that cycle.

    Parameters
    ----------
    port : ShmacPort
        The port that it is.
    address_bits, data_bits : int
        Of a packet.

    Members
    -------
    sink : In(stream of PacketLayout)
        Packets.
    connected, position, waited
        As of `HandshakeInput`.
    asks : Out(6)
        One-hot output that the packet at the head asks for.
    granted : In(1)
        The head leaves.
    packet : Out(PacketLayout)
        The packet that was at the head in the cycle before.
    unroutable, malformed : Out(1)
        The head is dropped for that reason in this cycle.
    awaits : Out(1)
        The head is the master's request and has a response.
    """

    def __init__(self, *, port, address_bits, data_bits):
        self.port = port
        layout = PacketLayout(address_bits=address_bits, data_bits=data_bits)
        super().__init__({
            "sink": In(stream.Signature(layout)), "connected": In(6),
            "position": In(PositionLayout), "waited": In(1), "packet": Out(layout),
            "asks": Out(6), "granted": In(1), "unroutable": Out(1), "malformed": Out(1),
            "awaits": Out(1),
        })
        # the state; a proof has to speak of it
        decoded = data.StructLayout({"output": 6, "wrong": 1, "answered": 1})  # output 0: none
        self.valid, self.second = Signal(), Signal()  # packets at the head, and after it
        self.head, self.queued = Signal(decoded), Signal(decoded)
        self.places = [Signal(layout, name=f"place_{number}") for number in range(2)]
        self.enters, self.leaves = Signal(), Signal()  # the places of the next and of the head
        self.left = Signal()  # the head's, in the cycle before

    def elaborate(self, platform):
        m = Module()
        sink, incoming, head = self.sink, self.sink.payload, self.head
        compared, decoded = Signal(4), Signal.like(head)
        m.d.comb += [
            sink.ready.eq(~self.second),
            compared.eq(compare(incoming, self.position)),
            decoded.output.eq(output_of(compared, incoming) & self.connected
                              & (63 ^ 1 << self.port)),
            decoded.wrong.eq(wrong_kind(self.port, incoming, self.position)),
            decoded.answered.eq(answered(incoming)),
        ]
        awaits = head.answered if self.port == ShmacPort.MASTER else 0
        bad, pops = Signal(), Signal()
        m.d.comb += [
            bad.eq(head.wrong | (self.waited & awaits)),
            self.malformed.eq(self.valid & bad),
            self.unroutable.eq(self.valid & ~bad & (head.output == 0)),
            self.asks.eq(Mux(self.valid & ~bad, head.output, 0)),
            self.awaits.eq(self.valid & awaits),
            pops.eq(self.granted | self.malformed | self.unroutable),
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
