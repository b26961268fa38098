"""Input port of SHMAC's router.

Part of SHMAC's router, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.noc.router_input import PositionLayout
from cyclebound.hdl.noc.shmac_packet import PacketLayout, Verdict

__all__ = ["HandshakeInput"]


class HandshakeInput(wiring.Component):
    """Holds one packet from the cycle in which it is taken until an output has handed it over.

    Latency: the packet asks for its output 5 cycles after it was taken. One that is malformed or
    leads nowhere is dropped in that cycle instead.

    Parameters
    ----------
    port : ShmacPort
        Which one it is: it decides what is malformed.
    acknowledge : str
        When the sender is told: "taken" (at once; only here is the packet copied while the sender
        is free), "accepted" (in the cycle in which it asks, or is dropped), or "passed" (when it
        leaves the router).
    address_bits, data_bits : int
        Of a packet.

    Members
    -------
    sink : In(stream of PacketLayout)
        The packet: request, data, acknowledge.
    connected : In(6)
        Outputs that lead anywhere.
    position : In(PositionLayout)
        The router's tile.
    waited : In(1)
        The master waits for a response.
    packet : Out(PacketLayout)
        What it holds.
    asks : Out(6)
        One-hot output that it asks for, until it is told that it was granted.
    granted, done : In(1)
        The output began with it in the cycle before; the output has handed it over.
    unroutable, malformed, awaits : Out(1)
        Pulses: it drops a packet, for that reason; its packet is a request with a response.
    """

    def __init__(self, *, port, acknowledge, address_bits, data_bits):
        self.port, self.acknowledge = port, acknowledge
        layout = PacketLayout(address_bits=address_bits, data_bits=data_bits)
        super().__init__({
            "sink": In(stream.Signature(layout)), "connected": In(6),
            "position": In(PositionLayout), "waited": In(1),
            "packet": Out(layout), "asks": Out(6), "granted": In(1), "done": In(1),
            "unroutable": Out(1), "malformed": Out(1), "awaits": Out(1),
        })
        # the state; a proof has to speak of it
        self.free = Signal(init=1)
        self.steps = Signal(5)  # one-hot: the first five cycles with a packet
        self.good = Signal()    # the packet goes on

    def elaborate(self, platform):
        m = Module()
        m.submodules.verdict = verdict = Verdict(
            port=self.port, address_bits=self.packet.shape()["address"].width,
            data_bits=self.packet.shape()["data"].width)
        sink, packet, free, good = self.sink, self.packet, self.free, self.good
        _, _, check, request, decided = self.steps
        m.d.comb += [
            verdict.packet.eq(packet), verdict.position.eq(self.position),
            verdict.connected.eq(self.connected), verdict.waited.eq(self.waited),
            self.malformed.eq(check & verdict.malformed),
            self.unroutable.eq(check & verdict.unroutable),
            self.awaits.eq(check & verdict.awaits),
        ]
        take, dropped = Signal(), Signal()
        m.d.comb += [take.eq(free & sink.valid), dropped.eq(decided & ~good)]
        m.d.sync += self.steps.eq(Cat(take, self.steps))
        with m.If(take):
            m.d.sync += [packet.eq(sink.payload), free.eq(0)]
        with m.Elif(self.done | dropped):
            m.d.sync += free.eq(1)
        with m.If(check):
            m.d.sync += good.eq(~verdict.malformed & ~verdict.unroutable)
        with m.If(request):
            m.d.sync += self.asks.eq(Mux(good, verdict.output, Const(0, 6)))
        with m.If(self.granted):
            m.d.sync += self.asks.eq(0)
        m.d.comb += sink.ready.eq({"taken": free, "accepted": decided,
                                   "passed": self.done | dropped}[self.acknowledge])
        return m
