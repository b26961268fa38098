"""SHMAC's router: six ports, request, data and acknowledge, one packet at a time in each.

Ref: SHMAC thesis, 2.3, 3.2.3.3 and Figure 5.7.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.shmac_packet import ADDRESS_BITS, DATA_BITS, ShmacPort
from cyclebound.hdl.noc.handshake_input import HandshakeInput
from cyclebound.hdl.noc.handshake_output import HandshakeOutput
from cyclebound.hdl.noc.router_input import PositionLayout
from cyclebound.hdl.noc.shmac_packet import PacketLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["COUNTER_BITS", "HandshakeRouter", "ShmacRouterSignature", "check_shmac_router",
           "connect_ports", "count_dropped"]

COUNTER_BITS = 16  # of what was dropped, modulo 2**16
SLAVE_ACKNOWLEDGES = ("passed", "accepted")


def check_shmac_router(*, slave_acknowledge="passed", address_bits=ADDRESS_BITS,
                       data_bits=DATA_BITS):
    """Raise unless these parameters make a router."""
    check_integer("Address bits", address_bits, 1, ADDRESS_BITS)
    check_integer("Data bits", data_bits, 1, DATA_BITS)
    if slave_acknowledge not in SLAVE_ACKNOWLEDGES:
        raise ValueError(f"Slave acknowledge must be {' or '.join(SLAVE_ACKNOWLEDGES)}, not "
                         f"{slave_acknowledge!r}")


def count_dropped(m, counter, pulses):
    """Count ``pulses``; three cycles later."""
    caught = Signal(len(pulses), name=f"{counter.name}_caught")
    events = Signal(range(len(pulses) + 1), name=f"{counter.name}_events")
    m.d.sync += [caught.eq(Cat(pulses)), events.eq(sum(caught)), counter.eq(counter + events)]


def connect_ports(m, router):
    """Wire the inputs and outputs of a router, old or new, to its ports and to each other, and
    count what is dropped. The router itself tells its inputs the grant, and when the master
    waits."""
    for port, unit in zip(ShmacPort, router.inputs, strict=True):
        m.submodules[f"input_{port.name.lower()}"] = unit
        wiring.connect(m, wiring.flipped(router.sinks[port]), unit.sink)
        m.d.comb += [unit.connected.eq(router.connected), unit.position.eq(router.position),
                     unit.waited.eq(router.waited)]
    for port, output in zip(ShmacPort, router.outputs, strict=True):
        m.submodules[f"output_{port.name.lower()}"] = output
        wiring.connect(m, output.source, wiring.flipped(router.sources[port]))
        m.d.comb += output.requests.eq(Cat(unit.asks[port] for unit in router.inputs))
        m.d.comb += [packet.eq(unit.packet)
                     for packet, unit in zip(output.packets, router.inputs, strict=True)]
    unwanted = router.outputs[ShmacPort.MASTER].begins & ~router.waited
    count_dropped(m, router.unroutable, [unit.unroutable for unit in router.inputs])
    count_dropped(m, router.malformed, [*(unit.malformed for unit in router.inputs), unwanted])


class ShmacRouterSignature(wiring.Signature):
    """Interface of a router of SHMAC, old or new, in its own directions; see `HandshakeRouter`."""

    def __init__(self, *, address_bits=ADDRESS_BITS, data_bits=DATA_BITS):
        packets = stream.Signature(PacketLayout(address_bits=address_bits, data_bits=data_bits))
        super().__init__({
            "sinks": In(packets).array(len(ShmacPort)),
            "sources": Out(packets).array(len(ShmacPort)),
            "connected": In(len(ShmacPort)), "position": In(PositionLayout), "slave_busy": In(1),
            "unroutable": Out(COUNTER_BITS), "malformed": Out(COUNTER_BITS),
        })


class HandshakeRouter(wiring.Component):
    """SHMAC's router: dimension order, round robin at each output, not pipelined.

    Latency: 5 cycles in and 5 out: a packet taken in cycle T is on offer from cycle T + 10 on.
    Throughput: an input takes a packet in every 11th cycle, an output hands one over in every 6th.
    At each output a packet waits for one packet of each other input.

    A stream's ``valid``, ``payload`` and ``ready`` are request, data and acknowledge. Links
    acknowledge when a packet is taken, and the sender is free. The master is told 5 cycles later,
    when the packet asks for its output; the slave when its response has left the router.

    Malformed packets, packets that lead nowhere, and responses that the master does not wait for
    are dropped and counted.

    Parameters
    ----------
    slave_acknowledge : str
        "passed", as above, or "accepted": the slave is told when the master would be.
    address_bits, data_bits : int
        Of a packet: at most 24 and 32; fewer are for proofs.

    Members
    -------
    sinks, sources : In, Out(stream of PacketLayout).array(6)
        Packets in and out: north, east, south, west, master, slave.
    connected : In(6)
        Outputs that lead anywhere; constant.
    position : In(PositionLayout)
        The router's row and column; constant.
    slave_busy : In(1)
        The slave is at work: nothing is granted to it.
    unroutable, malformed : Out(16)
        Packets dropped.
    """

    def __init__(self, *, slave_acknowledge="passed", address_bits=ADDRESS_BITS,
                 data_bits=DATA_BITS):
        check_shmac_router(slave_acknowledge=slave_acknowledge, address_bits=address_bits,
                           data_bits=data_bits)
        self.slave_acknowledge = slave_acknowledge
        self._bits = {"address_bits": address_bits, "data_bits": data_bits}
        super().__init__(ShmacRouterSignature(**self._bits))
        self.waited = Signal()  # the master waits for a response

    # Made late: a router that is only asked for its ports has none of these.
    @cached_property
    def inputs(self):
        """An input unit for each port, in the order of `ShmacPort`."""
        when = {ShmacPort.MASTER: "accepted", ShmacPort.SLAVE: self.slave_acknowledge}
        return [HandshakeInput(port=port, acknowledge=when.get(port, "taken"), **self._bits)
                for port in ShmacPort]

    @cached_property
    def outputs(self):
        """An output unit for each port, in the order of `ShmacPort`."""
        return [HandshakeOutput(**self._bits) for _ in ShmacPort]

    def elaborate(self, platform):
        m = Module()
        connect_ports(m, self)
        for port, unit in zip(ShmacPort, self.inputs, strict=True):
            # nothing turns around; the slave's ready would otherwise depend on itself
            others = [output for other, output in enumerate(self.outputs) if other != port]
            m.d.comb += [
                unit.granted.eq(Cat(output.granted[port] for output in others).any()),
                unit.done.eq(Cat(output.done[port] for output in others).any()),
            ]
        answers = self.outputs[ShmacPort.MASTER]
        m.d.comb += [self.outputs[ShmacPort.SLAVE].busy.eq(self.slave_busy),
                     answers.refused.eq(~self.waited)]
        with m.If(answers.begins):
            m.d.sync += self.waited.eq(0)
        with m.If(self.inputs[ShmacPort.MASTER].awaits):
            m.d.sync += self.waited.eq(1)
        return m
