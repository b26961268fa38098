"""Output port of the pipelined routers, whatever their packets are.

Part of those routers, whose models, testbenches and tests cover it.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.arbiter import RoundRobinArbiter

__all__ = ["PipelinedOutput"]


class PipelinedOutput(wiring.Component):
    """One output: its arbiter, its column of the crossbar, and a queue of two packets.

    Latency: on offer in the second cycle after the grant, if nothing is before it. Throughput: a
    packet in every cycle.

    Nothing is granted for which there might be no place: of those that wait and the one that is in
    the crossbar, there are two at most.

    Parameters
    ----------
    layout : Layout
        Of a packet.
    inputs : int
        Of the router.

    Members
    -------
    requests : In(inputs)
        The inputs that ask for it.
    packets : In(``layout``).array(inputs)
        What the inputs had at their heads in the cycle before.
    refused : In(1)
        What is granted in this cycle will not be offered.
    grant : Out(inputs)
        One-hot input whose head leaves in this cycle.
    begins : Out(1)
        There is one.
    source : Out(stream of ``layout``)
        The packet on offer.
    """

    def __init__(self, layout, *, inputs):
        super().__init__({
            "requests": In(inputs), "packets": In(layout).array(inputs), "refused": In(1),
            "grant": Out(inputs), "begins": Out(1), "source": Out(stream.Signature(layout)),
        })
        self.arbiter = RoundRobinArbiter(count=inputs)
        # the state; a proof has to speak of it
        self.owner = Signal(inputs)  # whose packet is in the crossbar
        self.moves = Signal()    # and goes to the queue
        self.second = Signal()   # there is a packet after the one on offer
        self.queued = Signal(layout)
        self.room = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        source, moves, second = self.source, self.moves, self.second
        crossed = Signal.like(self.queued)
        m.d.comb += [
            self.room.eq(~(second | (source.valid & moves)) | source.ready),
            arbiter.requests.eq(Mux(self.room, self.requests, 0)),
            arbiter.accept.eq(1),  # a grant is a transfer, so the arbiter never holds one
            self.grant.eq(arbiter.grant),
            self.begins.eq(self.room & self.requests.any()),  # as soon as it is known
            crossed.eq(reduce(or_, (
                Mux(mine, packet.as_value(), 0)
                for mine, packet in zip(self.owner, self.packets, strict=True)))),
        ]
        m.d.sync += [self.owner.eq(self.grant), moves.eq(self.begins & ~self.refused)]
        with m.If(~second):
            m.d.sync += self.queued.eq(crossed)
        with m.If(~source.valid | source.ready):
            m.d.sync += [source.valid.eq(second | moves), second.eq(0),
                         source.payload.eq(Mux(second, self.queued, crossed))]
        with m.Elif(moves):
            m.d.sync += second.eq(1)
        return m
