"""Everything that a compute unit does but floating-point arithmetic.

Part of the compute unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.operations import Operation

__all__ = ["ALU_STAGES", "IntegerAlu"]

ALU_STAGES = 3
_BIAS, _FRACTION = 127, 23


class IntegerAlu(wiring.Component):
    """Integers, comparisons of either kind, selection, and floats to integers.

    Latency: `ALU_STAGES` enabled cycles. Throughput: one per cycle. For operations that are not
    its own, the result means nothing.

    Members
    -------
    enable : In(1)
        The pipeline moves.
    operation : In(Operation)
        Configuration.
    x, y, z : In(32)
        Operands.
    result : Out(32)
        Result.
    """

    def __init__(self):
        super().__init__({"enable": In(1), "operation": In(unsigned(5)),
                          **{name: In(32) for name in "xyz"}, "result": Out(32)})

    def elaborate(self, platform):
        m = Module()
        a, b, c, operation = self.x, self.y, self.z, self.operation

        def register(value, name):
            held = Signal(value.shape(), name=name, reset_less=True)
            with m.If(self.enable):
                m.d.sync += held.eq(value)
            return held

        def of(*operations):
            return Cat(operation == op for op in operations).any()

        # 1: sums, differences, orders, one shifter for all, products of halves
        total, difference = register((a + b)[:32], "total"), register(a - b, "difference")
        logic = register(Mux(operation == Operation.AND, a & b,
                             Mux(operation == Operation.OR, a | b, a ^ b)), "logic")
        equal = register(a == b, "equal")
        signs = register(Cat(a[-1], b[-1]), "signs")
        zeros = register(~Cat(a[:-1].any(), b[:-1].any()), "zeros")  # of either sign, as floats
        nan = register(Cat(self._is_nan(a), self._is_nan(b)), "nan")
        chosen = register(Mux(a.any(), b, c), "chosen")
        products = [[register((a.word_select(i, 16) * b.word_select(j, 16)), f"product_{i}{j}")
                     for j in range(2 - i)] for i in range(2)]
        first, second = register(a, "first"), register(b, "second")
        # left shifts are right shifts of what is turned round
        left = operation == Operation.SHL
        turned = Mux(left, a[::-1], a)
        fill = (operation == Operation.SRA) & a[-1]
        shifted = register((Cat(turned, fill).as_signed() >> b[:5])[:32].as_unsigned(), "shifted")
        integer_part, too_large = self._integer_part(m, a)
        whole, huge = register(integer_part, "whole"), register(too_large, "huge")

        # 2: what each of them means
        below = register(difference[32], "below")
        order = register(signs[0] ^ signs[1] ^ difference[32], "order")  # as signed integers
        same = register(equal, "same")
        # as floats: opposite signs decide, unless both are zero; else magnitudes do
        unordered = register(nan.any(), "unordered")
        float_same = register(equal | zeros.all(), "float_same")
        float_below = register(Mux(signs[0] ^ signs[1], signs[0] & ~zeros.all(),
                                   (difference[32] ^ signs[0]) & ~equal), "float_below")
        low = register((products[0][0] + ((products[0][1] + products[1][0]) << 16))[:32], "low")
        limit = Mux(signs[0], 0x8000_0000, 0x7FFF_FFFF)
        integer = register(Mux(nan[0], 0, Mux(huge, limit, Mux(signs[0], -whole, whole)))[:32],
                           "integer")
        least = operation == Operation.MIN
        smaller = signs[0] ^ signs[1] ^ difference[32]
        extreme = register(Mux(smaller == least, first, second), "extreme")
        simple = register(Mux(of(Operation.ADD), total, Mux(
            of(Operation.SUB), difference[:32], Mux(
                of(Operation.SHL, Operation.SHR, Operation.SRA),
                Mux(left, shifted[::-1], shifted),
                Mux(of(Operation.SELECT), chosen, logic)))), "simple")

        # 3: one of them
        flags = {Operation.EQ: same, Operation.NE: ~same, Operation.LT: order,
                 Operation.LE: order | same, Operation.LTU: below, Operation.LEU: below | same,
                 Operation.FEQ: float_same & ~unordered, Operation.FLT: float_below & ~unordered,
                 Operation.FLE: (float_below | float_same) & ~unordered}
        with m.If(self.enable):
            m.d.sync += self.result.eq(self._chosen(of, flags, low, integer, extreme, simple))
        return m

    def _integer_part(self, m, a):
        """A float's integer part, its significand from the top of 32 bits down; whether it exceeds
        them."""
        field = a[_FRACTION:-1]
        distance = Signal(range(-128, 256))
        m.d.comb += distance.eq(_BIAS + 31 - field)
        significand = Cat(Const(0, 8), a[:_FRACTION], Const(1, 1))
        out_of_range = distance[5:8].any() | (distance < 0)
        return Mux(out_of_range, 0, significand >> distance[:5]), distance <= 0

    def _chosen(self, of, flags, low, integer, extreme, simple):
        """The result of the operation; a comparison's is its flag."""
        flag = Array([flags.get(number, Const(0, 1)) for number in range(32)])[
            self.operation]
        result = simple
        for operations, value in (((Operation.MUL,), low), ((Operation.TO_INT,), integer),
                                  ((Operation.MIN, Operation.MAX), extreme),
                                  (flags, Cat(flag, Const(0, 31)))):
            result = Mux(of(*operations), value, result)
        return result

    @staticmethod
    def _is_nan(bits):
        return bits[_FRACTION:-1].all() & bits[:_FRACTION].any()
