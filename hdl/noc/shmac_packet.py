"""SHMAC's packets in hardware, and what is wrong with them (see golden/noc/shmac_packet).

Part of SHMAC's routers, whose models, testbenches and tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.shmac_packet import ADDRESS_BITS, DATA_BITS, FLAGS, ShmacPort
from cyclebound.hdl.noc.dimension_order import compare, outputs_of
from cyclebound.hdl.noc.router_input import PositionLayout

__all__ = ["PacketLayout", "Verdict", "answered", "compared_with", "output_of", "wrong_kind"]


class PacketLayout(data.StructLayout):
    """The flags, ``initiator``, ``target`` (row and column), ``address`` and ``data``."""

    def __init__(self, *, address_bits=ADDRESS_BITS, data_bits=DATA_BITS):
        super().__init__({**dict.fromkeys(FLAGS, 1),
                          "initiator": PositionLayout, "target": PositionLayout,
                          "address": unsigned(address_bits), "data": unsigned(data_bits)})


def answered(packet):
    """Whether an operation of this kind has a response."""
    return ~packet.write | packet.sync


def compared_with(packet, here):
    """`compare` of its destination."""
    return compare(Mux(packet.response, packet.initiator.as_value(), packet.target.as_value()),
                   here)


def output_of(compared, packet):
    """One-hot output, from what `compare` says: along the row, along the column, or here."""
    *links, local = outputs_of(compared)
    return Cat(*links, local & packet.response, local & ~packet.response)


def wrong_kind(port, packet, here):
    """Whether no such packet may come by that input, whatever went before."""
    wrong = packet.response & ~answered(packet)
    if port == ShmacPort.SLAVE:
        wrong |= ~packet.response
    if port == ShmacPort.MASTER:
        wrong |= packet.response | (packet.initiator.as_value() != here.as_value())
    return wrong


class Verdict(wiring.Component):
    """Finds the output of a packet, and its fault if it has one.

    Latency: ``output`` follows the packet by two cycles, and stays; what is wrong with it is due in
    the cycle after, when ``waited`` counts.

    Parameters
    ----------
    port : ShmacPort
        The input that it came by.
    address_bits, data_bits : int
        Of a packet.

    Members
    -------
    packet, position, connected, waited : In
        As of `HandshakeInput`.
    output : Out(6)
        One-hot output.
    malformed : Out(1)
        A response of the master, or to what has none; a request of the slave; from the master, a
        request in another's name, or one more while it waits for a response.
    unroutable : Out(1)
        Not malformed, and its output leads back, or nowhere.
    awaits : Out(1)
        Neither, and it is the master's, which waits for its response from now on.
    """

    def __init__(self, *, port, address_bits=ADDRESS_BITS, data_bits=DATA_BITS):
        self.port = port
        super().__init__({
            "packet": In(PacketLayout(address_bits=address_bits, data_bits=data_bits)),
            "position": In(PositionLayout), "connected": In(6), "waited": In(1),
            "output": Out(6), "malformed": Out(1), "unroutable": Out(1), "awaits": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        packet, here = self.packet, self.position
        # first cycle: compare; second cycle: the output; third cycle: the verdict
        compared = Signal(4)
        m.d.sync += [compared.eq(compared_with(packet, here)),
                     self.output.eq(output_of(compared, packet))]
        wrong = Signal()
        m.d.sync += wrong.eq(wrong_kind(self.port, packet, here))
        more = answered(packet) & self.waited if self.port == ShmacPort.MASTER else 0
        leads = Signal()
        m.d.comb += [
            leads.eq((self.output & self.connected & (63 ^ 1 << self.port)).any()),
            self.malformed.eq(wrong | more),
            self.unroutable.eq(~self.malformed & ~leads),
            self.awaits.eq((~self.malformed & leads & answered(packet))
                           if self.port == ShmacPort.MASTER else 0),
        ]
        return m
