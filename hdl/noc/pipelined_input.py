"""Input port of the pipelined successor of SHMAC's router.

Part of that router, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Signal
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.shmac_packet import ShmacPort
from cyclebound.hdl.noc.packet_queue import PacketQueue
from cyclebound.hdl.noc.router_input import PositionLayout
from cyclebound.hdl.noc.shmac_packet import (
    PacketLayout,
    answered,
    compared_with,
    output_of,
    wrong_kind,
)

__all__ = ["PipelinedInput"]


class PipelinedInput(PacketQueue):
    """`PacketQueue` of SHMAC's packets, which drops malformed ones.

    Latency: as of `PacketQueue`.

    Parameters
    ----------
    port : ShmacPort
        The port that it is.
    address_bits, data_bits : int
        Of a packet.

    Members
    -------
    sink, connected, asks, granted, packet, unroutable
        As of `PacketQueue`.
    position, waited
        As of `HandshakeInput`.
    malformed : Out(1)
        The head is dropped in this cycle because it is malformed.
    awaits : Out(1)
        The head is the master's request and has a response.
    """

    def __init__(self, *, port, address_bits, data_bits):
        self.port = port
        super().__init__(
            PacketLayout(address_bits=address_bits, data_bits=data_bits), outputs=6,
            reach=63 ^ 1 << port, facts=("wrong", "answered"),
            members={"position": In(PositionLayout), "waited": In(1), "malformed": Out(1),
                     "awaits": Out(1)})
        self.drops.append(self.malformed)

    def decode(self, m, incoming):
        """Its output, whether it may come by this input, and whether it has a response."""
        compared = Signal(4)
        m.d.comb += compared.eq(compared_with(incoming, self.position))
        return {"output": output_of(compared, incoming),
                "wrong": wrong_kind(self.port, incoming, self.position),
                "answered": answered(incoming)}

    def judge(self, m):
        """Whether the head is malformed."""
        awaits = self.head.answered if self.port == ShmacPort.MASTER else 0
        bad = self.head.wrong | (self.waited & awaits)
        m.d.comb += [self.malformed.eq(self.valid & bad), self.awaits.eq(self.valid & awaits)]
        return bad
