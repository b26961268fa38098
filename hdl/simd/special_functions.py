"""Reciprocal unit: 1/x, 1/sqrt(x), sine and cosine in single precision.

Ref: Sim-D, section 3.1: one
unit for every four lanes, pipelined, "modelled using four multipliers and various look-up tables".
The algorithm is in docs/simd-arithmetic.md.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.special_tables import (
    COEFFICIENTS,
    FRACTION_BITS,
    NAN,
    OFFSET_BITS,
    SQUARE_BITS,
    TWO_OVER_PI,
    TWO_OVER_PI_BITS,
    SpecialFunction,
)
from cyclebound.hdl.float_format import BIAS, FRACTION, INFINITY, unpack
from cyclebound.hdl.leading_zeros import leading_zeros
from cyclebound.hdl.simd.step_pipeline import check_stages, run_steps

__all__ = ["SpecialFunctions"]

_SIGNIFICAND = FRACTION + 1
_ONE = BIAS << FRACTION
_SMALL = BIAS - 12     # exponent field below which an angle is its own sine
_WORD = 28              # bits of one of three words of 2 / pi
_KEPT = 58              # bits of the angle's fraction of a quarter
_FACTOR = 28            # bits of its significand
_ROWS = 6               # bits that choose an interval of it
_CONSTANT, _FIRST, _SECOND = 31, 24, 16  # widths of coefficients


class SpecialFunctions(wiring.Component):
    """Computes a function of one number in each cycle; the function may change in each cycle.

    A row of a table has a quadratic for an interval: of x itself, without its exponent, or of the
    angle's distance from the nearest quarter of a turn. For a sine, the quadratic is multiplied by
    that distance, so that it is exact to the last place near every zero of the sine.

    Latency: ``stages`` cycles from ``operand`` to ``result``. Throughput: one per cycle. There is
    nothing that it waits for.

    Parameters
    ----------
    stages : int
        Registers, spread over `STEPS` steps: 1 to `STEPS`. 5 are the execute stages of the paper's
        evaluation; with all of them, every step has a register of its own.

    Members
    -------
    valid : In(1)
        There is an operand.
    function : In(SpecialFunction)
        The function to compute.
    operand : In(32)
        A number of single precision.
    done : Out(1)
        ``valid``, ``stages`` cycles later.
    result : Out(32)
        Its function; of `NAN` and its like, `NAN`.

    Attributes
    ----------
    STEPS : int
        Of the datapath.
    """

    STEPS = 11

    def __init__(self, *, stages=5):
        check_stages(stages, self.STEPS)
        self.stages = stages
        super().__init__({"valid": In(1), "function": In(SpecialFunction), "operand": In(32),
                          "done": Out(1), "result": Out(32)})

    def elaborate(self, platform):
        m = Module()
        self._m = m
        valid = Signal(self.stages)
        m.d.sync += valid.eq(Cat(self.valid, valid[:-1]))
        values = run_steps(m, (self._unpack, self._choose_window, self._multiply_words,
                               self._reduce, self._locate, self._look_up, self._multiply,
                               self._sum, self._scale, self._normalise, self._round),
                           stages=self.stages)
        m.d.comb += [self.done.eq(valid[-1]), self.result.eq(values["result"])]
        return m

    @staticmethod
    def _passed(values, *more):
        """Pick the values that later steps need unchanged."""
        return {name: values[name] for name in ("circular", "cosine", "given", "value", "sign",
                                                *more)}

    def _unpack(self, _):
        """A significand with its top bit set; results that are given at once."""
        x, function = self.operand, self.function
        number, field = unpack(x), x[FRACTION:-1]
        sign, zero, infinite = number.sign, number.zero, number.infinite
        circular, reciprocal = function[1], function == SpecialFunction.RCP
        zeros, _ = leading_zeros(self._m, number.significand)
        exponent = Signal(signed(9))
        self._m.d.comb += exponent.eq(number.exponent - BIAS - zeros)

        small = field < _SMALL
        invalid = number.nan | Mux(circular, infinite, ~reciprocal & sign & ~zero)
        endless = ~circular & zero
        given = invalid | Mux(circular, small, zero | infinite)
        value = Mux(invalid, NAN, Mux(circular,
                                      Mux(function == SpecialFunction.COS, _ONE, x),
                                      Cat(Const(0, FRACTION), endless.replicate(8), sign)))
        return {"circular": circular, "cosine": function[0], "given": given,
                "value": value[:32], "field": field,
                "sign": sign & (reciprocal | (function == SpecialFunction.SIN)),
                "exponent": exponent, "reciprocal": reciprocal,
                "significand": (number.significand << zeros)[:_SIGNIFICAND]}

    def _choose_window(self, v):
        """The bits of 2 / pi that count for this exponent, three words of them."""
        point = 3 * _WORD - 2
        words = [(TWO_OVER_PI >> TWO_OVER_PI_BITS - point - (field - BIAS - FRACTION))
                 % (1 << 3 * _WORD) if _SMALL <= field < 255 else 0 for field in range(256)]
        read = self._table("windows", 3 * _WORD, words)
        self._m.d.comb += read.addr.eq(v["field"])
        return {"window": read.data, **self._passed(v, "exponent", "reciprocal", "significand")}

    def _table(self, name, width, words):
        """A read port; it has no register, so that synthesis takes that of the next step."""
        self._m.submodules[name] = memory = Memory(shape=width, depth=len(words), init=words)
        return memory.read_port(domain="comb")

    def _multiply_words(self, v):
        return {**{f"part_{number}": v["significand"] * v["window"].word_select(number, _WORD)
                   for number in range(3)},
                **self._passed(v, "exponent", "reciprocal", "significand")}

    def _reduce(self, v):
        """The nearest quarter of a turn, and the distance from it."""
        low = v["part_0"]
        middle = v["part_1"] + low[_WORD:]
        high = (v["part_2"] + middle[_WORD:])[:_WORD]
        below = _KEPT - (_WORD - 2) - _WORD
        fraction = Cat(low[_WORD - below:_WORD], middle[:_WORD], high[:-2])
        folded = fraction[-1]
        distance = Mux(folded, ~fraction, fraction)[:_KEPT]
        quadrant = (high[-2:] + folded + v["cosine"])[:2]  # from the sine's first
        cosine = quadrant[0]
        minus = quadrant[1] ^ (folded & ~cosine) ^ v["sign"]
        return {**self._passed(v, "exponent", "reciprocal", "significand"), "distance": distance,
                "cosine": cosine, "sign": Mux(v["circular"], minus, v["sign"])}

    def _locate(self, v):
        """Row of the table, and the offset in its interval; exponent of the result."""
        distance, exponent = v["distance"], v["exponent"]
        zeros, _ = leading_zeros(self._m, distance)
        ahead, fraction = _KEPT - 1 - _ROWS, v["significand"][:-1]
        angle = Cat(distance[ahead - OFFSET_BITS:ahead + _ROWS], v["cosine"], Const(0b11, 2))
        number = Cat(Const(0, OFFSET_BITS + 7 - FRACTION), fraction,
                     Mux(v["reciprocal"], 0, Mux(exponent[0], 2, 1)))
        # 2 / x, and 2 / sqrt(x), are from 1 to 2
        scale = Mux(v["circular"], Mux(v["cosine"], -1, -1 - zeros),
                    ~Mux(v["reciprocal"], exponent, exponent >> 1))
        return {**self._passed(v, "distance"), "zeros": zeros,
                "place": Mux(v["circular"], angle, number)[:OFFSET_BITS + 9],
                "field": (scale + BIAS)[:10].as_signed()}

    def _look_up(self, v):
        words = [constant | first % (1 << _FIRST) << _CONSTANT
                 | second % (1 << _SECOND) << _CONSTANT + _FIRST
                 for constant, first, second in COEFFICIENTS]
        read = self._table("coefficients", _CONSTANT + _FIRST + _SECOND, words)
        self._m.d.comb += read.addr.eq(v["place"][OFFSET_BITS:])
        # from the middle of the interval
        offset = Cat(v["place"][:OFFSET_BITS - 1], ~v["place"][OFFSET_BITS - 1]).as_signed()
        square = (offset * offset)[2 * (OFFSET_BITS - 1) - SQUARE_BITS:]
        factor = (v["distance"] << v["zeros"])[_KEPT - _FACTOR:_KEPT]
        return {**self._passed(v, "field"), "row": read.data, "offset": offset,
                "square": square[:SQUARE_BITS + 1],
                "factor": Mux(v["circular"] & ~v["cosine"], factor, 0)[:_FACTOR]}

    def _multiply(self, v):
        row = v["row"]
        first = row[_CONSTANT:_CONSTANT + _FIRST].as_signed()
        second = row[_CONSTANT + _FIRST:].as_signed()
        return {**self._passed(v, "field", "factor"), "constant": row[:_CONSTANT],
                "linear": first * v["offset"], "quadratic": second * v["square"]}

    def _sum(self, v):
        """Add the terms, in units of an offset's times a coefficient's last place."""
        places = OFFSET_BITS - 1
        total = (Cat(Const(0, places), v["constant"]) + v["linear"]
                 + (v["quadratic"] << places - SQUARE_BITS))
        return {**self._passed(v, "field", "factor"),
                "function": total[places:places + FRACTION_BITS + 1].as_unsigned()}

    def _scale(self, v):
        """A sine is a multiple of the distance; the others are on the same scale."""
        width = FRACTION_BITS + 1 + _FACTOR
        product = v["function"] * v["factor"]
        ratio = v["circular"] & ~v["cosine"]
        return {**self._passed(v, "field"),
                "product": Mux(ratio, product, Cat(Const(0, _FACTOR), v["function"]))[:width]}

    def _normalise(self, v):
        """The leading bit to the top; below the least exponent (reciprocals only), two back."""
        large = v["product"][-1]
        field = Signal(signed(11))
        self._m.d.comb += field.eq(v["field"] + large)
        kept = Mux(large, v["product"][-_SIGNIFICAND - 1:],
                   v["product"][-_SIGNIFICAND - 2:-1])[:_SIGNIFICAND + 1]
        back = Mux(field > 0, 0, Mux(field == 0, 1, 2))
        return {**self._passed(v), "kept": kept >> back, "endless": field >= 0xFF,
                "field": Mux(field > 0, field - 1, 0)[:8]}

    def _round(self, v):
        """Half a unit up: what is no approximation has no half."""
        kept = v["kept"]
        packed = (Cat(Const(0, FRACTION), v["field"]) + kept[1:] + kept[0])[:31]
        number = Cat(Mux(v["endless"], INFINITY, packed)[:31], v["sign"])
        return {"result": Mux(v["given"], v["value"], number)}
