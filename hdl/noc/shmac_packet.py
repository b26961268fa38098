"""SHMAC's packets in hardware, and what is wrong with them (see golden/noc/shmac_packet)."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.shmac_packet import ADDRESS_BITS, DATA_BITS, FLAGS, ShmacPort
from cyclebound.hdl.noc.router_input import PositionLayout

__all__ = ["PacketLayout", "Verdict", "answered"]


class PacketLayout(data.StructLayout):
    """The flags, ``initiator``, ``target`` (row and column), ``address`` and ``data``."""

    def __init__(self, *, address_bits=ADDRESS_BITS, data_bits=DATA_BITS):
        super().__init__({**dict.fromkeys(FLAGS, 1),
                          "initiator": PositionLayout, "target": PositionLayout,
                          "address": unsigned(address_bits), "data": unsigned(data_bits)})


def answered(packet):
    """Whether an operation of this kind has a response."""
    return ~packet.write | packet.sync


class Verdict(wiring.Component):
    """Which way a packet goes, and what is wrong with it.

    Latency: ``way`` follows the packet by two cycles, and stays; what is wrong with it is due in
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
    way : Out(6)
        One-hot output.
    malformed : Out(1)
        A response of the master, or to what has none; a request of the slave; from the master, a
        request in another's name, or one more while it waits for a response.
    unroutable : Out(1)
        Not malformed, and the way leads back, or nowhere.
    awaits : Out(1)
        Neither, and it is the master's, which waits for its response from now on.
    """

    def __init__(self, *, port, address_bits=ADDRESS_BITS, data_bits=DATA_BITS):
        self.port = port
        super().__init__({
            "packet": In(PacketLayout(address_bits=address_bits, data_bits=data_bits)),
            "position": In(PositionLayout), "connected": In(6), "waited": In(1),
            "way": Out(6), "malformed": Out(1), "unroutable": Out(1), "awaits": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        packet, here = self.packet, self.position
        there = Signal(PositionLayout)
        m.d.comb += there.eq(Mux(packet.response, packet.initiator.as_value(),
                                 packet.target.as_value()))
        # first cycle: compare
        east, west, south, north = (Signal(name=name)
                                    for name in ("east", "west", "south", "north"))
        m.d.sync += [east.eq(there.column > here.column), west.eq(there.column < here.column),
                     south.eq(there.row > here.row), north.eq(there.row < here.row)]
        # second cycle: the way
        across, down = east | west, south | north
        local = ~across & ~down
        m.d.sync += self.way.eq(Cat(~across & north, east, ~across & south, west,
                                    local & packet.response, local & ~packet.response))
        # third cycle: the verdict
        master, slave = self.port == ShmacPort.MASTER, self.port == ShmacPort.SLAVE
        wrong = packet.response & ~answered(packet)
        if slave:
            wrong |= ~packet.response
        if master:
            foreign = Signal()
            m.d.sync += foreign.eq(packet.initiator.as_value() != here.as_value())
            wrong |= packet.response | foreign | (answered(packet) & self.waited)
        allowed = Signal(6)
        m.d.comb += [
            allowed.eq(self.connected & (63 ^ 1 << self.port)),
            self.malformed.eq(wrong),
            self.unroutable.eq(~wrong & ~(self.way & allowed).any()),
            self.awaits.eq((~wrong & (self.way & allowed).any() & answered(packet))
                           if master else 0),
        ]
        return m
