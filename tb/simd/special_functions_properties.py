"""Bound checker of the reciprocal unit: its latency, and the rules of signs and special numbers."""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal

from cyclebound.golden.simd.special_tables import NAN, SpecialFunction
from cyclebound.tb.watcher import Watcher, delayed

__all__ = ["SpecialFunctionsCheck", "SpecialFunctionsRangeCheck"]

_INFINITY, _ONE = 0x7F80_0000, 0x3F80_0000


class SpecialFunctionsCheck(Watcher):
    """A result comes ``stages`` cycles after its operand; NaN and signs are as IEEE 754 has them.

    Parameters
    ----------
    target : SpecialFunctions
        The unit, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self.stages = target.stages
        self.function_due, self.operand_due = Signal(2), Signal(32)  # of the result in this cycle

    def elaborate(self, platform):
        m = Module()
        inputs = delayed(m, Cat(self.valid, self.function, self.operand), self.stages)
        due = inputs[0]
        m.d.comb += [self.function_due.eq(inputs[1:3]), self.operand_due.eq(inputs[3:])]

        operand, result = self.operand_due, self.result
        magnitude, sign = operand[:-1], operand[-1]
        circular = self.function_due[1]
        root = self.function_due == SpecialFunction.RSQRT
        invalid = (magnitude > _INFINITY) | Mux(circular, magnitude == _INFINITY,
                                                root & sign & magnitude.any())
        signed = (self.function_due == SpecialFunction.RCP) | (root & ~magnitude.any())
        m.d.sync += [
            Assert(self.done == due, "a result at the wrong time"),
            Assert(~due | ~invalid | (result == NAN), "an invalid operation has a result"),
            Assert(~due | invalid | (result[:-1] <= _INFINITY), "NaN of a valid operation"),
            Assert(~due | invalid | circular | (result[-1] == (sign & signed)), "wrong sign"),
            Cover(due & ~invalid, "a number"),
        ]
        return m


class SpecialFunctionsRangeCheck(SpecialFunctionsCheck):
    """`SpecialFunctionsCheck`, and that no sine is greater than 1."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        angle = self.function_due[1] & (self.operand_due[:-1] < _INFINITY)
        m.d.sync += Assert(~self.done | ~angle | (self.result[:-1] <= _ONE), "greater than 1")
        return m
