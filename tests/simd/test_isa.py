"""The table of operations, and its encoding."""

import random
from pathlib import Path

import pytest

from cyclebound.golden.simd.isa import (
    OPCODES,
    TABLE,
    Instruction,
    Kind,
    Operand,
    decode,
    encode,
)
from cyclebound.tools.simd.isa_page import page

pytestmark = pytest.mark.unit
V, S, PRED = Kind.VECTOR, Kind.SCALAR, Kind.PREDICATE


def test_every_operation_has_its_own_opcode_and_no_field_twice():
    assert len(OPCODES) == len(TABLE) <= 128
    for operation in TABLE:
        fields = [slot.field for slot in operation.slots]
        assert len(fields) == len(set(fields)), operation.name
        assert len(operation.subops) <= 8
        assert not {"B", "X"} <= set(fields), operation.name  # they share bits
        assert operation.meaning


def test_what_is_encoded_is_decoded(instruction):
    rng = random.Random(1)
    seen = set()
    for _ in range(4000):
        made = instruction(rng, 2048)
        word = encode(made)
        assert 0 <= word < 1 << 64
        assert encode(decode(word)) == word
        seen.add(made.name)
    assert seen == set(OPCODES)


def test_fields_lie_where_the_page_says():
    made = Instruction("mad", "neg", (Operand(V, 1), Operand(V, 2), Operand(S, 3), Operand(V, 4)))
    assert encode(made) == (OPCODES["mad"] | 1 << 7 | 1 << 10 | 2 << 17 | 4 << 23 | 1 << 29
                            | 3 << 32)
    made = Instruction("stglin", "", (Operand(V, 5), Operand(Kind.IMMEDIATE, 6),
                                      Operand(Kind.IMMEDIATE, -1), Operand(S, 7)))
    assert encode(made) == (OPCODES["stglin"] | 5 << 10 | 6 << 17 | 1 << 30 | 0xFFFF << 32
                            | 7 << 48)


@pytest.mark.parametrize(("word", "says"), [
    (0x7F, "opcode must be below 79, not 127"),
    (OPCODES["add"] | 2 << 7, "add: sub-operation must be below 2, not 2"),
    (OPCODES["add"] | 3 << 29, "add: kind of operand B must be below 3, not 3"),
    (OPCODES["add"] | 64 << 32, "add: operand B must be below 64, not 64"),
    (OPCODES["test"] | 4 << 10, "test: operand D must be below 4, not 4"),
    (OPCODES["nop"] | 1 << 10, "nop: unused bits must be 0, not 0x0000000000000400"),
    (OPCODES["j"] | 2048 << 32, "j: operand B must be below 2048, not 2048"),
    (OPCODES["ldglin"] | 40 << 17, "ldglin: operand A must be below 32, not 40"),
    (OPCODES["movvsp"] | 4 << 10, "vc.tid_x cannot be written"),
    (OPCODES["smovssp"] | 1 << 10, "sc.dim_y cannot be written"),
    (OPCODES["ldglin"] | 2 << 7 | 61 << 10, "ldglin.vec4 needs registers v0 to v60"),
    (OPCODES["sldg"] | 30 << 10 | 3 << 32, "sldg to s30 takes 1 to 2 words, not 3"),
])
def test_a_pattern_that_is_no_instruction(word, says):
    with pytest.raises(ValueError, match=r"^" + says.replace("(", r"\(")):
        decode(word)


def test_random_patterns_are_decoded_or_refused():
    rng = random.Random(2)
    legal = 0
    for _ in range(5000):
        word = rng.getrandbits(64) & rng.getrandbits(64) & rng.getrandbits(64)
        try:
            found = decode(word)
        except ValueError:
            continue
        legal += 1
        assert encode(found) == word
    assert legal > 20


def test_the_page_is_what_the_table_says():
    kept = Path(__file__).parents[2] / "docs" / "simd-isa.md"
    assert kept.read_text() == page(), "cyclebound simd isa > docs/simd-isa.md"
