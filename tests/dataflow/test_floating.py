"""The exact reference for single precision, against numpy."""

import random
from fractions import Fraction

import numpy as np
import pytest

from cyclebound.golden import floating
from cyclebound.golden.dataflow.compute_unit import evaluate
from cyclebound.golden.dataflow.operations import Operation, operands_of
from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.tb.float_cases import SPECIAL, hard_triple

pytestmark = pytest.mark.unit

_RNG = random.Random("floating")
TRIPLES = [hard_triple(_RNG) for _ in range(3000)]
PAIRS = [(a, b) for a in SPECIAL for b in SPECIAL] + [t[:2] for t in TRIPLES] + [
    (t[0], t[0] ^ _RNG.choice((0, 1, 1 << 31))) for t in TRIPLES[:300]]


def _floats(bits):
    return np.array(bits, dtype=np.uint32).view(np.float32)


def _bits(values):
    """Bit patterns; every NaN is the same one."""
    found = np.asarray(values, dtype=np.float32).view(np.uint32)
    return np.where(np.isnan(values), FLOAT_NAN, found).tolist()


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(("operation", "numpy"), [
    (Operation.FADD, np.add), (Operation.FSUB, np.subtract), (Operation.FMUL, np.multiply)])
def test_arithmetic_is_numpys(operation, numpy):
    left, right = (_floats([pair[i] for pair in PAIRS]) for i in range(2))
    assert [evaluate(operation, pair) for pair in PAIRS] == _bits(numpy(left, right))


@pytest.mark.parametrize(("operation", "numpy"), [
    (Operation.FEQ, np.equal), (Operation.FLT, np.less), (Operation.FLE, np.less_equal)])
def test_comparisons_are_numpys(operation, numpy):
    left, right = (_floats([pair[i] for pair in PAIRS]) for i in range(2))
    assert [evaluate(operation, pair) for pair in PAIRS] == numpy(left, right).tolist()


def test_conversions_are_numpys():
    integers = [0, 1, -1, 2**31 - 1, -2**31, 2**24 + 1, 2**24 + 3, -2**25 - 2] + [
        _RNG.getrandbits(32) - 2**31 >> _RNG.randrange(31) for _ in range(1000)]
    assert [floating.from_int(i & 0xFFFF_FFFF) for i in integers] == _bits(
        np.array(integers, dtype=np.int32).astype(np.float32))
    numbers = [a for a, _, _ in TRIPLES if abs(_floats([a])[0]) < 2.0**31]
    assert len(numbers) > 500
    assert [floating.to_int(a) for a in numbers] == (
        _floats(numbers).astype(np.int32).view(np.uint32).tolist())
    assert [floating.to_int(a) for a in (FLOAT_NAN, 0x7F80_0000, 0xFF80_0000, 0x4F00_0000)] == [
        0, 0x7FFF_FFFF, 0x8000_0000, 0x7FFF_FFFF]


def test_fused_is_the_nearest_number():
    """No neighbour is nearer to the exact value, and of two that are as near, it is the even."""
    looked = 0
    for a, b, c in TRIPLES:
        if any(bits >> 23 & 0xFF == 0xFF for bits in (a, b, c)):
            continue
        exact = floating.value_of(a) * floating.value_of(b) + floating.value_of(c)
        found = floating.fused(a, b, c)
        if found & 0x7FFF_FFFF == floating.INFINITY:
            assert abs(exact) >= Fraction(2) ** 128 - Fraction(2) ** 103
            continue
        error = abs(floating.value_of(found) - exact)
        for near in (found - 1, found + 1):
            if near & 0x7FFF_FFFF < floating.INFINITY and (near ^ found) >> 31 == 0:
                other = abs(floating.value_of(near) - exact)
                assert error < other or (error == other and found & 1 == 0)
        looked += 1
    assert looked > 2000


def test_fused_with_neutral_operands_is_sum_and_product():
    for a, b in PAIRS:
        assert floating.fused(a, 0x3F80_0000, b) == floating.add(a, b)
        assert floating.fused(a, b, 0x8000_0000) == floating.multiply(a, b)


@pytest.mark.parametrize("operation", [op for op in Operation if op < Operation.SELECT])
def test_integers_are_numpys(operation):
    names = {Operation.AND: np.bitwise_and, Operation.OR: np.bitwise_or,
             Operation.XOR: np.bitwise_xor, Operation.ADD: np.add, Operation.SUB: np.subtract,
             Operation.MUL: np.multiply, Operation.EQ: np.equal, Operation.NE: np.not_equal,
             Operation.LT: np.less, Operation.LE: np.less_equal, Operation.LTU: np.less,
             Operation.LEU: np.less_equal, Operation.MIN: np.minimum, Operation.MAX: np.maximum,
             Operation.SHL: np.left_shift, Operation.SHR: np.right_shift,
             Operation.SRA: np.right_shift}
    unsigned = (Operation.LTU, Operation.LEU, Operation.SHR)
    kind = np.uint32 if operation in unsigned else np.int32
    pairs = [(_RNG.getrandbits(32), _RNG.getrandbits(32)) for _ in range(300)]
    pairs += [(a, a) for a, _ in pairs[:20]]
    if "SH" in operation.name or operation == Operation.SRA:
        pairs = [(a, b % 32) for a, b in pairs]
    left, right = (np.array([p[i] for p in pairs], dtype=np.uint32).view(kind) for i in range(2))
    wanted = names[operation](left, right)
    wanted = wanted.astype(np.uint32) if wanted.dtype == bool else wanted.view(np.uint32)
    assert [evaluate(operation, pair) for pair in pairs] == wanted.tolist()


def test_selection_and_operand_counts():
    assert evaluate(Operation.SELECT, (5, 7, 9)) == 7
    assert evaluate(Operation.SELECT, (0, 7, 9)) == 9
    assert [operands_of(op) for op in (Operation.TO_INT, Operation.ADD, Operation.FMA)] == [1, 2, 3]
