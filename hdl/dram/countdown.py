"""Counters of the cycles until a command is legal.

Part of the command arbiter, whose model and testbench cover it; alone,
tests/dram/test_countdown.py.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["Countdown", "Window"]


class Countdown(wiring.Component):
    """Ready again ``cycles`` after ``start``.

    Parameters
    ----------
    cycles : int
        At least 1.

    Members
    -------
    start : In(1)
        A command in this cycle.
    ready : Out(1)
        The last start was ``cycles`` or more cycles ago; set after reset. A register.
    soon : Out(1)
        What ``ready`` will be in the next cycle.

    Attributes
    ----------
    left : Signal
        Cycles until it is ready, minus one; while it is not ready.
    """

    def __init__(self, *, cycles):
        check_integer("cycles", cycles, 1)
        self.cycles = cycles
        super().__init__({"start": In(1), "ready": Out(1, init=1), "soon": Out(1)})
        self.left = Signal(range(cycles))

    def elaborate(self, platform):
        m = Module()
        left = self.left
        with m.If(self.start):
            m.d.sync += left.eq(max(self.cycles - 2, 0))
        with m.Elif(~self.ready):
            m.d.sync += left.eq(left - 1)
        m.d.comb += self.soon.eq(Mux(self.start, self.cycles == 1, self.ready | (left == 0)))
        m.d.sync += self.ready.eq(self.soon)
        return m


class Window(wiring.Component):
    """Ready while fewer than ``most`` starts lie within the last ``cycles`` - 1 cycles.

    For the four-activate window: the next may come ``cycles`` after the fourth before it.

    Parameters
    ----------
    cycles : int
        Length of the window; 0 or 1: always ready.
    most : int
        Starts that fit into a window.

    Members
    -------
    start : In(1)
        A command in this cycle.
    ready : Out(1)
        One more is legal in this cycle. A register.
    soon : Out(1)
        What ``ready`` will be in the next cycle.

    Attributes
    ----------
    past, in_window : Signal
        The starts in the last ``cycles`` - 1 cycles, the last one lowest; how many they are.
    """

    def __init__(self, *, cycles, most=4):
        check_integer("cycles", cycles, 0)
        check_integer("most", most, 1)
        self.cycles, self.most = cycles, most
        super().__init__({"start": In(1), "ready": Out(1, init=1), "soon": Out(1)})
        # a start counts in each of the `cycles - 1` cycles that follow it
        self.past, self.in_window = Signal(max(cycles - 1, 0)), Signal(range(most + 1))

    def elaborate(self, platform):
        m = Module()
        if self.cycles < 2:
            m.d.comb += self.soon.eq(1)
            return m
        past, in_window = self.past, self.in_window
        counts = in_window - past[-1]  # in the next cycle, without a start in this one
        m.d.comb += self.soon.eq(Mux(self.start, counts < self.most - 1, counts < self.most))
        m.d.sync += [past.eq((past << 1) | self.start), in_window.eq(counts + self.start),
                     self.ready.eq(self.soon)]
        return m

