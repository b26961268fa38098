"""Counts the refreshes that a DRAM is owed.

Ref: Sim-D, section 3.2 (refreshes wait until a request has been carried out); JESD79-4, REF
command (8 may be postponed).
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

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
        How many may be owed, at least 1.

    Members
    -------
    done : In(1)
        REF is issued in this cycle. Ignored while none is owed: a refresh ahead of time does not
        count.
    request : Out(1)
        At least one is owed.
    owed : Out(range(most + 1))
        How many are.
    urgent : Out(1)
        ``most`` are: the next must not fall due before one of them is done.
    late : Out(1)
        One did. It is forgotten, and this is set until reset.
    """

    def __init__(self, *, interval, most=8):
        for thing, value, least in (("Refresh interval", interval, 2),
                                    ("Most refreshes owed", most, 1)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{thing} must be an integer, not {value!r}")
            if value < least:
                raise ValueError(f"{thing} must be at least {least}, not {value}")
        self.interval, self.most = interval, most
        super().__init__({"done": In(1), "request": Out(1), "owed": Out(range(most + 1)),
                          "urgent": Out(1), "late": Out(1)})
        # the state; a proof has to speak of it
        self.left = Signal(range(interval), init=interval - 1)  # of this interval, after this one

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
