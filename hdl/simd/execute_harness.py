"""Operands and checksums for an arithmetic unit, in hardware: millions of operations in seconds.

Each operand is an arithmetic progression modulo 2**32: with an odd stride near 2**32 times the
golden ratio, any stretch of it is spread evenly over all exponents and fractions. Two sums of
the results, one of them weighted by place, stand for all of them; software knows both, and finds
the first wrong result by asking for shorter stretches.

It has no model of its own: what it must measure are the bounds in
golden/simd/arithmetic_bounds.py, and results as the units' models have them. tb/simd/execute.py
drives it, for tb/simd/lane_harness.py and tb/simd/special_functions_harness.py;
tests/simd/test_special_functions_hardware.py tests it.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.harness.latency_recorder import LatencyRecorder
from cyclebound.hdl.simd.lane import Lane
from cyclebound.hdl.simd.special_functions import SpecialFunctions

__all__ = ["ExecuteHarness", "LaneHarness", "SpecialFunctionsHarness"]


class ExecuteHarness(wiring.Component):
    """A unit between its operands and its recorder.

    Parameters
    ----------
    unit : wiring.Component
        With the inputs ``valid``, the selector and the operands, and the outputs ``done`` and
        ``result``.
    selector : str
        The input that selects the operation.
    operands : tuple of str
        Its operand inputs, of 32 bits.

    Members
    -------
    start : In(1)
        Begin a measurement; all inputs are read then.
    select : In(shape of the selector)
        The operation, the same for all operands.
    count : In(32)
        Operations, at least 1, one in each cycle.
    first, stride : In(32).array(operands)
        Progression of each operand.
    done : Out(1)
        All results have been seen.
    sum : Out(64)
        Of the results.
    weighted : Out(64)
        Of the sums after each result: the first result counts ``count`` times, the last one once.
    results, minimum, maximum : Out(32)
        Results seen, and their least and greatest latency.
    cycles : Out(32)
        From the first operands to the last result, both included.
    fault : Out(1)
        A result without an operation, or more under way than the unit has room for.
    """

    def __init__(self, unit, *, selector, operands):
        self.unit, self.selector, self.operands = unit, selector, operands
        super().__init__({
            "start": In(1), "select": In(getattr(unit, selector).shape()), "count": In(32),
            "first": In(32).array(len(operands)), "stride": In(32).array(len(operands)),
            "done": Out(1), "sum": Out(64), "weighted": Out(64), "results": Out(32),
            "minimum": Out(32), "maximum": Out(32), "cycles": Out(32), "fault": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self.unit
        m.submodules.recorder = recorder = LatencyRecorder(depth=1, bins=2,
                                                           in_flight=unit.stages + 1)
        select = Signal.like(self.select)
        count, left, due = Signal(32), Signal(32), Signal(32)  # to begin, to end
        starting, running = Signal(), Signal()

        with m.If(self.start):
            m.d.sync += [select.eq(self.select), count.eq(self.count), starting.eq(1),
                         running.eq(0), self.done.eq(0), self.sum.eq(0), self.weighted.eq(0),
                         self.cycles.eq(0)]
        with m.Elif(starting & ~recorder.busy & ~recorder.clear):
            m.d.sync += [starting.eq(0), running.eq(1), left.eq(count), due.eq(count)]
        m.d.comb += [recorder.clear.eq(self.start), unit.valid.eq(running & (left != 0)),
                     getattr(unit, self.selector).eq(select),
                     recorder.accept.eq(unit.valid), recorder.complete.eq(unit.done)]
        for number, name in enumerate(self.operands):
            value, stride = Signal(32, name=f"value_{number}"), Signal(32, name=f"step_{number}")
            m.d.comb += getattr(unit, name).eq(value)
            with m.If(self.start):
                m.d.sync += [value.eq(self.first[number]), stride.eq(self.stride[number])]
            with m.Elif(unit.valid):
                m.d.sync += value.eq(value + stride)

        total = Signal(64)
        m.d.comb += total.eq(self.sum + unit.result)
        with m.If(running):
            m.d.sync += [self.cycles.eq(self.cycles + 1), left.eq(left - unit.valid)]
            with m.If(unit.done):
                m.d.sync += [self.sum.eq(total), self.weighted.eq(self.weighted + total),
                             due.eq(due - 1)]
                with m.If(due == 1):
                    m.d.sync += running.eq(0)
        settle = Signal(2)  # the recorder's results come two cycles after the last one
        m.d.sync += settle.eq(settle << 1 | (running & unit.done & (due == 1)))
        with m.If(settle[-1]):
            m.d.sync += self.done.eq(1)
        m.d.comb += [self.results.eq(recorder.count), self.minimum.eq(recorder.minimum),
                     self.maximum.eq(recorder.maximum),
                     self.fault.eq(recorder.overflow | recorder.underflow)]
        return m


class SpecialFunctionsHarness(ExecuteHarness):
    """Harness of the reciprocal unit `SpecialFunctions`, with the same parameters."""

    def __init__(self, *, stages):
        super().__init__(SpecialFunctions(stages=stages), selector="function",
                         operands=("operand",))


class LaneHarness(ExecuteHarness):
    """Harness of the `Lane`, with the same parameters."""

    def __init__(self, *, stages):
        super().__init__(Lane(stages=stages), selector="operation", operands=("a", "b", "c"))
