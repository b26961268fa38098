"""Properties of a lane: its latency, exact integers and words, a single NaN."""

from amaranth.hdl import Array, Assert, Cat, Const, Cover, Module, Mux, Signal, Value

from cyclebound.golden.simd.lane_operations import LaneOperation as Op
from cyclebound.golden.simd.special_tables import NAN
from cyclebound.tb.watcher import Watcher, delayed

__all__ = ["LaneCheck"]

_FLOATS = (Op.FADD, Op.FSUB, Op.FMUL, Op.FNMUL, Op.FMAD, Op.FNMAD, Op.FMIN, Op.FMAX, Op.I2F)


class LaneCheck(Watcher):
    """A result comes ``stages`` cycles after its operands, and is what the operation says.

    Of operations without a shift, a product or a rounding: all of the result. Of floating point:
    that a NaN is `NAN`.

    Parameters
    ----------
    target : Lane
        The lane, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self.stages = target.stages

    def elaborate(self, platform):
        m = Module()
        inputs = delayed(m, Cat(self.valid, self.operation, self.a, self.b), self.stages)
        due, operation, a, b = inputs[0], inputs[1:7], inputs[7:39], inputs[39:]
        less, zero = a.as_signed() < b.as_signed(), ~a.any()
        results: dict[int, Value] = {
            Op.MOV: a, Op.FABS: a[:-1], Op.AND: a & b, Op.OR: a | b, Op.XOR: a ^ b, Op.NOT: ~a,
            Op.IADD: a + b, Op.ISUB: a - b, Op.INEG: -a,
            Op.IMIN: Mux(less, a, b), Op.IMAX: Mux(less, b, a),
            Op.ITEST_EZ: zero, Op.ITEST_NZ: ~zero, Op.ITEST_G: ~a[-1] & ~zero, Op.ITEST_GE: ~a[-1],
            Op.ITEST_L: a[-1], Op.ITEST_LE: a[-1] | zero,
        }
        modelled = Array([Const(number in results, 1) for number in range(64)])[operation]
        expected = Signal(32)
        m.d.comb += expected.eq(
            Array([results.get(number, Const(0)) for number in range(64)])[operation])
        floats = Array([Const(number in _FLOATS, 1) for number in range(64)])[operation]
        nan = self.result[:-1] > 0x7F80_0000
        m.d.sync += [
            Assert(self.done == due, "a result at the wrong time"),
            Assert(~due | ~modelled | (self.result == expected), "not what the operation says"),
            Assert(~due | ~floats | ~nan | (self.result == NAN), "another NaN"),
            Cover(due & floats & ~nan, "a number"),
        ]
        return m
