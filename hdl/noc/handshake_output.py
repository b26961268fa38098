"""Output port of SHMAC's router.

Part of SHMAC's router, whose model, testbench and tests cover it.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.noc.shmac_packet import PacketLayout

__all__ = ["HandshakeOutput"]


class HandshakeOutput(wiring.Component):
    """One output: its arbiter, its column of the crossbar, and the packet on offer.

    Latency: on offer in the fifth cycle after the grant. The next grant comes in the cycle after
    the packet was handed over at the earliest: not pipelined.

    Parameters
    ----------
    address_bits, data_bits : int
        Of a packet.

    Members
    -------
    requests : In(6)
        The inputs that ask for it.
    packets : In(PacketLayout).array(6)
        The packets that the inputs hold.
    busy : In(1)
        The receiver is at work: nothing is granted.
    refused : In(1)
        The packet granted in this cycle will not be offered: it is dropped before.
    begins : Out(1)
        It begins with one of the inputs that ask in this cycle.
    granted : Out(6)
        One-hot input with which it began in the cycle before.
    done : Out(6)
        One-hot input whose packet leaves in this cycle.
    source : Out(stream of PacketLayout)
        The packet on offer: request, data, acknowledge.
    """

    def __init__(self, *, address_bits, data_bits):
        layout = PacketLayout(address_bits=address_bits, data_bits=data_bits)
        super().__init__({
            "requests": In(6), "packets": In(layout).array(6), "busy": In(1), "refused": In(1),
            "begins": Out(1), "granted": Out(6), "done": Out(6),
            "source": Out(stream.Signature(layout)),
        })
        self.arbiter = RoundRobinArbiter(count=6)
        # the state; a proof has to speak of it
        self.free = Signal(init=1)
        self.owner = Signal(6)  # whose packet it has; 0: it is free
        self.steps = Signal(5)  # one-hot: the cycles since the grant, and the last one stays
        self.void = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        source, owner, void = self.source, self.owner, self.void
        select, _, _, _, offer = self.steps
        free, leaves = self.free, Signal()
        m.d.comb += [
            arbiter.requests.eq(Mux(free & ~self.busy, self.requests, 0)),
            arbiter.accept.eq(1),  # a grant is a beginning, so the arbiter never holds one
            self.begins.eq(arbiter.requests.any()),
            self.granted.eq(Mux(select, owner, 0)),
            source.valid.eq(offer & ~void),
            leaves.eq(offer & (source.ready | void)),
            self.done.eq(Mux(leaves, owner, 0)),
        ]
        m.d.sync += self.steps.eq(Cat(self.begins, self.steps[:3],
                                      self.steps[3] | (offer & ~leaves)))
        with m.If(self.begins):
            m.d.sync += [owner.eq(arbiter.grant), free.eq(0), void.eq(self.refused)]
        with m.If(leaves):
            m.d.sync += [owner.eq(0), free.eq(1)]
        with m.If(select):
            m.d.sync += source.payload.eq(reduce(or_, (
                Mux(mine, packet.as_value(), 0)
                for mine, packet in zip(owner, self.packets, strict=True))))
        return m
