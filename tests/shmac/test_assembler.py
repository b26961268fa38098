"""The assembler of SHMAC's core."""

import pytest

from cyclebound.golden.shmac.isa import ENCODINGS, encoding_of
from cyclebound.tools.shmac.assembler import AssemblyError, assemble, encode

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("text", "word"), [
    ("addu $v0, $a0, $5", 0x00851021), ("sll $2, $3, 4", 0x00031100), ("jr $ra", 0x03E00008),
    ("srav $2, $3, $4", 0x00831007), ("lw $t0, -4($sp)", 0x8FA8FFFC),
    ("lui $1, 0x8000", 0x3C018000),
    ("mult $4, $5", 0x00850018), ("mfc0 $k0, $14", 0x401A7000), ("rfe", 0x42000010),
    ("bgezal $4, 0x100", 0x0491003F), ("beq $1, $2, 0", 0x1022FFFF), ("jal 0x400", 0x0C000100),
    ("sc $1, ($4)", 0xE0810000), ("ll $2, 8($4)", 0xC0820008), ("jalr $4", 0x0080F809),
    ("syscall", 0x0000000C), ("break", 0x0000000D), ("divu $1, $2", 0x0022001B),
])
def test_words_as_in_the_architecture_manual(text, word):
    assert assemble(text) == [word]


def test_every_instruction_is_decoded_as_encoded():
    for name in ENCODINGS:
        assert encoding_of(encode(name)).name == name


def test_labels_numbers_and_halves():
    words = assemble("""
        start: la $4, data       # two words
               lui $5, %hi(0x18004)
               lw $5, %lo(0x18004)($5)
               li $6, 0x12345678
               li $7, -1
               b start
               move $8, $4
        data:  .word 1, data, -1
               .space 8
    """, origin=0x100)
    assert words[:2] == [0x3C040000, 0x34840124]
    assert words[2:4] == [0x3C050002, 0x8CA58004]
    assert words[4:7] == [0x3C061234, 0x34C65678, 0x2407FFFF]
    assert words[7:] == [0x1000FFF8, 0x00804021, 1, 0x124, 0xFFFF_FFFF, 0, 0]


@pytest.mark.parametrize(("text", "says"), [
    ("nop\nfoo $1", r"^line 2: there is no instruction 'foo'$"),
    ("addu $1, $2", r"^line 1: addu has 3 operands \(rd rs rt\), not 2$"),
    ("addu $1, $2, $32",
     r"^line 1: a register is \$0 to \$31 or has a name such as \$a0, not '\$32'$"),
    ("lw $1, $2", r"^line 1: an address is number\(\$register\), not '\$2'$"),
    ("lw $1, 0x8000($2)", r"^line 1: an address' number must be -32768 to 32767, not 32768$"),
    ("addiu $1, $2, 65536", r"^line 1: immediate must be -32768 to 65535, not 65536$"),
    ("b there", r"^line 1: 'there' is no number, and no label that is known here$"),
    ("a: nop\na: nop", r"^line 2: a is there already$"),
    ("b 2", r"^line 1: a branch's target must be a multiple of 4, not 2$"),
    ("beq $1, $2, 0x100000", r"^line 1: offset must be -32768 to 32767, not 262143$"),
    ("j 0x10000000", r"^line 1: a jump's target must be a multiple of 4 with the highest 4 bits"),
    ("sll $1, $2, 32", r"^line 1: sa must be 0 to 31, not 32$"),
    (".space 3", r"^line 1: space must be a multiple of 4 bytes, not 3$"),
    ("li $1", r"^line 1: li has the operands rt number$"),
])
def test_what_is_no_assembly_language_is_named(text, says):
    with pytest.raises(AssemblyError, match=says):
        assemble(text)


def test_encode_refuses():
    with pytest.raises(ValueError, match=r"^There is no instruction 'foo'$"):
        encode("foo")
    with pytest.raises(ValueError, match=r"^addu has no sa, but rd rs rt$"):
        encode("addu", sa=1)
