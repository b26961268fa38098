"""Bound checker of the fused multiply-add: it reads its ports and drives none.

It has no arithmetic of its own. It knows what IEEE 754 says of operands that are no numbers, of
zeros and infinities, of products with a power of two, and how large a sum is at least.

Ref: IEEE 754-2008, sections 4.3.1, 6.1 to 6.3.
"""

from amaranth.hdl import Assume, Cat, Const, Mux, Signal

from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.tb.elastic_properties import ElasticCheck

__all__ = ["FloatFmaCheck"]

_FRACTION, _INFINITY = 23, 0xFF
_BIAS = 127


class FloatFmaCheck(ElasticCheck):
    """Each operation makes a result, 9 steps later; where the operands are not two normal factors
    of many bits, it is the one that the standard names.

    Assumes that an integer that is converted has no factors beside it.

    Parameters
    ----------
    target : FloatFma
        The pipeline, or a component with the same members.
    ready : bool
        As of `ElasticCheck`.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, ready=False):
        super().__init__(target, source="operands", sink="result", stages=PIPELINE_STAGES,
                         ready=ready)

    def expected(self, m):
        given = self.operands.payload
        a, b, c = (_Number(bits) for bits in (given.a, given.b, given.c))
        sign = a.sign ^ b.sign
        nothing = a.zero | b.zero  # the product
        endless = a.infinite | b.infinite
        invalid = (a.nan | b.nan | c.nan | (a.infinite & b.zero) | (a.zero & b.infinite)
                   | (endless & c.infinite & (sign != c.sign)))
        # a power of two times a normal number
        exponent = Signal(10)
        m.d.comb += exponent.eq(a.exponent + b.exponent)
        exact = (a.power & b.normal & c.zero & (exponent > _BIAS)
                 & (exponent < _BIAS + _INFINITY))
        value, known = Signal(32), Signal()
        m.d.comb += known.eq(1)
        m.d.sync += Assume(~self.operands.valid | ~given.convert | (a.zero & b.zero),
                           "an integer to convert with factors")
        with m.If(given.convert):
            m.d.comb += [known.eq(given.c == 0), value.eq(0)]
        with m.Elif(invalid):
            m.d.comb += value.eq(FLOAT_NAN)
        with m.Elif(endless | c.infinite):
            m.d.comb += value.eq(Cat(Const(0, _FRACTION), Const(_INFINITY, 8),
                                     Mux(endless, sign, c.sign)))
        with m.Elif(nothing & c.zero):
            m.d.comb += value.eq(Cat(Const(0, 31), sign & c.sign))
        with m.Elif(nothing):
            m.d.comb += value.eq(given.c)
        with m.Elif(exact):
            m.d.comb += value.eq(Cat(b.fraction, (exponent - _BIAS)[:8], sign))
        with m.Else():
            m.d.comb += known.eq(0)
        return known, value


class _Number:
    """What 32 bits are."""

    def __init__(self, bits):
        self.fraction, self.exponent = bits[:_FRACTION], bits[_FRACTION:31]
        self.sign = bits[31]
        self.zero = bits[:31] == 0
        self.infinite = (self.exponent == _INFINITY) & (self.fraction == 0)
        self.nan = (self.exponent == _INFINITY) & (self.fraction != 0)
        self.normal = (self.exponent != _INFINITY) & (self.exponent != 0)
        self.power = self.normal & (self.fraction == 0)
