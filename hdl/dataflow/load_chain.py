"""Two loads in a chain and an adder: the graph of the paper's deadlock.

Ref: SGMF, Figure 4.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.hdl.dataflow.layouts import MemoryRequestLayout, MemoryResponseLayout, TokenLayout
from cyclebound.hdl.dataflow.load_store_unit import LoadStoreUnit
from cyclebound.hdl.dataflow.thread_source import ThreadSource
from cyclebound.hdl.dataflow.token_buffer import TokenBuffer
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer

__all__ = ["LoadChain"]


class LoadChain(wiring.Component):
    """``array[array[thread]] + constant`` for a number of threads.

    A source of thread numbers feeds the first load, whose result is the index of the second; its
    result and a constant, from a source of its own, meet in the adder's token buffer. The adder
    has no pipeline: sums follow the buffer at once.

    Parameters
    ----------
    depth : int
        Entries of all token and reservation buffers.
    tid_width : int
        Bits of a thread identifier.
    threads : int
        How many threads are started, once, after reset.
    width : int
        Bits of a value, and of an address.
    epochs : bool
        Of the load units.

    Members
    -------
    memory : Out(signature).array(2)
        ``request`` and ``response`` of each of the loads.
    enables : Out(stream of TokenLayout).array(2)
        The enable tokens of both loads, for accesses that come after them.
    faults : Out(Strobe(TokenLayout)).array(2)
        Reports of the loads; none occur, since every address is within the buffers.
    sums : Out(stream of TokenLayout)
        The sums, thread by thread in any order.
    """

    CONSTANT = 5

    def __init__(self, *, depth, tid_width, threads, width=8, epochs=True):
        check_integer("width", width, least=1, most=32)
        check_integer("thread count", threads, least=1, most=2**tid_width)
        self.depth, self.tid_width, self.threads = depth, tid_width, threads
        self.width, self.epochs = width, epochs
        self.loads = [LoadStoreUnit(depth=depth, tid_width=tid_width, address_width=width,
                                    width=width, epochs=epochs) for _ in range(2)]
        self.adder = TokenBuffer(operands=2, depth=depth, tid_width=tid_width, width=width)
        tag = exact_log2(depth)
        memory = wiring.Signature({
            "request": Out(stream.Signature(MemoryRequestLayout(
                tag_width=tag, address_width=width, width=width))),
            "response": In(Strobe(MemoryResponseLayout(tag_width=tag, width=width))),
        })
        token = TokenLayout(tid_width=tid_width, width=width)
        super().__init__({
            "memory": Out(memory).array(2),
            "enables": Out(stream.Signature(token)).array(2),
            "faults": Out(Strobe(token)).array(2),
            "sums": Out(stream.Signature(token)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.adder = adder = self.adder
        numbers, constants = (ThreadSource(tid_width=self.tid_width, width=self.width)
                              for _ in range(2))
        m.submodules.numbers, m.submodules.constants = numbers, constants
        began = Signal()
        m.d.sync += began.eq(1)
        for source in (numbers, constants):
            m.d.comb += [source.start.eq(~began), source.configuration.threads.eq(self.threads)]
        m.d.comb += [numbers.configuration.number.eq(1),
                     constants.configuration.value.eq(self.CONSTANT)]

        token = numbers.tokens
        for number, (load, memory) in enumerate(zip(self.loads, self.memory, strict=True)):
            m.submodules[f"load_{number}"] = load
            wiring.connect(m, token, load.operands[0])
            wiring.connect(m, load.request, wiring.flipped(memory.request))
            wiring.connect(m, wiring.flipped(memory.response), load.response)
            wiring.connect(m, load.enable, wiring.flipped(self.enables[number]))
            wiring.connect(m, load.fault, wiring.flipped(self.faults[number]))
            m.d.comb += load.configuration.size.eq(1 << self.width)
            token = load.result
        wiring.connect(m, token, adder.operands[0])
        wiring.connect(m, constants.tokens, adder.operands[1])
        values = adder.fire.payload["values"]
        m.d.comb += [
            adder.needed.eq(0b11),
            self.sums.valid.eq(adder.fire.valid),
            adder.fire.ready.eq(self.sums.ready),
            self.sums.payload.tid.eq(adder.fire.payload.tid),
            self.sums.payload.data.eq(values[0] + values[1]),
        ]
        return m
