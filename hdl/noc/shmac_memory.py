"""RAM in a tile of SHMAC, at the router's slave port.

Part of the grid of SHMAC's tiles, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.noc.shmac_packet import DATA_BITS
from cyclebound.hdl.noc.shmac_core import MOST_CYCLES
from cyclebound.hdl.noc.shmac_packet import PacketLayout, answered
from cyclebound.hdl.parameters import check_integer

__all__ = ["ShmacMemory"]


class ShmacMemory(wiring.Component):
    """One access at a time, as long as it is told to take. The RAM itself needs one cycle.

    Latency: the response is on offer ``to_memory_cycles + memory_cycles`` after the request. The
    request is acknowledged one cycle before that, so that the router's input is free in the cycle
    after it.

    Parameters
    ----------
    words : int
        Words of RAM, a power of two; the upper bits of an address are not looked at.
    to_memory_cycles, memory_cycles : int
        Cycles from the request to the memory, from 1 on; and in it, from 2 on.
    late : bool
        A request with a response is acknowledged together with its response. Two cores that read
        each other's RAM then stop each other for ever; it is here to show that.

    Members
    -------
    sink, source : In, Out(stream of PacketLayout)
        From and to the router's slave port.
    busy, arrives : Out(1)
        Nothing may be granted to it; a packet is on its way to the memory.
    address : In, word : Out
        The second port: the word of the cycle before.
    """

    def __init__(self, *, words, to_memory_cycles, memory_cycles, late=False):
        check_integer("Cycles to the memory", to_memory_cycles, 1, MOST_CYCLES)
        check_integer("Cycles of the memory", memory_cycles, 2, MOST_CYCLES)
        self.to_memory_cycles, self.memory_cycles = to_memory_cycles, memory_cycles
        self.words, self.late = words, late
        packets = stream.Signature(PacketLayout())
        super().__init__({
            "sink": In(packets), "source": Out(packets), "busy": Out(1), "arrives": Out(1),
            "address": In(exact_log2(words)), "word": Out(DATA_BITS),
        })
        self._memory = Memory(shape=unsigned(DATA_BITS), depth=words, init=[])
        self._write, self._read = self._memory.write_port(), self._memory.read_port()
        self._second = self._memory.read_port()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self._memory
        sink, source, packet = self.sink, self.source, Signal.like(self.sink.payload)
        write, read, second = self._write, self._read, self._second
        m.d.comb += [
            write.addr.eq(sink.payload.address), write.data.eq(sink.payload.data),
            read.addr.eq(sink.payload.address), read.en.eq(0),
            second.addr.eq(self.address), second.en.eq(1), self.word.eq(second.data),
            source.payload.eq(packet), source.payload.response.eq(1),
        ]
        with m.If(packet.write):
            m.d.comb += source.payload.data.eq(0)
        with m.Else():
            m.d.comb += source.payload.data.eq(read.data)
        done = Signal()
        left = Signal(range(max(self.to_memory_cycles, self.memory_cycles - 1)))
        m.d.sync += left.eq(left - 1)
        early = ~answered(sink.payload) if self.late else 1
        with m.FSM() as fsm:
            with m.State("IDLE"):
                with m.If(sink.valid):
                    m.d.sync += left.eq(self.to_memory_cycles - 1)
                    m.next = "TO_MEMORY"
            with m.State("TO_MEMORY"):
                with m.If(left == 0):
                    m.d.comb += self.arrives.eq(1)
                    m.d.sync += left.eq(self.memory_cycles - 2)
                    m.next = "MEMORY"
            with m.State("MEMORY"):
                with m.If(left == 0):
                    m.d.comb += [sink.ready.eq(early), read.en.eq(1),
                                 write.en.eq(sink.payload.write)]
                    m.d.sync += packet.eq(sink.payload)
                    m.next = "LAST"
            with m.State("LAST"):  # cycle of the memory, and until the response is acknowledged
                m.d.comb += [source.valid.eq(answered(packet)),
                             done.eq(source.ready | ~answered(packet))]
                if self.late:
                    m.d.comb += sink.ready.eq(source.valid & source.ready)
                with m.If(done):
                    m.next = "IDLE"
            m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
        return m
