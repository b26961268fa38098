"""The pipelined successor of SHMAC's router, with the same face.

Ref: the thesis on SHMACsim, 6.2.6.1, asks for it; the design is this project's.
"""

from functools import cached_property, reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.shmac_packet import ADDRESS_BITS, DATA_BITS, ShmacPort
from cyclebound.hdl.noc.arbiter import RoundRobinArbiter
from cyclebound.hdl.noc.handshake_router import (
    ShmacRouterSignature,
    check_shmac_router,
    count_dropped,
)
from cyclebound.hdl.noc.router_input import PositionLayout
from cyclebound.hdl.noc.shmac_packet import PacketLayout, answered, compare, way, wrong_kind

__all__ = ["PipelinedInput", "PipelinedRouter"]


class PipelinedInput(wiring.Component):
    """Queue of two packets; the way is decoded on the way in.

    Latency: one cycle from the cycle in which a packet is taken to the first in which it asks.
    Throughput: a packet in every cycle. ``ready`` is a register.

    Parameters
    ----------
    port : ShmacPort
        Which one it is.
    address_bits, data_bits : int
        Of a packet.

    Members
    -------
    sink : In(stream of PacketLayout)
        Packets.
    connected, position, waited
        As of `HandshakeInput`.
    packet, asks : Out
        The packet at the head, and the one-hot output that it asks for.
    granted : In(1)
        The head leaves.
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
        self.valid, self.second = Signal(), Signal()  # packets at the head, and behind it
        self.way, self.behind_way = Signal(6), Signal(6)  # 0: nowhere
        self.wrong, self.behind_wrong = Signal(), Signal()
        self.behind = Signal(layout)

    def elaborate(self, platform):
        m = Module()
        sink, incoming = self.sink, self.sink.payload
        compared, leads, wrong = Signal(4), Signal(6), Signal()
        m.d.comb += [
            sink.ready.eq(~self.second),
            compared.eq(compare(incoming, self.position)),
            leads.eq(way(compared, incoming) & self.connected & (63 ^ 1 << self.port)),
            wrong.eq(wrong_kind(self.port, incoming, self.position)),
        ]
        more = self.waited & answered(self.packet) if self.port == ShmacPort.MASTER else 0
        leaves = Signal()
        m.d.comb += [
            self.malformed.eq(self.valid & (self.wrong | more)),
            self.unroutable.eq(self.valid & ~(self.wrong | more) & (self.way == 0)),
            self.asks.eq(Mux(self.valid & ~(self.wrong | more), self.way, 0)),
            self.awaits.eq(self.valid & answered(self.packet)
                           if self.port == ShmacPort.MASTER else 0),
            leaves.eq(self.granted | self.malformed | self.unroutable),
        ]
        with m.If(sink.ready):  # else it is full, and what is behind stays as it is
            m.d.sync += [self.behind.eq(incoming), self.behind_way.eq(leads),
                         self.behind_wrong.eq(wrong)]
        with m.If(~self.valid | leaves):
            m.d.sync += [self.valid.eq(sink.valid | self.second), self.second.eq(0)]
            with m.If(self.second):
                m.d.sync += [self.packet.eq(self.behind), self.way.eq(self.behind_way),
                             self.wrong.eq(self.behind_wrong)]
            with m.Else():
                m.d.sync += [self.packet.eq(incoming), self.way.eq(leads), self.wrong.eq(wrong)]
        with m.Elif(sink.valid):
            m.d.sync += self.second.eq(1)
        return m


class PipelinedRouter(wiring.Component):
    """Pipelined router for SHMAC: dimension order, round robin at each output.

    Latency: a packet taken in cycle T is on offer from cycle T + 2 on. Throughput: a packet in
    every cycle at every port. At each output a packet waits for one packet of each other input.

    All inputs acknowledge when a packet is taken. ``slave_busy`` is not looked at: the next packet
    waits in the output's register. What is dropped is as in `HandshakeRouter`.

    Parameters
    ----------
    address_bits, data_bits : int
        Of a packet.

    Members
    -------
    As of `HandshakeRouter`.
    """

    def __init__(self, *, address_bits=ADDRESS_BITS, data_bits=DATA_BITS):
        self._bits = {"address_bits": address_bits, "data_bits": data_bits}
        check_shmac_router(**self._bits)
        super().__init__(ShmacRouterSignature(**self._bits))
        self.waited = Signal()  # the master waits for a response

    # Made late: a router that is only asked for its ports has none of these.
    @cached_property
    def inputs(self):
        """The queues, by port."""
        return [PipelinedInput(port=port, **self._bits) for port in ShmacPort]

    @cached_property
    def arbiters(self):
        """The arbiters, by output."""
        return [RoundRobinArbiter(count=len(ShmacPort)) for _ in ShmacPort]

    def elaborate(self, platform):
        m = Module()
        for port, unit in zip(ShmacPort, self.inputs, strict=True):
            m.submodules[f"input_{port.name.lower()}"] = unit
            wiring.connect(m, wiring.flipped(self.sinks[port]), unit.sink)
            m.d.comb += [
                unit.connected.eq(self.connected), unit.position.eq(self.position),
                unit.waited.eq(self.waited),
                unit.granted.eq(Cat(arbiter.grant[port] for arbiter in self.arbiters).any()),
            ]
        lost = Signal()
        for port, arbiter, source in zip(ShmacPort, self.arbiters, self.sources, strict=True):
            m.submodules[f"arbiter_{port.name.lower()}"] = arbiter
            load, chosen, passes = Signal(), Signal.like(source.payload), Signal()
            m.d.comb += [
                load.eq(~source.valid | source.ready),
                arbiter.requests.eq(Mux(load, Cat(unit.asks[port] for unit in self.inputs), 0)),
                arbiter.accept.eq(1),  # a grant is a transfer, so the arbiter never holds one
                passes.eq(arbiter.requests.any()),  # as soon as it is known
                chosen.as_value().eq(reduce(or_, (
                    Mux(grant, unit.packet.as_value(), 0)
                    for grant, unit in zip(arbiter.grant, self.inputs, strict=True)))),
            ]
            if port == ShmacPort.MASTER:
                m.d.comb += [passes.eq(arbiter.requests.any() & self.waited),
                             lost.eq(arbiter.requests.any() & ~self.waited)]
                with m.If(passes):
                    m.d.sync += self.waited.eq(0)
            with m.If(load):
                m.d.sync += [source.valid.eq(passes), source.payload.eq(chosen)]
        master = self.inputs[ShmacPort.MASTER]
        with m.If(master.awaits & master.granted):
            m.d.sync += self.waited.eq(1)

        count_dropped(m, self, {
            "unroutable": [unit.unroutable for unit in self.inputs],
            "malformed": [*(unit.malformed for unit in self.inputs), lost]})
        return m
