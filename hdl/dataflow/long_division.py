"""Dividers and square roots, one bit of the result in each cycle.

Blocks of the special unit, whose model, testbench and tests cover them.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.operations import FLOAT_NAN, WIDTH
from cyclebound.hdl.dataflow.leading_zeros import leading_zeros

__all__ = ["FloatDivider", "FloatRoot", "IntegerDivider", "make_block"]

_FRACTION = 23
_SIGNIFICAND = _FRACTION + 1
_BIAS = 127
_INFINITY = 0x7F80_0000


class _Block(wiring.Component):
    """One operation at a time: prepare, a bit in each cycle, finish.

    Latency: as `golden.dataflow.special_timing.cycles` says.

    Parameters
    ----------
    tag_width : int
        Bits of what comes back with the result.

    Members
    -------
    operands : In(stream of {a, b, tag})
        Taken while there is no other operation.
    result : Out(stream of {value, tag})
        Kept until it is taken.
    """

    def __init__(self, *, tag_width):
        tag = unsigned(tag_width)
        super().__init__({
            "operands": In(stream.Signature(data.StructLayout(
                {"a": unsigned(WIDTH), "b": unsigned(WIDTH), "tag": tag}))),
            "result": Out(stream.Signature(data.StructLayout(
                {"value": unsigned(WIDTH), "tag": tag}))),
        })

    def elaborate(self, platform):
        m = Module()
        left = Signal(range(WIDTH + 1), name="bits_left")
        value = self.result.payload.value
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.operands.ready.eq(1)
                with m.If(self.operands.valid):
                    m.d.sync += self.result.payload.tag.eq(self.operands.payload.tag)
                    self.take(m, self.operands.payload.a, self.operands.payload.b)
                    m.next = "PREPARE"
            with m.State("PREPARE"):
                known, answer, count = self.prepare(m)
                m.d.sync += left.eq(count)
                m.next = "ITERATE"
                with m.If(known):
                    m.d.sync += value.eq(answer)
                    m.next = "DONE"
            with m.State("ITERATE"):
                self.iterate(m)
                m.d.sync += left.eq(left - 1)
                with m.If(left == 1):
                    m.next = "FINISH_0"
            steps = self.finish()
            for number, step in enumerate(steps):
                with m.State(f"FINISH_{number}"):
                    answer = step(m)
                    if number == len(steps) - 1:
                        m.d.sync += value.eq(answer)
                        m.next = "DONE"
                    else:
                        m.next = f"FINISH_{number + 1}"
            with m.State("DONE"):
                m.d.comb += self.result.valid.eq(1)
                with m.If(self.result.ready):
                    m.next = "IDLE"
        return m


class IntegerDivider(_Block):
    """Signed division, truncated; x / 0 is all ones. It takes a cycle for each bit of |a|."""

    def __init__(self, *, tag_width):
        super().__init__(tag_width=tag_width)
        # magnitudes; not called a and b, as are what yosys' functions take
        self.a, self.b = (Signal(WIDTH, name=name) for name in ("left", "right"))
        self.quotient, self.rest = (Signal(WIDTH, name=name) for name in ("quotient", "rest"))
        self.negative = Signal()

    def take(self, m, a, b):
        m.d.sync += [self.a.eq(Mux(a[-1], -a, a)), self.b.eq(Mux(b[-1], -b, b)),
                     self.negative.eq(a[-1] ^ b[-1]), self.quotient.eq(0), self.rest.eq(0)]

    def prepare(self, m):
        zeros, _ = leading_zeros(self.a)
        m.d.sync += self.a.eq(self.a << zeros)
        nothing = self.b == 0
        return nothing | (self.a == 0), Mux(nothing, Const(-1, WIDTH), 0), WIDTH - zeros

    def iterate(self, m):
        shifted = Signal(WIDTH + 1)
        m.d.comb += shifted.eq(Cat(self.a[-1], self.rest))
        fits = shifted >= self.b
        m.d.sync += [self.a.eq(self.a << 1), self.quotient.eq(Cat(fits, self.quotient)),
                     self.rest.eq(Mux(fits, shifted - self.b, shifted))]

    def finish(self):
        return [lambda m: Mux(self.negative, -self.quotient, self.quotient)]


class _Number:
    """A float taken apart, with its significand normalized."""

    def __init__(self, m, bits):
        self.sign, field = bits[31], bits[_FRACTION:31]
        fraction = bits[:_FRACTION]
        self.zero = (field == 0) & (fraction == 0)
        self.infinite = (field == 0xFF) & (fraction == 0)
        self.nan = (field == 0xFF) & (fraction != 0)
        plain = Cat(fraction, field != 0)
        zeros, _ = leading_zeros(plain)
        self.significand = (plain << zeros)[:_SIGNIFICAND]
        # biased, 1 for the smallest normal numbers, less below
        self.exponent = Mux(field == 0, 1, field) - zeros


class FloatDivider(_Block):
    """a / b in IEEE 754 binary32, rounded to nearest even."""

    _QUOTIENT = _SIGNIFICAND + 2  # a bit before the point, and one more than are kept behind it

    def __init__(self, *, tag_width):
        super().__init__(tag_width=tag_width)
        self.a, self.b = (Signal(WIDTH, name=name) for name in ("left", "right"))
        self.sign = Signal()
        self.exponent = Signal(signed(11))
        self.divisor = Signal(_SIGNIFICAND)
        self.rest = Signal(_SIGNIFICAND + 1)
        self.quotient = Signal(self._QUOTIENT)
        self.kept = Signal(self._QUOTIENT)  # significand, guard, sticky
        self.field = Signal(signed(11))

    def take(self, m, a, b):
        m.d.sync += [self.a.eq(a), self.b.eq(b), self.sign.eq(a[-1] ^ b[-1]), self.quotient.eq(0)]

    def prepare(self, m):
        a, b = _Number(m, self.a), _Number(m, self.b)
        m.d.sync += [self.rest.eq(a.significand), self.divisor.eq(b.significand),
                     self.exponent.eq(a.exponent - b.exponent + _BIAS)]
        invalid = a.nan | b.nan | (a.zero & b.zero) | (a.infinite & b.infinite)
        endless = a.infinite | b.zero
        known = invalid | endless | a.zero | b.infinite
        signed_zero = Cat(Const(0, 31), self.sign)
        return known, Mux(invalid, FLOAT_NAN,
                          Mux(endless, signed_zero | _INFINITY, signed_zero)), self._QUOTIENT

    def iterate(self, m):
        fits = self.rest >= self.divisor
        difference = Mux(fits, self.rest - self.divisor, self.rest)
        m.d.sync += [self.quotient.eq(Cat(fits, self.quotient)),
                     self.rest.eq(Cat(Const(0, 1), difference))]

    def finish(self):
        return [self._align, self._round]

    def _align(self, m):
        """The first bit to the top; below the smallest normal number, places are lost."""
        top = self.quotient[-1]
        sticky = self.rest.any()
        value = Mux(top, Cat(self.quotient[0] | sticky, self.quotient[1:]),
                    Cat(sticky, self.quotient[:-1]))
        exponent = Signal(signed(11))
        lost = Signal(range(self._QUOTIENT + 1))
        m.d.comb += [
            exponent.eq(self.exponent - ~top),
            lost.eq(Mux(exponent >= 1, 0, Mux(exponent < 1 - self._QUOTIENT, self._QUOTIENT,
                                              1 - exponent))),
        ]
        below = Signal(self._QUOTIENT)
        m.d.comb += below.eq(value & ((1 << lost) - 1))
        shifted = value >> lost
        m.d.sync += [self.kept.eq(Cat(shifted[0] | below.any(), shifted[1:])),
                     self.field.eq(Mux(exponent >= 1, exponent, 0))]

    def _round(self, m):
        significand, guard, sticky = self.kept[2:], self.kept[1], self.kept[0]
        up = guard & (sticky | significand[0])
        # the hidden bit counts as one exponent more, and so does a carry
        packed = Signal(signed(36))
        m.d.comb += packed.eq((Mux(self.field == 0, 0, self.field - 1) << _FRACTION)
                              + significand + up)
        return Cat(Mux(packed >= _INFINITY, _INFINITY, packed[:31])[:31], self.sign)


class FloatRoot(_Block):
    """The square root of a in IEEE 754 binary32, rounded to nearest even."""

    _ROOT = _SIGNIFICAND + 1  # and a guard bit

    def __init__(self, *, tag_width):
        super().__init__(tag_width=tag_width)
        self.a = Signal(WIDTH, name="operand")
        self.exponent = Signal(signed(10))
        self.radicand = Signal(2 * self._ROOT)
        self.rest = Signal(self._ROOT + 3)
        self.root = Signal(self._ROOT)

    def take(self, m, a, b):
        m.d.sync += [self.a.eq(a), self.root.eq(0), self.rest.eq(0)]

    def prepare(self, m):
        a = _Number(m, self.a)
        exponent = Signal(signed(10))
        m.d.comb += exponent.eq(a.exponent - _BIAS)
        odd = exponent[0]
        m.d.sync += [
            self.radicand.eq(Cat(Const(0, self._ROOT), Mux(odd, Cat(Const(0, 1), a.significand),
                                                           a.significand))),
            self.exponent.eq((exponent >> 1) + _BIAS),
        ]
        invalid = a.nan | (a.sign & ~a.zero)
        return invalid | a.zero | a.infinite, Mux(invalid, FLOAT_NAN, self.a), self._ROOT

    def iterate(self, m):
        shifted, trial = Signal(self._ROOT + 3), Signal(self._ROOT + 3)
        m.d.comb += [shifted.eq(Cat(self.radicand[-2:], self.rest)),
                     trial.eq(Cat(Const(1, 2), self.root))]
        fits = shifted >= trial
        m.d.sync += [self.radicand.eq(self.radicand << 2), self.root.eq(Cat(fits, self.root)),
                     self.rest.eq(Mux(fits, shifted - trial, shifted))]

    def finish(self):
        return [self._round]

    def _round(self, m):
        significand, guard = self.root[1:], self.root[0]
        up = guard & (self.rest.any() | significand[0])
        packed = Signal(WIDTH)
        m.d.comb += packed.eq(((self.exponent - 1) << _FRACTION) + significand + up)
        return packed


def make_block(function, *, tag_width):
    """The block for a function."""
    kinds = {Special.IDIV: IntegerDivider, Special.FDIV: FloatDivider, Special.FSQRT: FloatRoot}
    return kinds[function](tag_width=tag_width)
