"""Fused multiply-add in single precision, which serves addition and multiplication as well.

a + b is a * 1 + b, and a * b is a * b + (-0): both are exact before the one rounding.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.hdl.float_format import BIAS, FRACTION, INFINITY, round_to_even, unpack
from cyclebound.hdl.leading_zeros import leading_zeros

__all__ = ["FMA_STAGES", "FloatFma", "FusedLayout"]

FMA_STAGES = 9  # registers between operands and result: one after each step

_SIGNIFICAND = FRACTION + 1
_BELOW = 3                                  # bits below the product; the last one is sticky
_PLACE = 2 * _SIGNIFICAND + _BELOW + _BELOW  # of the addend, where it stands farthest to the left
_WINDOW = _PLACE + _SIGNIFICAND
_LOST = _SIGNIFICAND + 1                    # room to shift the whole addend below the window
_FAR = 31                                   # to the right, nothing but a sticky bit is left


class FusedLayout(data.StructLayout):
    """``a``, ``b``, ``c`` as bits; ``convert``: ``c`` is a signed integer, the others are 0."""

    def __init__(self):
        super().__init__({"a": unsigned(32), "b": unsigned(32), "c": unsigned(32),
                          "convert": unsigned(1)})


class FloatFma(wiring.Component):
    """``a * b + c`` in IEEE 754 binary32, rounded once, to nearest even; subnormals included.

    All of the product is kept, in a window that reaches as far above it as the addend may
    stand, and three bits below. Of what lies farther apart only that it is not zero matters: if
    the addend is more than two bits below, the product is at least 2**23 units of its last place
    (one factor is normal), so that nothing cancels but the top bit; if it stands at the top, the
    product is less than an eighth of its last place.

    Latency: `FMA_STAGES` cycles from operands to result. Throughput: one per cycle. The
    pipeline stands still while a result is not taken. Every NaN is 0x7FC00000.

    Members
    -------
    operands : In(stream of FusedLayout)
        ``convert`` makes the integer ``c`` a float.
    result : Out(stream of 32 bits)
        In order.

    Attributes
    ----------
    valid : Signal
        Bit *n*: the register after step *n* + 1 holds an operation.
    """

    def __init__(self):
        super().__init__({"operands": In(stream.Signature(FusedLayout())),
                          "result": Out(stream.Signature(unsigned(32)))})
        self.valid = Signal(FMA_STAGES)

    def elaborate(self, platform):
        m = Module()
        self._m = m
        self._advance = Signal()
        valid = self.valid
        m.d.comb += [
            self._advance.eq(~self.result.valid | self.result.ready),
            self.operands.ready.eq(self._advance),
            self.result.valid.eq(valid[-1]),
        ]
        with m.If(self._advance):
            m.d.sync += valid.eq(Cat(self.operands.valid, valid[:-1]))

        steps = (self._unpack, self._multiply, self._shift, self._align, self._add, self._count,
                 self._normalise, self._denormalise)
        values = {}
        for number, step in enumerate(steps, 1):
            values = self._stage(number, step(values))
        with m.If(self._advance):
            m.d.sync += self.result.payload.eq(self._round(values))
        return m

    def _stage(self, number, values):
        """Register ``values``, a dictionary, and return the registers."""
        registers = {}
        for name, value in values.items():
            registers[name] = register = Signal(value.shape(), name=f"{name}_{number}",
                                                reset_less=True)
            with self._m.If(self._advance):
                self._m.d.sync += register.eq(value)
        return registers

    def _unpack(self, _):
        """Significands and exponents; what is no number."""
        p = self.operands.payload
        a, b, c = (unpack(bits) for bits in (p.a, p.b, p.c))
        product_sign, sign = a.sign ^ b.sign, c.sign
        endless = a.infinite | b.infinite
        invalid = (a.nan | b.nan | c.nan | (a.infinite & b.zero) | (b.infinite & a.zero)
                   | (endless & c.infinite & (product_sign ^ sign)))
        return {"a": a.significand, "b": b.significand, "c": c.significand,
                "exponents": a.exponent + b.exponent, "exponent": c.exponent,
                "no_product": a.zero | b.zero, "no_addend": c.zero,
                "product_sign": product_sign, "sign": sign,
                "nan": invalid & ~p.convert, "infinite": (endless | c.infinite) & ~p.convert,
                "infinite_sign": Mux(endless, product_sign, sign),
                "convert": p.convert, "integer": Mux(sign, -p.c, p.c)[:32]}

    @staticmethod
    def _passed(values, *more):
        """Pick the values that later stages need unchanged."""
        return {name: values[name] for name in ("product_sign", "sign", "nan", "infinite",
                                                "infinite_sign", "convert", *more)}

    def _multiply(self, v):
        """Four products of halves; where the addend stands, and the window."""
        half = _SIGNIFICAND // 2
        parts = {f"part_{i}{j}": v["a"].word_select(i, half) * v["b"].word_select(j, half)
                 for i in range(2) for j in range(2)}
        # how far right of its leftmost place the addend stands, in units of the product
        shift = Signal(signed(11))
        high = _PLACE - _BELOW - FRACTION  # the shift of equal exponents, and the bias
        self._m.d.comb += shift.eq(v["exponents"] - v["exponent"] - (BIAS - high))
        low = v["no_product"] | ((shift < 0) & ~v["no_addend"])  # the addend decides the window
        clamped = Mux(low | (shift < 0), 0, Mux(shift > _WINDOW + 1, _WINDOW + 1, shift[:7]))
        # exponent field of the window's top bit, with one above for a carry
        top = Signal(signed(11))
        self._m.d.comb += top.eq(Mux(low, v["exponent"] + 1,
                                     v["exponents"] - (BIAS - high - 1)))
        return {**parts, "top": top, "shift": clamped[:7], **self._passed(v, "c", "integer")}

    def _shift(self, v):
        """The addend's shift by multiples of eight; two sums of the product's parts."""
        wide = Cat(Const(0, _PLACE + _LOST), v["c"]) >> Cat(Const(0, 3), v["shift"][3:])
        return {"outer": Cat(v["part_00"], v["part_11"]), "inner": v["part_01"] + v["part_10"],
                "wide": wide, "fine": v["shift"][:3], **self._passed(v, "top", "integer")}

    def _align(self, v):
        """The product, and the addend in the window."""
        product = (v["outer"] + (v["inner"] << _SIGNIFICAND // 2))[:2 * _SIGNIFICAND]
        moved = v["wide"] >> v["fine"]
        addend = Cat(moved[_LOST] | moved[:_LOST].any(), moved[_LOST + 1:])
        addend = Mux(v["convert"], v["integer"], addend)
        return {"product": product, "addend": addend[:_WINDOW], **self._passed(v, "top")}

    def _add(self, v):
        """Sum or both differences."""
        product, addend = Cat(Const(0, _BELOW), v["product"]), v["addend"]
        subtract = (v["product_sign"] ^ v["sign"]) & ~v["convert"]
        total = Mux(subtract, product - addend, product + addend)
        return {"total": total[:_WINDOW + 1], "other": (addend - product)[:_WINDOW + 1],
                "subtract": subtract, **self._passed(v, "top")}

    def _count(self, v):
        """The magnitude, its sign, and how many zeros it begins with."""
        less = v["subtract"] & v["total"][-1]  # the product is
        magnitude = Signal(_WINDOW + 1)
        self._m.d.comb += magnitude.eq(Mux(less, v["other"], v["total"]))
        zeros, empty = leading_zeros(self._m, magnitude)
        # equal magnitudes of different signs make +0
        sign = Mux(v["convert"], v["sign"],
                   Mux(v["subtract"], Mux(less, v["sign"], v["product_sign"] & ~empty),
                       v["product_sign"]))
        top = Mux(v["convert"], BIAS + _WINDOW, v["top"])[:11].as_signed()
        return {"magnitude": magnitude, "zeros": zeros, "empty": empty, "sign": sign,
                "top": top, "deficit": 1 - top, "nan": v["nan"], "infinite": v["infinite"],
                "infinite_sign": v["infinite_sign"]}

    def _normalise(self, v):
        """The highest one to the top."""
        field = v["top"] - v["zeros"]
        # how far it is below the least exponent: zeros and a constant decide, side by side
        distance = Signal(signed(12))
        self._m.d.comb += distance.eq(v["zeros"] + v["deficit"])
        too_far = distance[_FAR.bit_length():-1].any()
        shift = Mux(distance[-1], 0, Mux(too_far, _FAR, distance[:_FAR.bit_length()]))
        moved = (v["magnitude"] << v["zeros"])[:_WINDOW + 1]
        below = _WINDOW + 1 - _SIGNIFICAND - 2
        return {"field": field[:11].as_signed(), "shift": shift, "kept": moved[below:],
                "sticky": moved[:below].any(),
                **{name: v[name] for name in ("empty", "sign", "nan", "infinite",
                                              "infinite_sign")}}

    def _denormalise(self, v):
        """Shift a subnormal result right, and detect overflow."""
        tiny = v["field"] < 1
        wide = Cat(Const(0, _FAR), v["kept"]) >> v["shift"]
        too_large = (v["field"] >= 255) & ~v["empty"]
        return {"kept": wide[_FAR:], "sticky": v["sticky"] | wide[:_FAR].any(),
                "field": Mux(tiny | v["empty"], 0, v["field"] - 1)[:8],
                "infinite": v["infinite"] | too_large,
                "sign": Mux(v["infinite"], v["infinite_sign"], v["sign"]), "nan": v["nan"]}

    def _round(self, v):
        """Nearest, even; the carry may go through to infinity."""
        significand, half = v["kept"][2:], v["kept"][1]
        rest = v["kept"][0] | v["sticky"]
        packed = round_to_even(v["field"], significand, half, rest)
        number = Cat(Mux(v["infinite"], INFINITY, packed)[:31], v["sign"])
        return Mux(v["nan"], FLOAT_NAN, number)
