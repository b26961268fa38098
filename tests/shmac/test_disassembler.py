"""Words as assembly language: the assembler makes the same words of it."""

import random

import pytest

from cyclebound.golden.shmac.isa import ENCODINGS, encoding_of
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.disassembler import listing, text_of
from cyclebound.tools.shmac.program import assembled

pytestmark = pytest.mark.unit


def test_what_is_read_is_what_was_written():
    rng, seen = random.Random(1), set()
    for _ in range(20_000):
        encoding = rng.choice(list(ENCODINGS.values()))
        noise = rng.getrandbits(32)
        for field in (0x03E0_0000, 0x001F_0000, 0x0000_F800, 0x0000_07C0, 0x0000_FFFF):
            if rng.random() < 0.5:  # else most instructions would have fields that they do not use
                noise &= ~field
        word = encoding.word | (noise & 0x03FF_FFFF if encoding.word >> 26 > 1 else
                                noise & 0x03FF_FFC0 if encoding.word >> 26 == 0 else
                                noise & 0x03E0_FFFF)
        address = 0x1100_0000 + 4 * rng.randrange(1 << 20)
        text = text_of(word, address)
        assert assemble(text, origin=address) == [word], text
        if not text.startswith(".word"):
            assert encoding_of(word) is not None
            seen.add(text.split()[0])
    assert seen | {"nop"} >= set(ENCODINGS)


def test_words_that_are_no_instructions():
    for word in (0x7000_0002, 0xFFFF_FFFF, 0x4600_0000):
        assert text_of(word) == f".word {word:#010x}"
        assert assemble(text_of(word)) == [word]


def test_a_field_that_is_not_used_is_not_lost():
    """ADD with a shift amount is ADD for the core, and no text of ADD."""
    assert text_of(0x0022_1FE0) == ".word 0x00221fe0"


def test_targets_have_the_names_of_labels():
    assert text_of(0x1000_FFFF, 0x100, {0x100: "here"}) == "beq $zero, $zero, here"
    assert text_of(0x0C00_0040, 0, {}) == "jal 0x100"


def test_a_listing_can_be_assembled_again():
    program = assembled("li $t0, 70000\nback: bne $t0, $0, back\naddiu $t0, $t0, -1\n.word 1\n",
                        "x.s", 1, 2)
    lines = [line.split("  ", 2)[2] for line in listing(program)]
    assert assemble("\n".join(lines), origin=program.entry) == list(program.words.values())
