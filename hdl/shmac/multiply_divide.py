"""Products and quotients, one bit in a cycle: the registers HI and LO of SHMAC's core.

Part of the core, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["MultiplyDivide"]


class MultiplyDivide(wiring.Component):
    """One adder, which a product uses ``width`` times, and a quotient ``width + 3`` times.

    A product adds the multiplicand for each bit of the multiplier, in LO, and moves HI and LO to
    the right; the sign bit of a signed multiplier counts negative. A quotient takes the divisor's
    magnitude from what has come into HI, as often as it can (restoring division). Before that, a
    negative dividend is negated; after it, the quotient if the signs differ, the remainder if the
    dividend was negative; those steps take their cycle whether they change anything or not.

    By 0, the quotient's bits are all ones before it is negated, and the remainder is the dividend.

    Parameters
    ----------
    width : int
        Bits of an operand, at least 2.

    Members
    -------
    start : In(1)
        Take the operands. Not while an operation is under way.
    divide, signed : In(1)
        Which operation.
    a, b : In(width)
        Multiplier or dividend, multiplicand or divisor.
    done : Out(1)
        In an operation's last cycle; the results are in HI and LO after it.
    set_hi, set_lo : In(1)
        Write ``a`` there.
    hi, lo : Out(width)
        Upper and lower half of a product; remainder and quotient.

    Attributes
    ----------
    left, divides : Signal
        Cycles to come of an operation, and which one it is. These and all others are for proofs.
    product, final : Signal
        In all cycles of a product, and in its last one.
    first, inner, last_but_one, last : Signal
        In the four kinds of a quotient's cycles.
    """

    def __init__(self, *, width):
        check_integer("Width", width, 2)
        self.width = width
        super().__init__({
            "start": In(1), "divide": In(1), "signed": In(1), "a": In(width), "b": In(width),
            "done": Out(1), "set_hi": In(1), "set_lo": In(1), "hi": Out(width), "lo": Out(width),
        })
        self.left, self.divides = Signal(range(width + 4)), Signal()
        self.product, self.final = Signal(), Signal()
        self.first, self.inner, self.last_but_one, self.last = (Signal(name=name) for name in (
            "first", "inner", "last_but_one", "last"))

    def elaborate(self, platform):
        m = Module()
        width, hi, lo = self.width, self.hi, self.lo
        left, divides, final = self.left, self.divides, self.final
        first, inner, last_but_one, last, product = (
            self.first, self.inner, self.last_but_one, self.last, self.product)
        has_sign = Signal()
        negative, differs = Signal(), Signal()  # the dividend; the signs
        other = Signal(width + 1)               # multiplicand or divisor, with its sign
        subtract = Signal()                     # how the adder is used
        x, y, total = Signal(width + 1), Signal(width + 1), Signal(width + 2)
        m.d.comb += [
            x.eq(Mux(product, Cat(hi, has_sign & hi[-1]), Mux(inner, Cat(lo[-1], hi), 0))),
            y.eq(Mux(product | inner, other, Mux(last, hi, lo))
                 & ~(product & ~lo[0]).replicate(width + 1)),
            total.eq(x + (y ^ subtract.replicate(width + 1)) + subtract),
            self.done.eq(last | final),
        ]
        m.d.sync += [
            last.eq(last_but_one), last_but_one.eq(divides & (left == 3)), first.eq(0),
            final.eq(~divides & (left == 2)), left.eq(Mux(left == 0, 0, left - 1)),
        ]
        with m.If(left == 3):
            m.d.sync += inner.eq(0)
        with m.If(final):
            m.d.sync += product.eq(0)

        with m.If(product):
            m.d.sync += [Cat(lo, hi).eq(Cat(lo[1:], total[:-1])),
                         subtract.eq(has_sign & (left == 2))]
        with m.If(inner):
            fits = total[-1]  # a carry: what is left is not negative
            m.d.sync += [hi.eq(Mux(fits, total, x)), lo.eq(Cat(fits, lo))]
        with m.If((first & negative) | (last_but_one & differs)):
            m.d.sync += lo.eq(total)
        with m.If(last & negative):
            m.d.sync += hi.eq(total)
        with m.If(first):
            m.d.sync += [inner.eq(1), subtract.eq(~other[-1])]
        with m.If(divides & (left == 3)):
            m.d.sync += subtract.eq(1)

        with m.If(self.start):
            m.d.sync += [
                left.eq(Mux(self.divide, width + 3, width)), divides.eq(self.divide),
                has_sign.eq(self.signed), negative.eq(self.signed & self.a[-1]),
                differs.eq(self.signed & (self.a[-1] ^ self.b[-1])),
                other.eq(Cat(self.b, self.signed & self.b[-1])), hi.eq(0), lo.eq(self.a),
                first.eq(self.divide), product.eq(~self.divide), subtract.eq(self.divide),
            ]
        with m.If(self.set_hi):
            m.d.sync += hi.eq(self.a)
        with m.If(self.set_lo):
            m.d.sync += lo.eq(self.a)
        return m
