"""Recorder of the events of work-groups: launches, first commits, accesses, ends, completions.

Part of the accelerator's harness, whose model (golden/simd/accelerator.py), testbench and tests
cover it.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.parameters import check_power_of_two
from cyclebound.hdl.simd.interfaces import NUMBER_BITS

__all__ = ["CYCLE_BITS", "EventLayout", "EventRecorder", "RecordLayout"]

CYCLE_BITS = 40  # of a kernel's compute cycles, as of the accelerator's own count


class EventLayout(data.StructLayout):
    """The events of one compute cycle, as the accelerator's observer ports report them.

    ``launch``: a work-group, by ``number``, into ``launch_slot``. ``access``: one is committed by
    ``access_slot``, to its ``scratchpad`` or DRAM. ``ended``: the work-group of ``ended_slot``.
    ``over``, ``first``: slots whose access is over, and whose compute phase commits first.
    """

    def __init__(self):
        slot = ceil_log2(SLOTS)
        super().__init__({"launch": 1, "launch_slot": slot, "number": NUMBER_BITS,
                          "access": 1, "access_slot": slot, "scratchpad": 1,
                          "ended": 1, "ended_slot": slot, "over": SLOTS, "first": SLOTS})


class RecordLayout(data.StructLayout):
    """The events of a compute cycle in which there were any; the kernel's first cycle is 0."""

    def __init__(self):
        super().__init__({"cycle": CYCLE_BITS, "event": EventLayout()})


class EventRecorder(wiring.Component):
    """Counts a kernel's compute cycles, and keeps a record of each in which something happens.

    Latency: a record is on ``oldest`` in the cycle after its event, if it is the only one.

    Parameters
    ----------
    depth : int
        Records that it holds.

    Members
    -------
    begins : In(1)
        The first clock of a kernel, which is of its compute cycle 0.
    stall : In(1)
        The compute cycle does not end with this clock; only events of its last clock count.
    idle : In(1)
        The kernel is over with this clock.
    event : In(EventLayout)
        The events of this clock.
    level : Out
        Records held.
    oldest : Out(RecordLayout)
        The first of them.
    next : In(1)
        Drop the oldest record, if there is one.
    lost : Out(1)
        A record found no room in this clock.
    """

    def __init__(self, *, depth):
        check_power_of_two("depth", depth, 2)
        self.depth = depth
        super().__init__({
            "begins": In(1), "stall": In(1), "idle": In(1), "event": In(EventLayout()),
            "level": Out(range(depth + 1)), "oldest": Out(RecordLayout()), "next": In(1),
            "lost": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        running, active, event_valid = Signal(), Signal(), Signal()
        cycle, counted = Signal(CYCLE_BITS), Signal(CYCLE_BITS)
        event = self.event
        m.d.comb += [
            active.eq(self.begins | running),
            cycle.eq(Mux(self.begins, 0, counted)),
            event_valid.eq(active & ~self.stall & (event.launch | event.access | event.ended
                                                   | event.over.any() | event.first.any())),
        ]
        m.d.sync += running.eq(active & ~self.idle)
        with m.If(active):
            m.d.sync += counted.eq(cycle + ~self.stall)

        m.submodules.records = records = Memory(shape=RecordLayout(), depth=self.depth, init=[])
        write, read = records.write_port(), records.read_port(domain="comb")
        head, tail = Signal(range(self.depth)), Signal(range(self.depth))
        full, keeps, drops = Signal(), Signal(), Signal()
        m.d.comb += [
            full.eq(self.level == self.depth), keeps.eq(event_valid & ~full),
            self.lost.eq(event_valid & full), drops.eq(self.next & (self.level != 0)),
            write.addr.eq(tail), write.data.cycle.eq(cycle), write.data.event.eq(event),
            write.en.eq(keeps), read.addr.eq(head), self.oldest.eq(read.data),
        ]
        m.d.sync += [tail.eq(tail + keeps), head.eq(head + drops),
                     self.level.eq(self.level + keeps - drops)]
        return m
