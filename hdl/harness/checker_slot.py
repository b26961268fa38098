"""Sticky flags for the faults that checkers in hardware find."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["CheckerSlot"]


class CheckerSlot(wiring.Component):
    """Remembers which faults ever occurred, and when the first of them did.

    Latency: one cycle from ``faults`` to the outputs. Cycles are counted from reset, the first
    one being 0, as in ``LatencyRecorder``; ``clear`` does not restart the count.

    Parameters
    ----------
    count : int
        Number of faults watched, at least 1.
    cycle_width : int
        Bits of the cycle counter; a run is shorter than ``2**cycle_width`` cycles.

    Members
    -------
    faults : In(count)
        Bit *i*: fault *i* occurs in this cycle.
    clear : In(1)
        Forget everything, the faults of this cycle included.
    failed : Out(count)
        Faults that occurred so far.
    any : Out(1)
        There was a fault.
    first_cycle : Out(cycle_width)
        Cycle of the first fault; 0 if there was none.
    """

    def __init__(self, *, count, cycle_width=32):
        check_integer("Fault count", count, least=1)
        check_integer("Cycle counter width", cycle_width, least=1)
        self.count = count
        self.cycle_width = cycle_width
        super().__init__({
            "faults": In(count),
            "clear": In(1),
            "failed": Out(count),
            "any": Out(1),
            "first_cycle": Out(cycle_width),
        })

    def elaborate(self, platform):
        m = Module()

        cycle = Signal(self.cycle_width)
        m.d.sync += cycle.eq(cycle + 1)

        m.d.comb += self.any.eq(self.failed.any())
        with m.If(self.clear):
            m.d.sync += [self.failed.eq(0), self.first_cycle.eq(0)]
        with m.Else():
            m.d.sync += self.failed.eq(self.failed | self.faults)
            with m.If(self.faults.any() & ~self.any):
                m.d.sync += self.first_cycle.eq(cycle)

        return m
