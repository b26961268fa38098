"""The pipelined successor of SHMAC's router, with the same interface.

Ref: SHMAC thesis, 6.2.6.1, asks for it; the design is this project's.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring

from cyclebound.golden.noc.shmac_packet import ADDRESS_BITS, DATA_BITS, ShmacPort
from cyclebound.hdl.noc.handshake_router import (
    ShmacRouterSignature,
    check_shmac_router,
    connect_ports,
)
from cyclebound.hdl.noc.pipelined_input import PipelinedInput
from cyclebound.hdl.noc.pipelined_output import PipelinedOutput
from cyclebound.hdl.noc.shmac_packet import PacketLayout

__all__ = ["PipelinedRouter"]


class PipelinedRouter(wiring.Component):
    """Pipelined router for SHMAC: dimension order, round robin at each output.

    Latency: a packet taken in cycle T is on offer from cycle T + 3 on. Throughput: a packet in
    every cycle at every port. At each output a packet waits for one packet of each other input.

    All inputs acknowledge when a packet is taken. ``slave_busy`` is ignored: the next packet
    waits in the output's queue. What is dropped is as in `HandshakeRouter`.

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
    def outputs(self):
        """An output unit for each port, in the order of `ShmacPort`."""
        layout = PacketLayout(**self._bits)
        return [PipelinedOutput(layout, inputs=len(ShmacPort)) for _ in ShmacPort]

    def elaborate(self, platform):
        m = Module()
        connect_ports(m, self)
        for port, unit in zip(ShmacPort, self.inputs, strict=True):
            m.d.comb += unit.granted.eq(Cat(output.grant[port] for output in self.outputs).any())
        answers, master = self.outputs[ShmacPort.MASTER], self.inputs[ShmacPort.MASTER]
        m.d.comb += answers.refused.eq(~self.waited)
        with m.If(answers.begins):
            m.d.sync += self.waited.eq(0)
        with m.If(master.awaits & master.granted):
            m.d.sync += self.waited.eq(1)
        return m
