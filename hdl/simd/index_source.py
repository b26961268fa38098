"""Indexes of an indexed access, item by item, for the DRAM controller.

Part of the transfer unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.2.
"""

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import COUNT_BITS, WORD_BITS
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.dram.layouts import IndexLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.interfaces import IndexWriteLayout

__all__ = ["IndexSource"]


class IndexSource(wiring.Component):
    """Indexes of the request that was started last: those of its active items, and an end.

    Latency: the first item's index is there in the cycle after ``started``. An item is examined in
    each cycle, active or not: what the controller does not take at once waits in a queue.

    Parameters
    ----------
    machine : Machine
        Sizes.

    Members
    -------
    started : In(1)
        Of the DRAM controller.
    latest : In(1)
        The slot whose request the controller took last.
    indexed, running, done : In(2)
        Slots whose job is indexed, runs, is over.
    active : In(items) times 2, index_write : In(Strobe(IndexWriteLayout))
        Of the compute unit.
    indexes : Out(stream of IndexLayout)
        For the DRAM controller.
    out_of_range : Out(2)
        Slots of which an active item's index has more bits than the controller's, until they are
        done.
    """

    def __init__(self, *, machine):
        self.machine = machine
        super().__init__({
            "started": In(1), "latest": In(range(SLOTS)),
            "indexed": In(SLOTS), "running": In(SLOTS), "done": In(SLOTS),
            "active": In(machine.items).array(SLOTS),
            "index_write": In(Strobe(IndexWriteLayout(machine=machine))),
            "indexes": Out(stream.Signature(data.Layout.cast(IndexLayout))),
            "out_of_range": Out(SLOTS),
        })

    def elaborate(self, platform):
        m = Module()
        items, lanes = self.machine.items, self.machine.lanes
        item, examined = Signal(range(items + 1)), Signal(range(items + 1))
        examining, valid = Signal(), Signal()
        starts = self.started & (self.indexed & self.running).bit_select(self.latest, 1)
        slot = Signal(range(SLOTS))  # kept: the controller takes the next request meanwhile
        with m.If(starts):
            m.d.sync += slot.eq(self.latest)
        m.d.comb += examining.eq(starts | (item != 0))
        with m.If(examining):
            m.d.sync += item.eq(Mux(item == items, 0, item + 1))
        m.d.sync += [valid.eq(examining), examined.eq(item)]

        index, element = Signal(WORD_BITS), Signal(IndexLayout)
        copies = self._copies(m, item >> ceil_log2(lanes))
        active = Array(self.active)[slot].bit_select(examined[:ceil_log2(items)], 1)
        large, end = index[COUNT_BITS:30].any(), examined == items
        m.d.comb += [index.eq(Array(copies)[slot][examined[:ceil_log2(lanes)]]),
                     element.index.eq(index), element.target.eq(examined), element.end.eq(end)]
        m.d.sync += self.out_of_range.eq(
            (self.out_of_range & ~self.done)
            | Mux(valid & ~end & active & large, 1 << slot, 0))
        self._queue(m, valid & (end | (active & ~large)), element)
        return m

    def _copies(self, m, warp):
        """Each slot's indexes of a warp, a cycle after it was asked for.

        They are read from a copy of `mem_idx`, which only the pipeline writes: the registers' own
        would be in the way of the words that a store asks for meanwhile.
        """
        copies, write = [], self.index_write
        for number in range(SLOTS):
            m.submodules[f"copy_{number}"] = copy = Memory(
                shape=data.ArrayLayout(unsigned(WORD_BITS), self.machine.lanes),
                depth=self.machine.warps, init=[])
            write_port, read_port = copy.write_port(granularity=1), copy.read_port()
            m.d.comb += [
                write_port.addr.eq(write.payload.warp), write_port.data.eq(write.payload.item),
                write_port.en.eq(Mux(write.valid & ~write.payload.is_data
                                     & (write.payload.slot == number), write.payload.enable, 0)),
                read_port.addr.eq(warp),
            ]
            copies.append(read_port.data)
        return copies

    def _queue(self, m, valid, element):
        """Elements go on at once, or wait where others do or the controller is not ready."""
        items = self.machine.items
        m.submodules.queue = queue = Memory(shape=IndexLayout, depth=items, init=[])
        write, read = queue.write_port(), queue.read_port(domain="comb")
        head, tail, level = Signal(range(items)), Signal(range(items)), Signal(range(items + 1))
        bypass, push, pop = level == 0, Signal(), Signal()
        m.d.comb += [
            self.indexes.valid.eq(valid | ~bypass),
            self.indexes.payload.eq(Mux(bypass, element, read.data)),
            pop.eq(self.indexes.ready & ~bypass),
            push.eq(valid & ~(bypass & self.indexes.ready)),
            write.addr.eq(tail), write.data.eq(element), write.en.eq(push), read.addr.eq(head),
        ]
        m.d.sync += [tail.eq(tail + push), head.eq(head + pop), level.eq(level + push - pop)]
