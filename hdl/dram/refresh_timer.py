"""Counts the refreshes that a DRAM is owed.

Ref: Sim-D, section 3.2 (refreshes wait until a request has been carried out); JESD79-4, REF
command (8 may be postponed).
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["RefreshTimer"]


class RefreshTimer(wiring.Component):
    """Refreshes fall due at a fixed interval, and may be postponed.

    Latency: none; a refresh is owed from the very cycle in which it falls due. These are the
    cycles ``interval``, ``2 * interval``, ..., counted from 0 after reset.

    As long as ``late`` is not set, a refresh is done within ``most * interval`` cycles of falling
    due, and any two are less than ``(most + 1) * interval`` apart. With ``most`` = 8 and
    ``interval`` = nREFI these are JEDEC's two limits, less a cycle: JEDEC allows a REF in the very
    cycle in which the ninth falls due, and here that is late.

    Parameters
    ----------
    interval : int
        DRAM cycles from one refresh to the next (nREFI, rounded down), at least 2.
    most : int
        Refreshes that may be owed, at least 1.

    Members
    -------
    done : In(1)
        REF is issued in this cycle. Ignored while none is owed: a refresh ahead of time does not
        count.
    request : Out(1)
        At least one is owed.
    owed : Out(range(most + 1))
        Refreshes owed.
    urgent : Out(1)
        ``most`` are owed: one must be done before the next falls due.
    late : Out(1)
        A refresh fell due while ``most`` were owed. It is dropped; the flag stays until reset.
    """

    def __init__(self, *, interval, most=8):
        check_integer("Refresh interval", interval, 2)
        check_integer("Most refreshes owed", most, 1)
        self.interval, self.most = interval, most
        super().__init__({"done": In(1), "request": Out(1), "owed": Out(range(most + 1)),
                          "urgent": Out(1), "late": Out(1)})
        # the state; a proof has to speak of it
        self.left = Signal(range(interval), init=interval - 1)  # cycles of the interval after this

    def elaborate(self, platform):
        m = Module()

        falls = Signal()  # one falls due in the next cycle
        m.d.comb += falls.eq(self.left == 0)
        with m.If(falls):
            m.d.sync += self.left.eq(self.interval - 1)
        with m.Else():
            m.d.sync += self.left.eq(self.left - 1)

        taken = Signal()
        m.d.comb += taken.eq(self.done & self.request)
        with m.If(falls & ~taken):
            with m.If(self.urgent):
                m.d.sync += self.late.eq(1)
            with m.Else():
                m.d.sync += self.owed.eq(self.owed + 1)
        with m.Elif(~falls & taken):
            m.d.sync += self.owed.eq(self.owed - 1)

        m.d.comb += [self.request.eq(self.owed != 0), self.urgent.eq(self.owed == self.most)]

        return m
