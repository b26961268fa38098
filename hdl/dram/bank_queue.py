"""The FIFO of one bank's work, with its head in registers.

Part of the command generator, whose model and testbench cover it, and
tests/dram/test_bank_queue.py by itself.

Ref: Sim-D, section 3.2.2.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.hdl.parameters import check_power_of_two

__all__ = ["BankOperationLayout", "BankQueue"]


class BankOperationLayout(data.StructLayout):
    """Work for one bank: ``conflict`` precharge, ``activate``, read or write, ``close``.

    With ``precharge_only`` it is a single precharge. ``column`` counts bursts.
    """

    def __init__(self, *, part):
        super().__init__({
            "row": (part.rows - 1).bit_length(), "column": (part.bursts_per_row - 1).bit_length(),
            "write": 1, "conflict": 1, "activate": 1, "close": 1, "precharge_only": 1})


class BankQueue(wiring.Component):
    """A head, fed from a FIFO.

    Latency: what is pushed into an empty queue is its head in the next cycle. Throughput: a push
    and a pop in every cycle.

    Parameters
    ----------
    shape : layout
        Of an operation.
    depth : int
        Operations after the head, a power of two.

    Members
    -------
    push : In(1)
        Append ``operation``; never while ``full``.
    operation : In(shape)
        What to append.
    pop : In(1)
        Remove the head; never without ``valid``.
    valid : Out(1)
        There is a head.
    head : Out(shape)
        The oldest operation.
    waiting : Out(range(depth + 1))
        Operations after the head.
    full : Out(1)
        There is no place for another entry.

    Attributes
    ----------
    newest, oldest : Signal
        Where in memory the next one after the head goes, and where the next head comes from.
    """

    def __init__(self, *, shape, depth=FIFO_DEPTH):
        check_power_of_two("depth", depth)
        self.depth = depth
        super().__init__({"push": In(1), "operation": In(shape), "pop": In(1), "valid": Out(1),
                          "head": Out(shape), "waiting": Out(range(depth + 1)), "full": Out(1)})
        self.newest, self.oldest = Signal(range(depth)), Signal(range(depth))
        self._memory = Memory(shape=shape, depth=depth, init=[])
        self._write = self._memory.write_port()
        self._read = self._memory.read_port(domain="comb")

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self._memory
        write, read = self._write, self._read
        level, newest, oldest = self.waiting, self.newest, self.oldest

        # The head is replaced when it is popped, or when there is none: by the oldest that
        # waits, or by what is pushed if none does.
        free = ~self.valid | self.pop
        straight = Signal()
        m.d.comb += straight.eq(free & (level == 0))
        stored, fetched = Signal(), Signal()
        m.d.comb += [
            stored.eq(self.push & ~straight),
            fetched.eq(free & (level != 0)),
            self.full.eq(level[-1]),  # a power of two, and never more
            write.addr.eq(newest), write.data.eq(self.operation), write.en.eq(stored),
            read.addr.eq(oldest),
        ]
        m.d.sync += [
            newest.eq(newest + stored),
            oldest.eq(oldest + fetched),
            level.eq(level + stored - fetched),
            self.valid.eq(Mux(free, self.push | (level != 0), 1)),
        ]
        with m.If(free):
            m.d.sync += self.head.eq(Mux(level == 0, self.operation, read.data))
        return m
