"""Small programs for SHMAC's core whose time depends on their data, written for its analysis.

Each is a function that begins at `cyclebound.tools.shmac.known_wcet.START` and returns, reads words
from `INPUTS` on, in which the caller may put anything that ``values`` allows, and writes from
`NEAR` on. Comments that say how often a loop's head is executed are facts for
`cyclebound.tools.shmac.wcet`; it finds the other bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.tools.shmac.known_wcet import INPUTS, NEAR

__all__ = ["PROGRAMS", "ExampleProgram"]


@dataclass(frozen=True)
class ExampleProgram:
    """A program.

    Attributes
    ----------
    name : str
        What it does.
    text : str
        In assembly language.
    words : int
        Of its input.
    values : tuple of int or None
        What each of them may be; None: any number of 32 bits.
    worst : tuple of int
        The input for which it takes longest.
    exact : bool
        Whether the bound is that input's time.
    """

    name: str
    text: str
    words: int
    values: tuple[int, ...] | None
    worst: Sequence[int]
    exact: bool = True


_HEAD = f"""
        lui  $t8, {INPUTS >> 16}
        ori  $t8, $t8, {INPUTS & 0xFFFF:#x}     # the input
        lui  $t9, {NEAR >> 16}
        ori  $t9, $t9, {NEAR & 0xFFFF:#x}       # the result
"""
_ANY = None
_BYTES = tuple(range(256))
_SMALL = tuple(range(8))

PROGRAMS = (
    ExampleProgram("bubble sort", "sort:" + _HEAD + """
        addiu $t0, $0, 7            # pairs in this turn
turn:   move  $t1, $t8
        move  $t2, $t0
pair:   lw    $t3, 0($t1)           # total 28
        lw    $t4, 4($t1)
        slt   $t5, $t4, $t3
        beq   $t5, $0, kept
        addiu $t2, $t2, -1
        sw    $t4, 0($t1)
        sw    $t3, 4($t1)
kept:   bne   $t2, $0, pair
        addiu $t1, $t1, 4
        addiu $t0, $t0, -1
        bgtz  $t0, turn
        nop
        jr    $ra
        nop
""", 8, _ANY, (8, 7, 6, 5, 4, 3, 2, 1)),
    ExampleProgram("insertion sort", "sort:" + _HEAD + """
        addiu $t0, $0, 4            # offset of the word that is put in its place
next:   addu  $t1, $t8, $t0
        lw    $t2, 0($t1)
down:   lw    $t3, -4($t1)          # total 28
        slt   $t4, $t2, $t3
        beq   $t4, $0, here
        nop
        sw    $t3, 0($t1)
        addiu $t1, $t1, -4
        bne   $t1, $t8, down
        nop
here:   sw    $t2, 0($t1)
        addiu $t0, $t0, 4
        slti  $t4, $t0, 32
        bne   $t4, $0, next
        nop
        jr    $ra
        nop
""", 8, _ANY, (8, 7, 6, 5, 4, 3, 2, 1)),
    ExampleProgram("matrix product", "product:" + _HEAD + """
        li    $t0, 0                # row, in bytes
row:    li    $t1, 0                # column
column: li    $t2, 0
        li    $t3, 0
term:   sll   $t4, $t0, 2
        addu  $t4, $t4, $t2
        addu  $t4, $t4, $t8
        lw    $t5, 0($t4)
        sll   $t4, $t2, 2
        addu  $t4, $t4, $t1
        addu  $t4, $t4, $t8
        lw    $t6, 64($t4)
        addiu $t2, $t2, 4
        mult  $t5, $t6
        mflo  $t5
        slti  $t7, $t2, 16
        bne   $t7, $0, term
        addu  $t3, $t3, $t5
        sll   $t4, $t0, 2
        addu  $t4, $t4, $t1
        addu  $t4, $t4, $t9
        sw    $t3, 0($t4)
        addiu $t1, $t1, 4
        slti  $t7, $t1, 16
        bne   $t7, $0, column
        nop
        addiu $t0, $t0, 4
        slti  $t7, $t0, 16
        bne   $t7, $0, row
        nop
        jr    $ra
        nop
""", 32, _ANY, range(32)),
    ExampleProgram("FIR filter", "filter:" + _HEAD + """
        li    $t0, 12               # samples
sample: li    $t1, 4                # taps
        move  $t2, $t8
        li    $t3, 0
tap:    lw    $t4, 0($t2)
        lw    $t5, 64($t2)
        addiu $t1, $t1, -1
        mult  $t4, $t5
        mflo  $t4
        addu  $t3, $t3, $t4
        bne   $t1, $0, tap
        addiu $t2, $t2, 4
        slti  $t4, $t3, 0x7fff      # saturate
        bne   $t4, $0, small
        nop
        li    $t3, 0x7fff
small:  sw    $t3, 0($t9)
        addiu $t8, $t8, 4
        addiu $t0, $t0, -1
        bgtz  $t0, sample
        addiu $t9, $t9, 4
        jr    $ra
        nop
""", 32, _ANY, (9999,) * 32),
    ExampleProgram("CRC-32", "crc:" + _HEAD + """
        addiu $v0, $0, -1
        lui   $t7, 0xedb8
        ori   $t7, $t7, 0x8320
        addiu $t6, $t8, 16          # the end
byte:   lbu   $t0, 0($t8)
        addiu $t8, $t8, 1
        xor   $v0, $v0, $t0
        li    $t1, 8
bit:    andi  $t2, $v0, 1
        srl   $v0, $v0, 1
        beq   $t2, $0, even
        addiu $t1, $t1, -1
        xor   $v0, $v0, $t7
even:   bne   $t1, $0, bit
        nop
        bne   $t8, $t6, byte
        nop
        nor   $v0, $v0, $0
        jr    $ra
        sw    $v0, 0($t9)
""", 4, _ANY, (), exact=False),
    ExampleProgram("binary search", "search:" + _HEAD + """
        lw    $t0, 0($t8)           # what is searched
        li    $t1, 0                # from here
        li    $t2, 16               # to before here
half:   slt   $t3, $t1, $t2         # bound 6
        beq   $t3, $0, absent
        addu  $t3, $t1, $t2
        srl   $t3, $t3, 1
        sll   $t4, $t3, 2
        addu  $t4, $t4, $t8
        lw    $t5, 4($t4)
        nop
        beq   $t5, $t0, found
        slt   $t6, $t5, $t0
        bne   $t6, $0, right
        nop
        b     half
        move  $t2, $t3
right:  b     half
        addiu $t1, $t3, 1
absent: addiu $t3, $0, -1
found:  jr    $ra
        sw    $t3, 0($t9)
""", 17, tuple(range(64)), (), exact=False),
    ExampleProgram("linear search", "search:" + _HEAD + """
        lw    $t0, 0($t8)
        li    $t1, 0
here:   addiu $t8, $t8, 4
        lw    $t2, 0($t8)
        nop
        beq   $t2, $t0, found
        nop
        addiu $t1, $t1, 1
        slti  $t3, $t1, 15
        bne   $t3, $0, here
        nop
        addiu $t1, $0, -1
found:  jr    $ra
        sw    $t1, 0($t9)
""", 16, _SMALL, (7, *[0] * 15)),
    ExampleProgram("comparison of strings", "compare:" + _HEAD + """
        addiu $t7, $t8, 32
char:   lbu   $t0, 0($t8)
        lbu   $t1, 32($t8)
        nop
        bne   $t0, $t1, differ
        addiu $t8, $t8, 1
        beq   $t0, $0, same
        nop
        bne   $t8, $t7, char
        nop
same:   jr    $ra
        sw    $0, 0($t9)
differ: subu  $t0, $t0, $t1
        jr    $ra
        sw    $t0, 0($t9)
""", 16, _ANY, (0x41414141,) * 16),
    ExampleProgram("copy with a tail", "copy:" + _HEAD + """
        lw    $t0, 0($t8)
        nop
        andi  $t0, $t0, 31          # bytes
        srl   $t1, $t0, 2
        blez  $t1, tail
        andi  $t0, $t0, 3
word:   lw    $t2, 4($t8)
        addiu $t1, $t1, -1
        sw    $t2, 0($t9)
        addiu $t8, $t8, 4
        bgtz  $t1, word
        addiu $t9, $t9, 4
tail:   blez  $t0, done
        nop
byte:   lbu   $t2, 4($t8)
        addiu $t0, $t0, -1
        sb    $t2, 0($t9)
        addiu $t8, $t8, 1
        bgtz  $t0, byte
        addiu $t9, $t9, 1
done:   jr    $ra
        nop
""", 9, _ANY, (31, *range(8))),
    ExampleProgram("greatest common divisor", "gcd:" + _HEAD + """
        lhu   $t0, 0($t8)
        lhu   $t1, 4($t8)
        nop
step:   beq   $t1, $0, done         # bound 24
        nop
        divu  $t0, $t1
        move  $t0, $t1
        b     step
        mfhi  $t1
done:   jr    $ra
        sw    $t0, 0($t9)
""", 2, tuple(value << 16 for value in (*range(1, 64), 46368, 28657, 17711, 65535)),
                   (28657 << 16, 46368 << 16)),
    ExampleProgram("square root", "root:" + _HEAD + """
        lw    $t0, 0($t8)
        lui   $t1, 0x4000           # a bit
        li    $t2, 0
        li    $t5, 16
bit:    addu  $t3, $t2, $t1
        sltu  $t4, $t0, $t3
        bne   $t4, $0, zero
        srl   $t2, $t2, 1
        subu  $t0, $t0, $t3
        addu  $t2, $t2, $t1
zero:   addiu $t5, $t5, -1
        bne   $t5, $0, bit
        srl   $t1, $t1, 2
        jr    $ra
        sw    $t2, 0($t9)
""", 1, _ANY, (0xFFFF_FFFF,)),
    ExampleProgram("decimal digits", "print:" + _HEAD + """
        lw    $t0, 0($t8)
        li    $t1, 10
        addiu $t9, $t9, 12
digit:  divu  $t0, $t1              # bound 10
        mflo  $t0
        mfhi  $t2
        addiu $t2, $t2, 48
        sb    $t2, 0($t9)
        bne   $t0, $0, digit
        addiu $t9, $t9, -1
        jr    $ra
        nop
""", 1, _ANY, (0xFFFF_FFFF,)),
    ExampleProgram("histogram", "histogram:" + _HEAD + """
        li    $t0, 16
count:  lbu   $t1, 0($t8)
        addiu $t8, $t8, 1
        andi  $t1, $t1, 7
        sll   $t1, $t1, 2
        addu  $t1, $t1, $t9
        lw    $t2, 0($t1)
        addiu $t0, $t0, -1
        addiu $t2, $t2, 1
        bne   $t0, $0, count
        sw    $t2, 0($t1)
        jr    $ra
        nop
""", 4, _ANY, (0, 1, 2, 3)),
    ExampleProgram("moving maximum, with a call", "filter:" + _HEAD + """
        addiu $sp, $sp, -12
        sw    $ra, 8($sp)
        sw    $s0, 4($sp)
        sw    $s1, 0($sp)
        li    $s0, 0
        li    $s1, 0
step:   addu  $t0, $t8, $s0
        lw    $a0, 0($t0)
        jal   most
        move  $a1, $s1
        move  $s1, $v0
        addu  $t0, $t9, $s0
        sw    $s1, 0($t0)
        addiu $s0, $s0, 4
        sltiu $t0, $s0, 40
        bne   $t0, $0, step
        nop
        lw    $s1, 0($sp)
        lw    $s0, 4($sp)
        lw    $ra, 8($sp)
        jr    $ra
        addiu $sp, $sp, 12
most:   slt   $t0, $a0, $a1
        bne   $t0, $0, other
        move  $v0, $a1
        move  $v0, $a0
other:  jr    $ra
        nop
""", 10, _SMALL, range(10)),
    ExampleProgram("shortest paths", "paths:" + _HEAD + """
        li    $t0, 0                # by way of
way:    li    $t1, 0                # from
from:   sll   $t4, $t1, 2
        addu  $t4, $t4, $t0
        addu  $t4, $t4, $t8
        lw    $t5, 0($t4)
        li    $t2, 0                # to
to:     sll   $t4, $t0, 2
        addu  $t4, $t4, $t2
        addu  $t4, $t4, $t8
        lw    $t6, 0($t4)
        sll   $t4, $t1, 2
        addu  $t4, $t4, $t2
        addu  $t4, $t4, $t8
        lw    $t7, 0($t4)
        addu  $t6, $t6, $t5
        slt   $t3, $t6, $t7
        beq   $t3, $0, longer
        addiu $t2, $t2, 4
        sw    $t6, 0($t4)
longer: slti  $t3, $t2, 16
        bne   $t3, $0, to
        nop
        addiu $t1, $t1, 4
        slti  $t3, $t1, 16
        bne   $t3, $0, from
        nop
        addiu $t0, $t0, 4
        slti  $t3, $t0, 16
        bne   $t3, $0, way
        nop
        jr    $ra
        nop
""", 16, tuple(range(30)), (), exact=False),
    ExampleProgram("state machine", "scan:" + _HEAD + """
        li    $t0, 0                # state: outside, in a word, in a number
        li    $t7, 24
char:   lbu   $t1, 0($t8)
        addiu $t8, $t8, 1
        slti  $t2, $t1, 48
        bne   $t2, $0, space
        slti  $t2, $t1, 58
        bne   $t2, $0, digit
        nop
        bne   $t0, $0, next         # a letter
        nop
        lw    $t3, 0($t9)
        addiu $t3, $t3, 1
        sw    $t3, 0($t9)
        b     next
        li    $t0, 1
digit:  bne   $t0, $0, next
        nop
        lw    $t3, 4($t9)
        addiu $t3, $t3, 1
        sw    $t3, 4($t9)
        b     next
        li    $t0, 2
space:  li    $t0, 0
next:   addiu $t7, $t7, -1
        bgtz  $t7, char
        nop
        jr    $ra
        nop
""", 6, (0x20412041, 0x41204120, 0x20202020, 0x30203120, 0x41414141), (), exact=False),
    ExampleProgram("prime numbers", "sieve:" + _HEAD + """
        li    $t0, 2
clear:  addu  $t1, $t9, $t0
        sb    $0, 0($t1)
        addiu $t0, $t0, 1
        slti  $t2, $t0, 40
        bne   $t2, $0, clear
        li    $t3, 1
        li    $t0, 2
prime:  addu  $t1, $t9, $t0
        lbu   $t2, 0($t1)
        addu  $t4, $t0, $t0
        bne   $t2, $0, done
        nop
strike: slti  $t2, $t4, 40          # bound 19, total 58
        beq   $t2, $0, done
        addu  $t1, $t9, $t4
        addu  $t4, $t4, $t0
        b     strike
        sb    $t3, 0($t1)
done:   addiu $t0, $t0, 1
        slti  $t2, $t0, 40
        bne   $t2, $0, prime
        nop
        jr    $ra
        nop
""", 0, (), (), exact=False),
    ExampleProgram("counter under a lock", "count:" + _HEAD + """
        li    $t7, 5
again:  ll    $t0, 0($t8)           # total 5: nothing else writes
        addiu $t0, $t0, 1
        sc    $t0, 0($t8)
        beq   $t0, $0, again
        nop
        addiu $t7, $t7, -1
        bne   $t7, $0, again
        nop
        jr    $ra
        nop
""", 1, _ANY, (3,)),
    ExampleProgram("dot product of floats' mantissas", "dot:" + _HEAD + """
        li    $t0, 8
        li    $v0, 0
pair:   lw    $t1, 0($t8)
        lw    $t2, 32($t8)
        addiu $t8, $t8, 4
        sll   $t1, $t1, 9
        srl   $t1, $t1, 9
        sll   $t2, $t2, 9
        srl   $t2, $t2, 9
        multu $t1, $t2
        mfhi  $t3
        beq   $t3, $0, light
        addiu $t0, $t0, -1
        addu  $v0, $v0, $t3
light:  bne   $t0, $0, pair
        nop
        jr    $ra
        sw    $v0, 0($t9)
""", 16, _ANY, (0x7FFFFF,) * 16),
    ExampleProgram("longest run of ones", "run:" + _HEAD + """
        lw    $t0, 0($t8)
        li    $t1, 0
strip:  beq   $t0, $0, done         # bound 33
        sll   $t2, $t0, 1
        and   $t0, $t0, $t2
        b     strip
        addiu $t1, $t1, 1
done:   jr    $ra
        sw    $t1, 0($t9)
""", 1, _ANY, (0xFFFF_FFFF,)),
)
"""All of them."""
