"""Lane: floating point, integers and logic on 32-bit words.

Ref: Sim-D, section 3.1: 128
"single-precision arithmetic units (SP-units), performing boolean, integer and floating-point
operations on 32-bit values", in a five-stage execute pipeline.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.lane_operations import LaneOperation
from cyclebound.golden.simd.special_tables import NAN
from cyclebound.hdl.float_format import BIAS, FRACTION, INFINITY, round_to_even, unpack
from cyclebound.hdl.simd.step_pipeline import check_stages, run_steps

__all__ = ["Lane"]

_SIGNIFICAND = FRACTION + 1
_PRODUCT = 2 * _SIGNIFICAND  # bits
_BELOW = 7                   # bits of a sum below the significand; the last one is sticky
_SUM = 1 + _SIGNIFICAND + _BELOW
_FAR = 31                    # to the right, nothing but a sticky bit is left
_MINUS_ZERO = 0x8000_0000

_PRODUCTS = LaneOperation.FMUL, LaneOperation.FNMUL
_FUSED = LaneOperation.FMAD, LaneOperation.FNMAD
_SUMS = LaneOperation.FADD, LaneOperation.FSUB
_TESTS = {"EZ": lambda zero, below: zero, "NZ": lambda zero, below: ~zero,
          "G": lambda zero, below: ~zero & ~below, "GE": lambda zero, below: zero | ~below,
          "L": lambda zero, below: ~zero & below, "LE": lambda zero, below: zero | below}


class Lane(wiring.Component):
    """An operation in each cycle, each cycle another if need be.

    A multiplier and, after it, an adder, each of which rounds: a sum is ``a * 1 + b``, a product
    ``a * b + (-0)``, both exact where they should do nothing. The adder's normalisation also
    converts integers and finds the highest bit. Integer products take the same multiplier.

    Latency: ``stages`` cycles from operands to ``result``. Throughput: one per cycle. There is
    nothing that it waits for.

    Parameters
    ----------
    stages : int
        Registers, spread over `STEPS` steps: 1 to `STEPS`. 5 are the execute stages of the paper's
        evaluation; with all of them, every step has a register of its own.

    Members
    -------
    valid : In(1)
        There are operands.
    operation : In(LaneOperation)
        The operation.
    a, b, c : In(32)
        Operands 0, 1 and 2.
    done : Out(1)
        ``valid``, ``stages`` cycles later.
    result : Out(32)
        Of a test, 1 or 0.

    Attributes
    ----------
    STEPS : int
        Of the datapath.
    """

    STEPS = 13

    def __init__(self, *, stages=5):
        check_stages(stages, self.STEPS)
        self.stages = stages
        super().__init__({"valid": In(1), "operation": In(LaneOperation), "a": In(32),
                          "b": In(32), "c": In(32), "done": Out(1), "result": Out(32)})

    def elaborate(self, platform):
        m = Module()
        self._m = m
        valid = Signal(self.stages)
        m.d.sync += valid.eq(Cat(self.valid, valid[:-1]))
        values = run_steps(m, (self._prepare, self._multiply, self._add_parts, self._shift_product,
                               self._normalise_product, self._finish_product, self._round_product,
                               self._order, self._align, self._sum, self._normalise_sum,
                               self._finish_sum, self._round_sum), stages=self.stages)
        m.d.comb += [self.done.eq(valid[-1]), self.result.eq(values["result"])]
        return m

    # -- the multiplier, and beside it whatever is no floating point -------------------------------

    def _is(self, *operations):
        return Cat(self.operation == operation for operation in operations).any()

    def _prepare(self, _):
        a, b = unpack(self.a), unpack(self.b)
        multiplies, integer = self._is(*_PRODUCTS, *_FUSED), self._is(LaneOperation.IMUL,
                                                                      LaneOperation.IMAD)
        negative = self._is(LaneOperation.FNMUL, LaneOperation.FNMAD)
        field = Signal(signed(10))  # of a product with its highest bit set
        self._m.d.comb += field.eq(a.exponent + Mux(multiplies, b.exponent, BIAS) - (BIAS - 1))
        minuend = Cat(self.b[:-1], self.b[-1] ^ self._is(LaneOperation.FSUB))
        addend = Mux(self._is(*_SUMS), minuend,
                     Mux(self._is(*_FUSED, LaneOperation.IMAD), self.c,
                         Mux(integer, 0, _MINUS_ZERO)))
        return {
            "left": Mux(integer, self.a, a.significand),
            "right": Mux(integer, self.b, Mux(multiplies, b.significand, 1 << FRACTION)),
            "addend": addend[:32], "field": field, "integer": integer,
            "sign": a.sign ^ (multiplies & b.sign) ^ negative,
            "nan": a.nan | (multiplies & (b.nan | (a.infinite & b.zero) | (a.zero & b.infinite))),
            "infinite": a.infinite | (multiplies & b.infinite),
            "floats": self._is(*_PRODUCTS, *_FUSED, *_SUMS, LaneOperation.I2F),
            "direct": self._is(LaneOperation.I2F, LaneOperation.IBFIND),
            "find": self._is(LaneOperation.IBFIND),
            **self._prepare_shift(a), "plain": self._plain(a, b),
        }

    def _prepare_shift(self, a):
        """One shifter to the right: left shifts turn the word round, and so come its results; a
        float's integer part is its significand from the top of the word downwards."""
        truncates, left = self._is(LaneOperation.F2I), self._is(LaneOperation.SHL)
        distance = Signal(signed(9))
        self._m.d.comb += distance.eq(BIAS + 31 - self.a[FRACTION:-1])
        return {
            "wide": Mux(truncates, Cat(Const(0, 8), self.a[:FRACTION], Const(1, 1)),
                        Mux(left, self.a[::-1], self.a)),
            "amount": Mux(truncates, distance[:5], self.b[:5]),
            "fill": self._is(LaneOperation.SHR) & a.sign, "turned": left, "truncates": truncates,
            "shifts": self._is(LaneOperation.SHL, LaneOperation.SHR, LaneOperation.F2I),
            "below_one": truncates & (a.nan | (distance > 31)), "too_large": distance <= 0,
            "minus": a.sign,
        }

    def _plain(self, a, b):
        """Results that need one sum or less."""
        left, right, op = self.a, self.b, LaneOperation
        negates, subtracts = self._is(op.INEG), self._is(op.INEG, op.ISUB)
        total = (Mux(negates, 0, left) + (Mux(negates, left, right) ^ subtracts.replicate(32))
                 + subtracts)[:32]
        # patterns in the order of their numbers
        whole = self._is(op.IMIN, op.IMAX)
        keys = [Cat(Mux(word[-1] & ~whole, ~word[:-1], word[:-1]), ~word[-1])
                for word in (left, right)]
        smaller = (keys[0] < keys[1]) == self._is(op.FMIN, op.IMIN)
        first = Mux(whole, smaller, ~a.nan & (b.nan | smaller))
        extreme = Mux(a.nan & b.nan & ~whole, NAN, Mux(first, left, right))
        result = Mux(self._is(op.FMIN, op.FMAX, op.IMIN, op.IMAX), extreme, Mux(
            self._is(op.IADD, op.ISUB, op.INEG), total, Mux(
                self._is(op.AND), left & right, Mux(
                    self._is(op.OR), left | right, Mux(
                        self._is(op.XOR), left ^ right, Mux(
                            self._is(op.FABS), left[:-1], left ^ Mux(
                                self._is(op.IBFIND), left[-1],
                                self._is(op.NOT)).replicate(32)))))))
        for relation, holds in _TESTS.items():
            number = holds(a.zero, a.sign) & (~a.nan | (relation == "NZ"))
            result = Mux(self._is(op[f"FTEST_{relation}"]), number, result)
            result = Mux(self._is(op[f"ITEST_{relation}"]), holds(~left.any(), left[-1]), result)
        return result[:32]

    @staticmethod
    def _passed(values, *more):
        """Pick the values that later steps need unchanged."""
        return {name: values[name] for name in ("sign", "nan", "infinite", "floats", "find",
                                                *more)}

    def _multiply(self, v):
        """Four products of halves; the shift."""
        parts = {f"part_{i}{j}": v["left"].word_select(i, 16) * v["right"].word_select(j, 16)
                 for i in range(2) for j in range(2)}
        shifted = (Cat(v["wide"], v["fill"]).as_signed() >> v["amount"])[:32]
        return {**parts, **self._passed(v, "addend", "field", "integer", "direct", "plain",
                                        "turned", "truncates", "shifts", "below_one", "too_large",
                                        "minus"), "shifted": shifted}

    def _add_parts(self, v):
        product = (Cat(v["part_00"], v["part_11"])
                   + ((v["part_01"] + v["part_10"]) << 16))[:_PRODUCT]
        shifted = v["shifted"]
        limit = Mux(v["minus"], 0x8000_0000, 0x7FFF_FFFF)
        truncated = Mux(v["below_one"], 0, Mux(v["too_large"], limit,
                                               Mux(v["minus"], -shifted, shifted)))
        word = Mux(v["truncates"], truncated, Mux(v["turned"], shifted[::-1], shifted))
        return {**self._passed(v, "addend", "field", "integer", "direct"), "product": product,
                "word": Mux(v["shifts"], word, v["plain"])[:32]}

    def _shift_product(self, v):
        """Shift a product right whose exponent is below the least; keeps a sticky bit."""
        normal = v["field"] > 0
        distance = Signal(signed(11))
        self._m.d.comb += distance.eq(1 - v["field"])
        back = Mux(normal, 0, Mux(distance > _FAR, _FAR, distance[:_FAR.bit_length()]))
        lost = v["product"][:_FAR] & ~(Const(-1, _FAR) << back)[:_FAR]
        moved = v["product"] >> back
        budget = Mux(normal, Mux(v["field"] > 63, 63, v["field"] - 1), 0)
        word = Mux(v["integer"], v["product"][:32] + v["addend"], v["word"])
        return {**self._passed(v, "addend", "direct"), "word": word[:32],
                "value": Cat(moved[0] | lost.any(), moved[1:]), "budget": budget[:6],
                "exponent": Mux(normal, v["field"], 1)[:9].as_unsigned()}

    def _normalised(self, v, name, powers):
        """Shift left by powers of two, while only zeros are shifted out and the budget allows.

        The budget is what would make the exponent 1. If it was not used up by a greater power, its
        bit stays, and allows all of the lesser ones: there are fewer zeros than the budget.
        """
        value, budget, exponent = v["value"], v["budget"], v["exponent"]
        for power in powers:
            size, place = 1 << power, f"{name}_{power}"
            moves = Signal(name=f"{place}_moves")
            moved, remaining, lower = (
                Signal(len(word), name=f"{place}_{what}") for what, word in
                (("value", value), ("budget", budget), ("exponent", exponent)))
            self._m.d.comb += [
                moves.eq(~value[-size:].any() & budget[power:].any()),
                moved.eq(Mux(moves, value << size, value)),
                remaining.eq(budget & Mux(moves, ~size, -1)), lower.eq(exponent - (moves << power)),
            ]
            value, budget, exponent = moved, remaining, lower
        return {"value": value, "budget": budget, "exponent": exponent}

    def _normalise_product(self, v):
        return {**self._passed(v, "addend", "direct", "word"),
                **self._normalised(v, "product", (5, 4, 3))}

    def _finish_product(self, v):
        return {**self._passed(v, "addend", "direct", "word"),
                **self._normalised(v, "product", (2, 1, 0))}

    def _rounded(self, v, below):
        """A pattern without its sign; whether it is too large for one."""
        value, exponent = v["value"], v["exponent"]
        normal = value[-1]
        pattern = round_to_even(Mux(normal, exponent - 1, 0)[:8], value[below:], value[below - 1],
                                value[:below - 1].any())
        return pattern, normal & (exponent >= 0xFF)

    def _round_product(self, v):
        pattern, too_large = self._rounded(v, _PRODUCT - _SIGNIFICAND)
        magnitude = Mux(v["infinite"] | too_large, INFINITY, pattern)[:31]
        return {**{name: v[name] for name in ("nan", "floats", "find", "addend", "direct", "word")},
                "product": Cat(magnitude, v["sign"])}

    # -- the adder ---------------------------------------------------------------------------------

    def _order(self, v):
        """The greater magnitude, and how far to the right the other one belongs."""
        words = v["product"], v["addend"]
        swap = words[1][:-1] > words[0][:-1]
        great, less = (unpack(Mux(swap, *pair)) for pair in (words[::-1], words))
        subtract = great.sign ^ less.sign
        # equal magnitudes of different signs make +0
        zero = subtract & (words[0][:-1] == words[1][:-1])
        distance = great.exponent - less.exponent
        return {**{name: v[name] for name in ("floats", "find", "direct", "word")},
                "great": great.significand, "less": less.significand, "subtract": subtract,
                "exponent": great.exponent, "sign": great.sign & ~zero & ~v["direct"],
                "distance": Mux(distance[5:8].any(), _FAR, distance[:5]),
                "nan": (v["nan"] | great.nan | less.nan | (less.infinite & subtract))
                & ~v["direct"],
                "infinite": great.infinite & ~v["direct"]}

    def _align(self, v):
        wide = Cat(Const(0, _FAR + _BELOW), v["less"]) >> v["distance"]
        aligned = Cat(wide[_FAR] | wide[:_FAR].any(), wide[_FAR + 1:])
        return {**self._passed(v, "direct", "word", "great", "subtract", "exponent"),
                "aligned": aligned[:_SIGNIFICAND + _BELOW]}

    def _sum(self, v):
        """Or a word to be normalised, whose highest bit is worth 2**31."""
        great = Cat(Const(0, _BELOW), v["great"])
        total = Mux(v["subtract"], great - v["aligned"], great + v["aligned"])
        exponent = v["exponent"]
        return {**self._passed(v, "word"), "value": Mux(v["direct"], v["word"], total)[:_SUM],
                "exponent": Mux(v["direct"], BIAS + 31, exponent + 1)[:9],
                "budget": Mux(v["direct"] | exponent[5:].any(), 31, exponent[:5])}

    def _normalise_sum(self, v):
        return {**self._passed(v, "word"), **self._normalised(v, "sum", (4, 3, 2))}

    def _finish_sum(self, v):
        return {**self._passed(v, "word"), **self._normalised(v, "sum", (1, 0))}

    def _round_sum(self, v):
        pattern, too_large = self._rounded(v, 1 + _BELOW)
        number = Mux(v["nan"], NAN, Cat(
            Mux(v["infinite"] | too_large, INFINITY, pattern)[:31], v["sign"]))
        place = Mux(v["value"][-1], (v["exponent"] - BIAS)[:5], 0xFFFF_FFFF)
        return {"result": Mux(v["floats"], number, Mux(v["find"], place, v["word"]))}
