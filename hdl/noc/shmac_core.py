"""A core of SHMAC as the network sees it: it repeats one instruction (see golden/noc/shmac_kernel).

Part of the grid of SHMAC's tiles, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.noc.shmac_kernel import Operation
from cyclebound.golden.noc.shmac_packet import DATA_BITS
from cyclebound.hdl.noc.router_input import PositionLayout
from cyclebound.hdl.noc.shmac_packet import PacketLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["MOST_CYCLES", "KernelLayout", "ShmacCore"]

MOST_CYCLES = 255  # of each latency that core and memory are given

KernelLayout = data.StructLayout({"enable": 1, "fetch": 1, "bypass": 1, "operation": unsigned(2),
                                  "target": PositionLayout})


class ShmacCore(wiring.Component):
    """Source of traffic that behaves as a core does: fetch, execute, one cycle, from the start.

    Latency: a request is there in the cycle after the core's own; a response is in after
    ``to_core_cycles`` more. A read is over then, a write when it is acknowledged. It waits for one
    response at most.

    Parameters
    ----------
    words : int
        Words of a tile's RAM, a power of two: the addresses that it goes through.
    to_core_cycles : int
        Cycles from the response at the router to the core that has it, from 1 on.
    bypass_cycles : int
        Cycles of a fetch by the second port of the RAM, more than ``to_core_cycles``.

    Members
    -------
    kernel : In(KernelLayout)
        What to repeat; looked at before each instruction.
    position : In(PositionLayout)
        Its tile; constant.
    source, sink : Out, In(stream of PacketLayout)
        To and from the router's master port.
    address : Out, word : In
        The second port of the tile's RAM.
    fetched, operated : Out(1)
        Pulses in the last cycle of a fetch, and of a read or write.
    data : Out(32)
        What it got last.
    """

    def __init__(self, *, words, to_core_cycles, bypass_cycles):
        check_integer("Cycles to the core", to_core_cycles, 1, MOST_CYCLES)
        check_integer("Cycles of the bypass", bypass_cycles, to_core_cycles + 1, 4 * MOST_CYCLES)
        self.words, self.to_core_cycles, self.bypass_cycles = words, to_core_cycles, bypass_cycles
        packets = stream.Signature(PacketLayout())
        super().__init__({
            "kernel": In(KernelLayout), "position": In(PositionLayout), "source": Out(packets),
            "sink": In(packets), "address": Out(exact_log2(words)), "word": In(DATA_BITS),
            "fetched": Out(1), "operated": Out(1), "data": Out(DATA_BITS),
        })

    def elaborate(self, platform):
        m = Module()
        source, sink, packet = self.source, self.sink, self.source.payload
        fetching = Signal()
        kernel = Signal(KernelLayout)  # of the instruction under way
        count = Signal(DATA_BITS)      # instructions begun
        left = Signal(range(self.bypass_cycles))
        writes = ~fetching & (kernel.operation == Operation.WRITE)
        ends = Signal()
        m.d.comb += [
            packet.write.eq(writes), packet.initiator.eq(self.position),
            packet.target.eq(Mux(fetching, self.position.as_value(), kernel.target.as_value())),
            packet.address.eq(count[:len(self.address)]), packet.data.eq(Mux(writes, count, 0)),
            self.address.eq(count), sink.ready.eq(1),
            self.fetched.eq(ends & fetching), self.operated.eq(ends & ~fetching),
        ]

        def after():
            """The last cycles of a fetch or read, and what comes next."""
            m.d.sync += left.eq(left - 1)
            with m.If(left == 0):
                m.d.comb += ends.eq(1)
                m.d.sync += fetching.eq(0)
                m.next = "CORE"
                with m.If(fetching & (kernel.operation != Operation.NONE)):
                    m.next = "REQUEST"

        operates = self.kernel.operation != Operation.NONE
        with m.FSM():
            with m.State("CORE"):
                with m.If(self.kernel.enable & (self.kernel.fetch | operates)):
                    m.d.sync += [kernel.eq(self.kernel), count.eq(count + 1),
                                 fetching.eq(self.kernel.fetch), left.eq(self.bypass_cycles - 1)]
                    m.next = "REQUEST"
                    with m.If(self.kernel.fetch & self.kernel.bypass):
                        m.next = "BYPASS"
            with m.State("REQUEST"):
                m.d.comb += source.valid.eq(1)
                with m.If(source.ready):
                    m.next = "WAIT"
                    with m.If(writes):
                        m.d.comb += ends.eq(1)
                        m.next = "CORE"
            with m.State("WAIT"):
                with m.If(sink.valid):
                    m.d.sync += [self.data.eq(sink.payload.data),
                                 left.eq(self.to_core_cycles - 1)]
                    m.next = "IN"
            with m.State("BYPASS"):
                with m.If(left == self.to_core_cycles):  # the word of the cycle before
                    m.d.sync += self.data.eq(self.word)
                after()
            with m.State("IN"):
                after()
        return m
