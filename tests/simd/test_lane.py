# amaranth: UnusedElaboratable=no
"""Lane: model against exact arithmetic, RTL against model, checkers against faults."""

import operator
import random
from fractions import Fraction

import numpy as np
import pytest
from amaranth.hdl import Mux

from cyclebound.golden import floating
from cyclebound.golden.simd.lane import evaluate
from cyclebound.golden.simd.lane_operations import LaneOperation as Op
from cyclebound.golden.simd.lane_operations import operands_of
from cyclebound.golden.simd.special_tables import NAN
from cyclebound.hdl.simd.lane import Lane
from cyclebound.tb.float_cases import hard_pair
from cyclebound.tb.simd.lane import NAMES, WORDS, hard_operation
from cyclebound.tb.simd.lane_properties import LaneCheck

from ..sim.mutant_tests import mutant_tests
from ..sim.mutants import Mutant

unit = pytest.mark.unit
LANE = "simd.lane"
SIGN, MASK, INFINITY = 0x8000_0000, 0xFFFF_FFFF, 0x7F80_0000
TESTS = {"EZ": operator.eq, "NZ": operator.ne, "G": operator.gt, "GE": operator.ge,
         "L": operator.lt, "LE": operator.le}
MUTANTS = (
    Mutant(LANE, "sticky bit lost in alignment", "wide[_FAR] | wide[:_FAR].any()",
           "wide[_FAR]"),
    Mutant(LANE, "sticky bit lost in a product", "moved[0] | lost.any()", "moved[0]"),
    Mutant(LANE, "subnormal numbers normalised", "~value[-size:].any() & budget[power:].any()",
           "~value[-size:].any()"),
    Mutant(LANE, "-0 from equal terms", "great.sign & ~zero", "great.sign"),
    Mutant(LANE, "a NaN wins", "~a.nan & (b.nan | smaller)", "smaller"),
    Mutant(LANE, "integer products without their addend",
           'v["product"][:32] + v["addend"]', 'v["product"][:32]'),
    Mutant(LANE, "integers converted as signed ones",
           'self._is(op.IBFIND), left[-1],', 'self._is(op.IBFIND, op.I2F), left[-1],'),
    Mutant(LANE, "right shifts logical", "self._is(LaneOperation.SHR) & a.sign", "0"),
)


def words(*values):
    return np.array(values, dtype=np.uint32)


def signed(word):
    return word - (1 << 32) if word & SIGN else word


def one(operation, *operands):
    return int(evaluate(operation, *(words(value) for value in operands))[0])


def extreme(a, b, least):
    numbers = [value for value in (a, b) if not floating.is_nan(value)]
    if not numbers:
        return NAN
    return (min if least else max)(
        numbers, key=lambda bits: (-(bits & ~SIGN), 0) if bits & SIGN else (bits, 1))


def holds(relation, kind, a):
    if kind == "I":
        return TESTS[relation](signed(a), 0)
    order = {"<": -1, "=": 0, ">": 1}.get(floating.compare(a, 0))
    return relation == "NZ" if order is None else TESTS[relation](order, 0)


EXACT = {
    Op.MOV: lambda a, b, c: a,
    Op.FADD: lambda a, b, c: floating.add(a, b),
    Op.FSUB: lambda a, b, c: floating.add(a, b ^ SIGN),
    Op.FMUL: lambda a, b, c: floating.multiply(a, b),
    Op.FNMUL: lambda a, b, c: floating.multiply(a, b ^ SIGN),
    Op.FMAD: lambda a, b, c: floating.add(floating.multiply(a, b), c),
    Op.FNMAD: lambda a, b, c: floating.add(floating.multiply(a, b ^ SIGN), c),
    Op.FMIN: lambda a, b, c: extreme(a, b, True),
    Op.FMAX: lambda a, b, c: extreme(a, b, False),
    Op.FABS: lambda a, b, c: a & ~SIGN,
    **{Op[f"{kind}TEST_{relation}"]:
       lambda a, b, c, relation=relation, kind=kind: int(holds(relation, kind, a))
       for kind in "FI" for relation in TESTS},
    Op.I2F: lambda a, b, c: floating.rounded(a, 0),
    Op.F2I: lambda a, b, c: floating.to_int(a),
    Op.IADD: lambda a, b, c: a + b,
    Op.ISUB: lambda a, b, c: a - b,
    Op.IMUL: lambda a, b, c: a * b,
    Op.IMAD: lambda a, b, c: a * b + c,
    Op.IMIN: lambda a, b, c: min(signed(a), signed(b)),
    Op.IMAX: lambda a, b, c: max(signed(a), signed(b)),
    Op.AND: lambda a, b, c: a & b,
    Op.OR: lambda a, b, c: a | b,
    Op.XOR: lambda a, b, c: a ^ b,
    Op.NOT: lambda a, b, c: ~a,
    Op.INEG: lambda a, b, c: -a,
    Op.SHL: lambda a, b, c: a << b % 32,
    Op.SHR: lambda a, b, c: signed(a) >> b % 32,
    Op.IBFIND: lambda a, b, c: (a if a < SIGN else ~a & MASK).bit_length() - 1,
}


@unit
@pytest.mark.parametrize("operation", Op, ids=lambda operation: operation.name)
def test_golden_model_is_exact(operation):
    """Against integers and fractions with one rounding, on special words and hard numbers."""
    rng = random.Random(operation.name)
    triples = [(a, b, rng.choice(WORDS)) for a in WORDS for b in WORDS]
    triples += [(*hard_pair(rng), rng.getrandbits(32)) for _ in range(300)]
    triples += [hard_operation(rng)[1:] for _ in range(300)]
    columns = np.array(triples, dtype=np.uint32).T
    got = evaluate(operation, *columns)
    assert got.dtype == np.uint32
    expected = [EXACT[operation](*triple) & MASK for triple in triples]
    wrong = [(*map(hex, triple), hex(int(seen)), hex(right))
             for triple, seen, right in zip(triples, got, expected, strict=True) if seen != right]
    assert not wrong


@unit
def test_mad_rounds_twice():
    """(1 + 2**-12)**2 - 1: fused, 2**-24 would remain."""
    a, minus_one = 0x3F80_0800, 0xBF80_0000
    assert floating.value_of(one(Op.FMAD, a, a, minus_one)) == Fraction(1, 2**11)
    assert floating.value_of(floating.fused(a, a, minus_one)) == (
        Fraction(1, 2**11) + Fraction(1, 2**24))


@unit
def test_golden_model_takes_any_shape_and_no_other_type():
    assert evaluate(Op.FADD, np.zeros((2, 0), np.uint32), np.zeros((2, 0), np.uint32)
                    ).shape == (2, 0)
    assert evaluate(Op.NOT, words(1, 2)).tolist() == [MASK - 1, MASK - 2]
    with pytest.raises(TypeError, match=r"^b must be an array of uint32, not of int64$"):
        evaluate(Op.IADD, words(1), np.array([1]))
    with pytest.raises(ValueError, match=r"^99 is not a valid LaneOperation$"):
        evaluate(99, words(1))


@unit
@pytest.mark.parametrize("operation", Op, ids=lambda operation: operation.name)
def test_operands_that_are_not_read_do_not_matter(operation):
    rng = random.Random(operation.name)
    read = operands_of(operation)
    for number in range(3):
        pairs = []
        for _ in range(60):
            first = [rng.choice((0, rng.getrandbits(32) >> rng.randrange(32))) for _ in range(3)]
            second = list(first)
            second[number] = rng.getrandbits(32)
            pairs.append((one(operation, *first), one(operation, *second)))
        assert any(before != after for before, after in pairs) == (number < read)


@unit
def test_stages_are_checked():
    for bad in (0, 14):
        with pytest.raises(ValueError, match=f"^stages must be from 1 to 13, not {bad}$"):
            Lane(stages=bad)
    with pytest.raises(TypeError, match=r"^stages must be an integer, not None$"):
        Lane(stages=None)


def some_operations(seed, count):
    rng = random.Random(seed)
    made = [(operation, *rng.choices(WORDS, k=3)) for operation in Op for _ in range(3)]
    return made + [hard_operation(rng) for _ in range(count)]


@unit
@pytest.mark.parametrize("stages", [5, 13])
def test_rtl_is_bit_equal_to_the_golden_model(play, stages):
    steps = some_operations(stages, 100)
    assert play(Lane(stages=stages), NAMES, steps) == [
        one(operation, *operands) for operation, *operands in steps]


@unit
@pytest.mark.parametrize(("says", "fault"), [
    ("a result at the wrong time", lambda m, inner, outer: m.d.comb.__iadd__(outer.done.eq(1))),
    ("not what the operation says", lambda m, inner, outer: m.d.comb.__iadd__(
        outer.result.eq(Mux(inner.result == 0, 0x8000_0000, inner.result)))),
    ("another NaN", lambda m, inner, outer: m.d.comb.__iadd__(
        outer.result.eq(inner.result ^ ((inner.result == NAN) << 31)))),
], ids=["late", "wrong", "nan"])
def test_checkers_fire(play, tampered, says, fault):
    dut = tampered(Lane(stages=2), fault)
    steps = [(Op.FADD, INFINITY, INFINITY | SIGN, 0)] * 2 if says == "another NaN" else (
        some_operations(1, 0))
    with pytest.raises(AssertionError, match=says):
        play(dut, NAMES, steps, LaneCheck(dut))


@unit
def test_checker_is_quiet(play):
    dut = Lane(stages=5)
    assert len(play(dut, NAMES, some_operations(2, 20), LaneCheck(dut))) > 120


test_edit_fits_the_rtl, test_the_testbench_finds = mutant_tests(MUTANTS, quick=1)
