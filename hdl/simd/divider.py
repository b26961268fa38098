"""Scalar divider: quotient or remainder of two signed integers, not pipelined.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1: "one non-pipelined 8-cycle scalar Radix-16 integer divider".
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["Divider"]


class Divider(wiring.Component):
    """Restores ``32 / cycles`` bits in each cycle, rounded up: radix 16 in eight.

    By 0 the quotient is -1 and the remainder the dividend; the least integer by -1 is itself.

    Latency: ``cycles`` from ``start`` to the result, which stays until the next start.

    Parameters
    ----------
    cycles : int
        1 to 32.

    Members
    -------
    start : In(1)
        Operands are here. A division that is under way is lost.
    a, b : In(32)
        Dividend and divisor.
    quotient, remainder : Out(32)
        Towards zero; the remainder has the dividend's sign.
    """

    def __init__(self, *, cycles=8):
        check_integer("cycles", cycles, least=1, most=32)
        self.cycles = cycles
        super().__init__({"start": In(1), "a": In(32), "b": In(32), "quotient": Out(32),
                          "remainder": Out(32)})

    def elaborate(self, platform):
        m = Module()
        step = -(-32 // self.cycles)
        bits = step * self.cycles
        left = Signal(range(self.cycles + 1))  # steps still to come
        # The dividend leaves at the top of `low`, quotient bits come in at its bottom.
        low, high, divisor = Signal(bits), Signal(32), Signal(32)
        sign, minus, nothing = Signal(), Signal(), Signal()
        a, b = (Mux(word[-1], -word, word)[:32] for word in (self.a, self.b))
        now_low, now_high = Mux(self.start, a, low)[:bits], Mux(self.start, 0, high)
        now_divisor = Mux(self.start, b, divisor)
        for _ in range(step):
            shifted = Cat(now_low[-1], now_high)
            enough = shifted >= now_divisor
            now_high = Mux(enough, shifted - now_divisor, shifted)[:32]
            now_low = Cat(enough, now_low[:-1])
            next_low, next_high = Signal(bits), Signal(32)
            m.d.comb += [next_low.eq(now_low), next_high.eq(now_high)]
            now_low, now_high = next_low, next_high
        with m.If(self.start):
            m.d.sync += [left.eq(self.cycles - 1), divisor.eq(b), sign.eq(self.a[-1] ^ self.b[-1]),
                         minus.eq(self.a[-1]), nothing.eq(self.b == 0)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start | (left != 0)):
            m.d.sync += [low.eq(now_low), high.eq(now_high)]
        m.d.comb += [
            self.quotient.eq(Mux(nothing, 0xFFFF_FFFF, Mux(sign, -low[:32], low[:32]))),
            self.remainder.eq(Mux(minus, -high, high)),
        ]
        return m
