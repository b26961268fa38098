"""Dividers and square roots, one bit of the result in each cycle.

Blocks of the special unit, whose model, testbench and tests cover them.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.operations import WIDTH
from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.hdl.leading_zeros import leading_zeros

__all__ = ["FloatDivider", "FloatRoot", "IntegerDivider", "make_block"]

_FRACTION = 23
_SIGNIFICAND = _FRACTION + 1
_BIAS = 127
_INFINITY = 0x7F80_0000


class _Block(wiring.Component):
    """One operation at a time: take, prepare, a bit in each cycle, finish.

    Each step is a cycle, and none has more than one sum, shift or count of zeros after the other.
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

    Attributes
    ----------
    resting, ending : Signal
        There is no operation; one has its result.
    """

    def __init__(self, *, tag_width):
        tag = unsigned(tag_width)
        super().__init__({
            "operands": In(stream.Signature(data.StructLayout(
                {"a": unsigned(WIDTH), "b": unsigned(WIDTH), "tag": tag}))),
            "result": Out(stream.Signature(data.StructLayout(
                {"value": unsigned(WIDTH), "tag": tag}))),
        })
        # not called a and b, as are what yosys' functions take
        self.a, self.b = (Signal(WIDTH, name=name) for name in ("left", "right"))
        self.zeros = Signal(range(WIDTH))
        self.bits_left = Signal(range(WIDTH + 1))
        self.resting, self.ending = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        value = self.result.payload.value
        # Registers beside the state, because much hangs on them. The first is set by reset.
        free, done = Signal(init=1), self.result.valid
        m.d.comb += self.operands.ready.eq(free)
        steps = [f"PREPARE_{number}" for number in range(len(self.prepare()))]
        last = [f"FINISH_{number}" for number in range(len(self.finish()))]
        with m.FSM() as fsm:
            with m.State("IDLE"):
                # whether there are operands or not: the choice settles late in the cycle
                p = self.operands.payload
                m.d.sync += [self.a.eq(p.a), self.b.eq(p.b), self.result.payload.tag.eq(p.tag)]
                with m.If(self.operands.valid):
                    m.d.sync += free.eq(0)
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                at_once, answer = self.begin(m)
                m.next = steps[0]
                with m.If(at_once):
                    m.d.sync += [value.eq(answer), done.eq(1)]
                    m.next = "DONE"
            for step, state, after in zip(self.prepare(), steps, [*steps[1:], "ITERATE"],
                                          strict=True):
                with m.State(state):
                    step(m)
                    m.next = after
            with m.State("ITERATE"):
                self.iterate(m)
                m.d.sync += self.bits_left.eq(self.bits_left - 1)
                with m.If(self.bits_left == 1):
                    m.next = last[0]
            for step, state, after in zip(self.finish(), last, [*last[1:], "DONE"], strict=True):
                with m.State(state):
                    answer = step(m)
                    if after == "DONE":
                        m.d.sync += [value.eq(answer), done.eq(1)]
                    m.next = after
            with m.State("DONE"):
                with m.If(self.result.ready):
                    m.d.sync += [done.eq(0), free.eq(1)]
                    m.next = "IDLE"
        m.d.comb += [self.resting.eq(fsm.ongoing("IDLE")), self.ending.eq(fsm.ongoing("DONE"))]
        return m

    def count(self, m, value):
        """The leading zeros of ``value``, for the next step."""
        zeros, _ = leading_zeros(m, value)
        m.d.sync += self.zeros.eq(zeros)


class IntegerDivider(_Block):
    """Signed division, truncated; x / 0 is all ones. A cycle for each bit of a's magnitude."""

    def __init__(self, *, tag_width):
        super().__init__(tag_width=tag_width)
        self.quotient, self.remainder = (Signal(WIDTH, name=name)
                                         for name in ("quotient", "remainder"))
        self.negative = Signal()

    def begin(self, m):
        """Register the operands' magnitudes and the quotient's sign; returns whether the result is
        known at once, and that result."""
        m.d.sync += [value.eq(Mux(value[-1], -value, value)) for value in (self.a, self.b)]
        m.d.sync += [self.negative.eq(self.a[-1] ^ self.b[-1]),
                     self.quotient.eq(0), self.remainder.eq(0)]
        endless = self.b == 0
        return endless | (self.a == 0), Mux(endless, Const(-1, WIDTH), 0)

    def prepare(self):
        return [lambda m: self.count(m, self.a), self._to_the_top]

    def _to_the_top(self, m):
        m.d.sync += [self.a.eq(self.a << self.zeros), self.bits_left.eq(WIDTH - self.zeros)]

    def iterate(self, m):
        shifted, difference = Signal(WIDTH + 1), Signal(WIDTH + 2)
        m.d.comb += [shifted.eq(Cat(self.a[-1], self.remainder)), difference.eq(shifted - self.b)]
        fits = ~difference[-1]
        m.d.sync += [self.a.eq(self.a << 1), self.quotient.eq(Cat(fits, self.quotient)),
                     self.remainder.eq(Mux(fits, difference, shifted))]

    def finish(self):
        return [lambda m: Mux(self.negative, -self.quotient, self.quotient)]


class _Number:
    """A float taken apart: what it is, its significand and biased exponent, not yet normalized."""

    def __init__(self, m, bits):
        field, fraction = bits[_FRACTION:31], bits[:_FRACTION]
        least, most, whole = (Signal(name=name) for name in ("least", "most", "whole"))
        m.d.comb += [least.eq(field == 0), most.eq(field.all()), whole.eq(fraction == 0)]
        self.zero, self.infinite, self.nan = least & whole, most & whole, most & ~whole
        self.significand = Cat(fraction, ~least)
        self.exponent = Cat(field[0] | least, field[1:])


class FloatDivider(_Block):
    """a / b in IEEE 754 binary32, rounded to nearest even."""

    _QUOTIENT = _SIGNIFICAND + 2  # a bit before the point, and one more than are kept after it
    _NOTHING = 31                 # places to the right: no bit of it is left

    def __init__(self, *, tag_width):
        super().__init__(tag_width=tag_width)
        self.sign = Signal()
        self.exponent = Signal(signed(11))  # biased, of a quotient from 1 on
        self.divisor = Signal(_SIGNIFICAND)
        self.remainder = Signal(_SIGNIFICAND + 1)
        self.quotient = Signal(self._QUOTIENT)
        # what the quotient's first bit decides, while the others are made
        self.first, self.top = Signal(), Signal()
        self.true_exponent = Signal(signed(11))
        self.places = Signal(range(self._NOTHING + 1))  # to the right, for the last bits
        self.field = Signal(9)                          # one less than the result's
        self.kept = Signal(_SIGNIFICAND + 2)            # significand, guard, sticky
        self.remains = Signal()

    def begin(self, m):
        """Significands, which may begin with zeros; the result of what is no division."""
        a, b = _Number(m, self.a), _Number(m, self.b)
        sign = self.a[-1] ^ self.b[-1]
        m.d.sync += [self.remainder.eq(a.significand), self.divisor.eq(b.significand),
                     self.exponent.eq(a.exponent - b.exponent + _BIAS), self.sign.eq(sign)]
        self.count(m, a.significand)
        invalid = a.nan | b.nan | (a.zero & b.zero) | (a.infinite & b.infinite)
        endless = a.infinite | b.zero
        magnitude = Mux(invalid, FLOAT_NAN, Mux(endless, _INFINITY, 0))
        return invalid | endless | a.zero | b.infinite, Cat(magnitude[:31], sign & ~invalid)

    def prepare(self):
        return [self._dividend, self._divisor]

    def _dividend(self, m):
        m.d.sync += [self.remainder.eq((self.remainder << self.zeros)[:_SIGNIFICAND]),
                     self.exponent.eq(self.exponent - self.zeros)]
        self.count(m, self.divisor)

    def _divisor(self, m):
        m.d.sync += [self.divisor.eq(self.divisor << self.zeros),
                     self.exponent.eq(self.exponent + self.zeros),
                     self.bits_left.eq(self._QUOTIENT), self.first.eq(1)]

    def iterate(self, m):
        difference = Signal(_SIGNIFICAND + 2)
        m.d.comb += difference.eq(self.remainder - self.divisor)
        fits = ~difference[-1]
        m.d.sync += [self.quotient.eq(Cat(fits, self.quotient)), self.first.eq(0),
                     self.remainder.eq(Cat(Const(0, 1), Mux(fits, difference, self.remainder)))]
        with m.If(self.first):
            m.d.sync += self.top.eq(fits)
        # Below the smallest normal number, places are lost. The hidden bit counts as one exponent
        # more, and so does a carry.
        exponent = self.true_exponent
        tiny, none = exponent < 1, exponent < 1 - self._QUOTIENT
        m.d.sync += [
            exponent.eq(self.exponent - ~self.top),
            self.places.eq(Mux(none, self._NOTHING,
                               Mux(tiny, 1 - exponent[:5] + self.top, self.top))),
            self.field.eq(Mux(tiny, 0, Mux(exponent >= 0xFF, 1 << 8, exponent - 1))),
        ]

    def finish(self):
        return [self._align, self._round]

    def _align(self, m):
        value = Cat(Const(0, 1), self.quotient)
        gone = value & Cat(self.places > k for k in range(len(value)))
        m.d.sync += [self.kept.eq(value >> self.places),
                     self.remains.eq(self.remainder.any() | gone.any())]

    def _round(self, m):
        significand, guard, sticky = self.kept[2:], self.kept[1], self.kept[0] | self.remains
        up = guard & (sticky | significand[0])
        packed = _sum(self.field[:8], significand, up)
        return Cat(Mux(self.field[8], _INFINITY, packed)[:31], self.sign)


class FloatRoot(_Block):
    """The square root of a in IEEE 754 binary32, rounded to nearest even.

    The root of a number of 24 bits is never half way between two results, so that its 25th bit
    decides the rounding.
    """

    _ROOT = _SIGNIFICAND + 1  # and a guard bit

    def __init__(self, *, tag_width):
        super().__init__(tag_width=tag_width)
        self.exponent = Signal(signed(10))
        self.field = Signal(8)  # one less than the result's
        self.radicand = Signal(self._ROOT + 1)  # what has not been used of it
        self.remainder = Signal(self._ROOT + 3)
        self.root = Signal(self._ROOT)

    def begin(self, m):
        """Load the radicand, which may begin with zeros. Returns whether no root is to be
        extracted, and the result then."""
        a = _Number(m, self.a)
        m.d.sync += [self.radicand.eq(a.significand), self.exponent.eq(a.exponent),
                     self.root.eq(0), self.remainder.eq(0), self.bits_left.eq(self._ROOT)]
        self.count(m, a.significand)
        invalid = a.nan | (self.a[-1] & ~a.zero)
        return invalid | a.zero | a.infinite, Mux(invalid, FLOAT_NAN, self.a)

    def prepare(self):
        return [self._to_the_top]

    def _to_the_top(self, m):
        even = self.exponent[0] ^ self.zeros[0]  # with the bias, which is odd
        doubled = Mux(even, Cat(Const(0, 1), self.radicand), Cat(Const(0, 2), self.radicand))
        m.d.sync += [self.radicand.eq(doubled << self.zeros),
                     self.exponent.eq(self.exponent - self.zeros)]

    def iterate(self, m):
        shifted, trial = Signal(self._ROOT + 3), Signal(self._ROOT + 3)
        difference = Signal(self._ROOT + 4)
        m.d.comb += [shifted.eq(Cat(self.radicand[-2:], self.remainder)),
                     trial.eq(Cat(Const(1, 2), self.root)), difference.eq(shifted - trial)]
        fits = ~difference[-1]
        m.d.sync += [self.radicand.eq(self.radicand << 2), self.root.eq(Cat(fits, self.root)),
                     self.remainder.eq(Mux(fits, difference, shifted)),
                     self.field.eq((self.exponent + _BIAS - 2) >> 1)]

    def finish(self):
        return [lambda m: _sum(self.field, self.root[1:], self.root[0])]


def _sum(field, significand, up):
    """A float's magnitude, rounded up or not; the hidden bit is added to the field."""
    total = Cat(Const(1, 1), Const(0, _FRACTION), field) + Cat(up, significand)
    return total[1:32]


def make_block(function, *, tag_width):
    """The block for a function."""
    kinds = {Special.IDIV: IntegerDivider, Special.FDIV: FloatDivider, Special.FSQRT: FloatRoot}
    return kinds[function](tag_width=tag_width)
