"""The worst case of a program on SHMAC's core: routes, loops, costs, and what is refused."""

import pytest

from cyclebound.golden.shmac.core import CoreModel, Response
from cyclebound.golden.shmac.core_bounds import CLASSES, class_of
from cyclebound.golden.shmac.isa import ENCODINGS, ExcCode
from cyclebound.golden.shmac.memory_waits import MemoryWaits, Region
from cyclebound.tb.shmac.core import LatestMemory
from cyclebound.tools.shmac.known_wcet import (
    FAR,
    INPUTS,
    NEAR,
    RETURN,
    STACK,
    placed_in_memory,
)
from cyclebound.tools.shmac.wcet import loop_bounds
from cyclebound.tools.shmac.wcet.analysis import interrupt, wcet
from cyclebound.tools.shmac.wcet.code import Code, LoopFact, WcetError, assembled
from cyclebound.tools.shmac.wcet.costs import Cost
from cyclebound.tools.shmac.wcet.graph import RouteGraph
from kit import shmac_wcet
from kit.shmac_wcet import AT_ENTRY

pytestmark = pytest.mark.unit
START = 0x100
MEMORY = MemoryWaits([
    Region("code", 0, INPUTS, fetch=3),
    Region("return", RETURN, RETURN + 8, fetch=3),
    Region("near", INPUTS, FAR, read=5, write=2, load_linked=6, store_conditional=7),
    Region("far", FAR, FAR + 0x100, read=40, write=11, after_write=4)])


def bound(text, **more):
    code = assembled(text, origin=START)
    return wcet(code, START, MEMORY, **{"registers": AT_ENTRY, **more})


def measured(code, words=()):
    return shmac_wcet.measured(code, MEMORY, dict(words), start=START)


def lines(text):
    """Statements, one a line."""
    return text.replace("; ", "\n")


def agrees(text, inputs=(), **registers):
    """The bound, which is the time that the core takes."""
    code = assembled(text, origin=START)
    words = {INPUTS + 4 * place: value for place, value in enumerate(inputs)}
    shmac_wcet.follow(code, words, start=START)
    found = bound(text)
    assert found.cycles == measured(code, words) == found.by_paths
    return found


def test_a_straight_line_takes_its_classes_and_waits():
    found = agrees("""
        lui   $t0, 1                # far
        lw    $t1, 0($t0)
        sw    $t1, 4($t0)
        sw    $t1, -8($sp)
        mult  $t1, $t1
        divu  $t1, $t1
        mfc0  $t2, $12
        jr    $ra
        add   $t3, $0, $0
    """)
    assert found.shares == Cost(1 + 3 + 3 + 3 + 34 + 37 + 2 + 1 + 3, 9 * 3, 40 + 11 + 4 + 2)
    assert found.overflows == []
    assert {line.times for line in found.lines} == {1}


def test_every_instruction_has_a_class():
    assert {class_of(name) for name in ENCODINGS} == CLASSES.keys() - {"trap"}


def test_from_reset_the_first_fetch_counts():
    text = "jr $ra\nnop"
    assert bound(text, from_reset=True).cycles == bound(text).cycles + 1 + 3


def test_a_stop_ends_it():
    assert bound("nop\nnop\nend: b end\nnop", stops=[START + 8]).cycles == 2 * (1 + 3)


def test_the_return_may_lie_anywhere():
    memory = MemoryWaits([Region("code", 0, 0x1000, fetch=3), Region("rom", 0x1000, 0x2000, 9)])
    assert wcet(assembled("jr $ra\nnop", origin=START), START, memory).cycles == 1 + 3 + 1 + 9


@pytest.mark.parametrize("slot", ["nop", "lw $t1, -4($sp)"])
def test_the_slot_of_a_branch_is_on_both_ways(slot):
    agrees(f"""
        lui  $t9, {INPUTS >> 16}
        ori  $t9, $t9, {INPUTS & 0xFFFF}
        lw   $t0, 0($t9)
        nop
        beq  $t0, $0, else
        {slot}
        div  $t0, $t0
else:   jr   $ra
        {slot}
    """, [1])


def test_a_branch_in_a_slot_counts_from_there():
    agrees("""
        beq   $0, $0, there
        beq   $0, $0, here          # in the slot: its own slot is at `there`
        div   $0, $0
there:  addiu $t0, $0, 1
        div   $0, $0
here:   jr    $ra
        nop
    """.replace("beq   $0, $0, here ", f"beq $0, $0, {START + 4 + 4 + 8}  "))


COUNTED = {
    "down": ("li $t0, 9", "addiu $t0, $t0, -1; bne $t0, $0, loop; nop", 9),
    "down, in the slot": ("li $t0, 9", "bne $t0, $0, loop; addiu $t0, $t0, -1", 10),
    "down to less than 0": ("li $t0, 9", "addiu $t0, $t0, -4; bgez $t0, loop; nop", 3),
    "down to 0 at most": ("li $t0, 9", "addiu $t0, $t0, -4; bgtz $t0, loop; nop", 3),
    "up from below 0": ("li $t0, -9", "addiu $t0, $t0, 2; bltz $t0, loop; nop", 5),
    "up, until above 0": ("li $t0, -9", "addiu $t0, $t0, 3; blez $t0, loop; nop", 4),
    "up to a limit": (
        "li $t0, -3", "addiu $t0, $t0, 2; slti $t1, $t0, 6; bne $t1, $0, loop; nop", 5),
    "up to an unsigned limit": (
        "li $t0, 1", "addiu $t0, $t0, 1; sltiu $t1, $t0, 6; bne $t1, $0, loop; nop", 5),
    "until not less": (
        "li $t0, 1; li $t2, 7", ("addiu $t0, $t0, 1; slt $t1, $t0, $t2; xori $t1, $t1, 1; "
        "beq $t1, $0, loop; nop"), 6),
    "while the limit is below": (
        "li $t0, 9; li $t2, 3", "addiu $t0, $t0, -1; slt $t1, $t2, $t0; bne $t1, $0, loop; nop",
        6),
    "until it is above": (
        "li $t0, 0; li $t2, 3", "addiu $t0, $t0, 1; slt $t1, $t2, $t0; beq $t1, $0, loop; nop", 4),
    "both sides": (
        "li $t0, 0; li $t2, 9", ("addiu $t0, $t0, 1; addiu $t2, $t2, -1; slt $t1, $t0, $t2; "
        "bne $t1, $0, loop; nop"), 5),
    "to a pointer's end": (
        "addiu $t0, $sp, -64; addiu $t2, $t0, 24", "addiu $t0, $t0, 8; bne $t0, $t2, loop; nop",
        3),
    "by a register": (
        "li $t0, 0; li $t3, 5", "addu $t0, $t0, $t3; slti $t1, $t0, 21; bne $t1, $0, loop; nop",
        5),
    "downwards by a register": (
        "li $t0, 20; li $t3, 5", "subu $t0, $t0, $t3; bgtz $t0, loop; nop", 4),
    "in two steps": (
        "li $t0, 0", ("addiu $t0, $t0, 1; move $t4, $t0; addiu $t0, $t4, 2; slti $t1, $t0, 20; "
        "bne $t1, $0, loop; nop"), 7),
    "on the stack": (
        "li $t0, 6; sw $t0, -4($sp)", ("lw $t0, -4($sp); nop; addiu $t0, $t0, -1; "
        "sw $t0, -4($sp); bgtz $t0, loop; nop"), 6),
    "around the end of the numbers": (
        "li $t0, 9; lui $t2, 0x4000", ("addu $t0, $t0, $t2; addiu $t1, $t0, -9; "
        "bne $t1, $0, loop; nop"), 4),
    "by an odd step": (
        "li $t0, 8", ("addiu $t0, $t0, -3; lui $t1, 0x5555; ori $t1, $t1, 0x5556; addu $t1, $t1, "
        "$t0; lui $t2, 0x5555; ori $t2, $t2, 0x5558; bne $t1, $t2, loop; nop"), 2),
    "once": ("li $t0, 1", "addiu $t0, $t0, -1; bne $t0, $0, loop; nop", 1),
    "equal once": ("li $t0, 5; li $t1, 5", "addiu $t0, $t0, 1; beq $t0, $t1, loop; nop", 1),
    "equal twice": ("li $t0, 5; li $t1, 6", "addiu $t0, $t0, 1; beq $t0, $t1, loop; nop", 2),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counted_loops_are_bounded_exactly(name):
    before, after, rounds = COUNTED[name]
    found = agrees(lines(f"{before}; loop: sw $t0, -8($sp); {after}; jr $ra; nop"))
    heads = {line.address: line.times for line in found.lines}
    at = assembled(lines(f"{before}; loop: nop"), origin=START).symbols["loop"]
    assert heads[at] == rounds
    assert [loop.rounds for loop in found.loops if loop.inferred] == [rounds]


def test_a_loop_that_tests_first_is_left_in_its_head():
    agrees("""
        li    $t0, 0
loop:   slti  $t1, $t0, 5
        beq   $t1, $0, end
        nop
        div   $t0, $t0
        b     loop
        addiu $t0, $t0, 1
end:    jr    $ra
        nop
    """)


def test_a_range_bounds_a_loop():
    text = """
        lui   $t9, 0x1
        lbu   $t0, 0($t9)
        andi  $t0, $t0, 7
        blez  $t0, end
        sll   $t1, $t0, 2
        addu  $t1, $t1, $t9
loop:   addiu $t1, $t1, -4
        bne   $t1, $t9, loop
        nop
end:    jr    $ra
        nop
    """
    assert [loop.rounds for loop in bound(text).loops] == [7]
    text = "loop: addiu $a0, $a0, -1\nbgtz $a0, loop\nnop\njr $ra\nnop"
    assert [loop.rounds for loop in bound(text, registers={4: (-3, 12)}).loops] == [12]


def test_a_call_has_the_bounds_of_its_caller():
    found = agrees("""
        addiu $sp, $sp, -8
        sw    $ra, 0($sp)
        sw    $s0, 4($sp)
        li    $s0, 3
loop:   jal   work
        li    $a0, 5
        jal   work
        li    $a0, 2
        addiu $s0, $s0, -1
        bne   $s0, $0, loop
        nop
        lw    $ra, 0($sp)
        lw    $s0, 4($sp)
        jr    $ra
        addiu $sp, $sp, 8
work:   addiu $sp, $sp, -4
        sw    $s0, 0($sp)
        move  $s0, $a0
inner:  addiu $s0, $s0, -1
        bne   $s0, $0, inner
        nop
        lw    $s0, 0($sp)
        jr    $ra
        addiu $sp, $sp, 4
    """)
    assert [loop.rounds for loop in found.loops] == [3, 5, 2]


def test_a_call_by_register_and_one_that_may_not_be_made():
    agrees(f"""
        move   $t7, $ra
        la     $t9, work
        jalr   $t8, $t9
        nop
        lui    $t6, {INPUTS >> 16}
        ori    $t6, $t6, {INPUTS & 0xFFFF}
        lw     $t0, 0($t6)
        nop
        bltzal $t0, other
        div    $t0, $t0
        jr     $t7
        nop
work:   jr     $t8
        mult   $0, $0
other:  jr     $ra
        mult   $0, $0
    """, [0xFFFF_FFFF])


def test_a_branch_that_goes_one_way_is_known():
    found = agrees("""
        li   $t0, 5
        slti $t1, $t0, 9
        beq  $t1, $0, never
        nop
        jr   $ra
        nop
never:  div  $t0, $t0
        b    never
        nop
    """)
    assert len(found.lines) == 6


def test_addresses_choose_the_region():
    found = agrees(f"""
        lui   $t0, {NEAR >> 16}
        ori   $t0, $t0, {NEAR & 0xFFFF}
        li    $t1, 4
loop:   sll   $t2, $t1, 2
        addu  $t2, $t2, $t0
        lw    $t3, 0($t2)
        addiu $t1, $t1, -1
        bne   $t1, $0, loop
        nop
        jr    $ra
        nop
    """)
    assert found.shares.data == 4 * 5
    assert bound("lw $t0, 0($a0)\njr $ra\nnop").shares.data == 40  # anywhere: the farthest
    assert bound("lw $t0, 0($a0)\njr $ra\nnop",
                 registers={4: (INPUTS, FAR - 4)}).shares.data == 5


def test_an_overflow_is_named():
    found = bound("add $t0, $a0, $a1\naddi $t1, $0, 7\njr $ra\nnop",
                  registers={4: (0, 1 << 30), 5: (0, 1 << 30)})
    assert found.overflows == [START]


def test_facts_of_comments():
    code = assembled("a: nop # bound 3, total 7\n# bound 9\nb: nop\nc: # total 2\nnop", origin=16)
    assert code.facts == {16: LoopFact(3, 7), 20: LoopFact(9), 24: LoopFact(None, 2)}
    assert [code.place(address) for address in (12, 16, 24, 28)] == [
        "0xc", "a (0x10)", "c (0x18)", "c+0x4 (0x1c)"]
    with pytest.raises(WcetError, match=r"^line 2: bound takes .* at least 1, not '0'$"):
        assembled("nop\nnop # bound 0")


def test_a_total_is_less_than_the_product():
    text = """
        li    $t0, 4
outer:  lw    $t1, -4($sp)
inner:  addiu $t1, $t1, -1          # bound 4 {total}
        bgtz  $t1, inner
        nop
        addiu $t0, $t0, -1
        bne   $t0, $0, outer
        nop
        jr    $ra
        nop
    """
    said, unsaid = (bound(text.format(total=total)) for total in (", total 10", ""))
    assert said.cycles == unsaid.cycles - 6 * 3 * (1 + 3)
    assert said.by_paths == unsaid.by_paths == unsaid.cycles


TRIANGLES = {
    "down": ("li $t0, 4", "move $t1, $t0", "addiu $t1, $t1, -1; bne $t1, $0, inner; nop",
             "addiu $t0, $t0, -1; bne $t0, $0, outer; nop", [4, 3, 2, 1]),
    "up": ("li $t0, 0", "li $t1, -1",
           "addiu $t1, $t1, 1; slt $t2, $t1, $t0; bne $t2, $0, inner; nop",
           "addiu $t0, $t0, 1; slti $t2, $t0, 5; bne $t2, $0, outer; nop", [1, 2, 3, 4, 5]),
    "times four": ("li $t0, 0", "sll $t1, $t0, 2; addu $t1, $t1, $sp",
                   "addiu $t1, $t1, 4; addiu $t2, $sp, 20; bne $t1, $t2, inner; nop",
                   "addiu $t0, $t0, 1; slti $t2, $t0, 5; bne $t2, $0, outer; nop", [5, 4, 3, 2, 1]),
}


@pytest.mark.parametrize("name", TRIANGLES)
def test_a_loop_may_differ_from_round_to_round_of_another(name):
    begins, enters, inner, outer, rounds = TRIANGLES[name]
    found = agrees(lines(f"{begins}; outer: {enters}; inner: sw $t0, -4($sp); {inner}; {outer}; "
                         "jr $ra; nop"))
    assert found.loops[1].rounds == max(rounds)
    assert max(line.times for line in found.lines) == sum(rounds)


def test_a_loop_that_one_counter_begins_and_another_one_ends():
    """Both of the loop around it: only round by round are they known together."""
    text = lines("li $t0, 0; li $t3, 8; outer: li $t4, 2; middle: move $t1, $t0; sll $t2, $t3, 0; "
                 "inner: addiu $t1, $t1, 4; bne $t1, $t2, inner; nop; addiu $t4, $t4, -1; "
                 "bne $t4, $0, middle; nop; addiu $t0, $t0, 12; addiu $t3, $t3, 12; "
                 "slti $t1, $t0, 30; bne $t1, $0, outer; nop; jr $ra; nop")
    assert [loop.rounds for loop in agrees(text).loops] == [3, 2, 2]
    with pytest.raises(WcetError, match="has no bound"):  # their distance is no multiple of 4
        bound(text.replace("addiu $t3, $t3, 12", "addiu $t3, $t3, 13"))


def test_a_round_may_not_come_to_a_loop():
    """In the last one the test leaves before."""
    agrees("""
        li    $t0, 0
outer:  slti  $t1, $t0, 4
        beq   $t1, $0, end
        move  $t2, $t0
inner:  addiu $t2, $t2, 1
        slti  $t1, $t2, 5
        bne   $t1, $0, inner
        nop
        b     outer
        addiu $t0, $t0, 1
end:    jr    $ra
        nop
    """)


@pytest.mark.parametrize(("text", "message"), [
    ("f: jal f; nop", r"^recursion: the call at f \(0x100\) of f \(0x100\) is made while"),
    ("f: jal g; nop; jr $ra; nop; g: jal h; nop; jr $ra; nop; h: jal g; nop",
     r"^recursion: the call at h \(0x120\) of g \(0x110\) is made while it is under way$"),
    ("lw $t0, 0($a0); jr $t0; nop", r"^jr \$t0 at 0x104 leads to an address that is not known$"),
    ("f: lw $t0, 0($a0); nop; jalr $t0; nop",
     r"^jalr \$t0 at f\+0x8 \(0x108\) leads to an address that is not known$"),
    ("la $t0, 6; jr $t0; nop", r"^jr \$t0 at 0x108 leads to 0x6, which is no multiple of 4$"),
    ("jr $ra; b 0x80", r"^the delay slot of a call or return has a branch, at 0x104$"),
    ("syscall", r"^syscall at 0x100 makes an exception, and time in its handler is not bounded$"),
    (".word 0x4c000000", r"^0x4c000000 at 0x100 is no instruction of this core$"),
    ("nop; nop", r"^0x104 leads to 0x108, where the program has no instruction$"),
    ("f: lw $t0, 0($a0); nop; bne $t0, $0, f; nop; jr $ra; nop",
     r"^the loop at f \(0x100\) has no bound: nothing that counts its rounds was found"),
    ("f: b f; nop", r"^the loop at f \(0x100\) has no bound"),
    ("beq $a0, $0, two; nop; one: nop; two: bne $a1, $0, one; nop; jr $ra; nop",
     r"^a loop must be entered at one instruction, and one is at one \(0x108\) and at two"),
    ("nop # bound 4; jr $ra; nop",
     r"^a bound is stated at 0x100, which is no loop's head; heads of loops are none$"),
    ("li $t0, 9; l: addiu $t0, $t0, -1 # bound 8; bne $t0, $0, l; nop; jr $ra; nop",
     r"^the loop at l \(0x104\) is said to execute its head 8 times, and executes it 9 times at "),
    ("sw $t0, 0($0); jr $ra; nop", r"^sw at 0x100: no region has a write at 0x0$"),
    ("lui $t0, 1; ll $t0, 0($t0); jr $ra; nop", r"^ll at 0x104: no region has a load linked at "),
    ("m: addiu $t0, $t0, 1 # bound 3; bne $a0, $0, m; nop; b m; nop", r"^no route ends$"),
    (("li $t0, 4; l: addiu $t0, $t0, -1 # total 3; bne $t0, $0, l; nop; bne $a0, $0, e; nop; "
     "li $t0, 2; m: addiu $t0, $t0, -1; bne $t0, $0, m; nop; e: jr $ra; nop"),
     r"^the loop at l \(0x104\) is said to execute its head 3 times, and executes it 4 times at "),
])
def test_refuses(text, message):
    with pytest.raises(WcetError, match=message):
        bound(lines(text))


def test_refuses_loops_too_deep(monkeypatch):
    def nested(many):
        return "".join(f"l{number}: nop; " for number in range(many)) + "".join(
            f"addiu $t0, $t0, -1; bne $t0, $0, l{number}; nop; "
            for number in reversed(range(many))) + "jr $ra; nop"

    with pytest.raises(WcetError, match=r"^loops must be nested 50 deep at most, and more are "):
        bound(lines(nested(60)))
    monkeypatch.setattr(loop_bounds, "_MOST_WORK", 100)
    with pytest.raises(WcetError, match=r"^its loops, in each other, take more than 100 steps to "):
        bound(lines(nested(20)))


# What counts, and is no bound: it may pass the end of the numbers, or miss its limit.
@pytest.mark.parametrize("text", [
    "l: addiu $a0, $a0, 1; slti $t1, $a0, 9; beq $t1, $0, l; nop",
    "l: addiu $a0, $a0, 2; sltu $t1, $a0, $a1; bne $t1, $0, l; nop",
    "li $t0, 9; l: addiu $t0, $t0, -2; bne $t0, $0, l; nop",
    "li $t0, 9; l: addiu $t0, $t0, -1; sltu $t1, $t0, $0; beq $t1, $0, l; nop",
    "li $t0, 0; l: lbu $t1, 0($sp); addiu $t0, $t0, 1; bne $t0, $t1, l; nop",
    ("li $t0, 9; l: lw $t1, 0($sp); nop; beq $t1, $0, n; nop; addiu $t0, $t0, -1; "
     "n: bne $t0, $0, l; nop"),
    ("li $t0, 9; sw $t0, -4($sp); l: lw $t0, -4($sp); nop; addiu $t0, $t0, -1; sw $t0, -4($sp); "
     "sw $t1, 0($a0); bne $t0, $0, l; nop"),
    ("li $t0, 9; l: lw $t1, 0($sp); nop; bne $t1, $0, l; nop; addiu $t0, $t0, -1; "
     "bne $t0, $0, l; nop"),
    "li $t0, 3; l: addiu $t0, $t0, -1; sll $t1, $t0, 1; bne $t1, $0, l; nop",
], ids=["up from anything", "past the end", "misses 0", "below 0", "a limit that changes",
        "not in each round", "on the stack, overwritten", "a test that some rounds do without",
        "a multiple of what is counted"])
def test_what_is_no_bound(text):
    with pytest.raises(WcetError, match=r"^the loop at l \(0x1..\) has no bound"):
        bound(lines(f"{text}; jr $ra; nop"))


def test_what_goes_round_once_keeps_the_counter_around_it():
    found = agrees("""
        li    $s0, 3
        move  $s7, $ra
outer:  addiu $t0, $0, 1
        sw    $t0, -4($sp)
once:   jal   saves
        lw    $t0, -4($sp)
        nop
        addiu $t0, $t0, -1
        sw    $t0, -4($sp)
        bgtz  $t0, once
        nop
        addiu $s0, $s0, -1
        bne   $s0, $0, outer
        nop
        jr    $s7
saves:  sw    $s0, -8($sp)
        lui   $s0, 1
        lw    $s0, -8($sp)
        jr    $ra
        nop
    """)
    assert [loop.rounds for loop in found.loops] == [3, 1]


def test_a_test_is_in_every_round(monkeypatch):
    """Without this rule the last but one of these programs would have a bound."""
    text = lines("li $t0, 9; l: lw $t1, 0($sp); nop; bne $t1, $0, l; nop; addiu $t0, $t0, -1; "
                 "bne $t0, $0, l; nop; jr $ra; nop")
    monkeypatch.setattr(loop_bounds._Pass, "_steps", lambda *arguments: {8: -1})
    with pytest.raises(WcetError, match="has no bound"):
        bound(text)
    monkeypatch.setattr(loop_bounds, "round_without", lambda *arguments: False)
    found = loop_bounds.analysed(RouteGraph(assembled(text, origin=START), START))
    assert [loop.rounds for loop in found.bounds.values()] == [9]


def test_a_branch_narrows_what_it_compares():
    text = "blez $a0, e; nop; l: addiu $a0, $a0, -1; bne $a0, $0, l; nop; e: jr $ra; nop"
    assert [loop.rounds for loop in bound(lines(text), registers={4: (-9, 12)}).loops] == [12]
    with pytest.raises(WcetError, match="has no bound"):
        bound(lines(text.replace("blez", "bltz")), registers={4: (-9, 12)})


def test_a_branch_narrows_no_other_register():
    """The code of BGEZ is in the field of a second operand, and is 1: $at."""
    with pytest.raises(WcetError, match="has no bound"):
        bound(lines("lbu $at, 0($sp); lbu $t0, 4($sp); addiu $t0, $t0, -5; addiu $at, $at, -5; "
                    "bgez $t0, go; nop; jr $ra; nop; go: addiu $at, $at, 1; "
                    "l: addiu $at, $at, -1; bne $at, $0, l; nop; jr $ra; nop"))


def test_the_stack_is_not_overwritten_by_what_is_elsewhere():
    text = lines("li $t0, 9; sw $t0, -4($sp); l: lw $t0, -4($sp); nop; addiu $t0, $t0, -1; "
                 "sw $t0, -4($sp); sw $t1, 0($a0); bne $t0, $0, l; nop; jr $ra; nop")
    registers = {**AT_ENTRY, 4: (INPUTS, STACK - 8)}
    assert [loop.rounds for loop in bound(text, registers=registers).loops] == [9]


HANDLER = """
        lui   $k0, 1
        lw    $k1, 0($k0)
        nop
        addiu $k1, $k1, 1
        sw    $k1, 0($k0)
        mfc0  $k1, $14
        nop
        jr    $k1
        rfe
"""


def interrupted(code, at):
    """Cycles of a program that returns, with an interrupt that comes in a cycle."""
    model = CoreModel(reset_address=START, vector=0x80)
    model.machine.registers[29:32] = [STACK, 0, RETURN]
    model.machine.status = 0x0401
    memory = LatestMemory(placed_in_memory(code.words, {}), MEMORY)
    begun = line = taken = None
    for cycle in range(10_000):
        if begun is not None and cycle == begun + at:
            line = 1
        ready, response = memory.cycle(model.request)
        shown = model.step(ready=ready, response=response, lines=line or 0)
        if shown.begins and begun is None:
            begun = cycle
        if shown.retired and shown.retired.exception is ExcCode.INT:
            line, taken = 0, model.machine.epc
        if shown.begins and shown.pc == RETURN:
            return cycle - begun, taken
    raise AssertionError("it did not return")


def test_an_interrupt_adds_no_more_than_its_handler():
    """In each cycle of a program once; in a delay slot, it adds exactly as much as is said."""
    code = assembled(lines(
        "move $s0, $ra; li $t0, 3; loop: lw $t1, -8($sp); addiu $t0, $t0, -1; bne $t0, $0, loop; "
        "div $t0, $t0; jal f; mult $t0, $t0; jr $s0; nop; f: jr $ra; nop"), origin=START)
    handler = assembled(HANDLER, origin=0x80)
    both = Code({**code.words, **handler.words}, code.symbols)
    alone = bound_of(both, START)
    each = interrupt(both, 0x80, MEMORY)
    least = []
    for at in range(alone):
        cycles, taken = interrupted(both, at)
        if taken not in (None, RETURN):
            assert cycles <= alone + each
            least.append(cycles - alone)
    assert max(least) == each  # where it comes in a slot
    assert min(least) == each - 1 - 3  # anywhere else


def bound_of(code, start):
    return wcet(code, start, MEMORY, registers=AT_ENTRY).cycles


def memory_that_holds(holds, *, code=0, before=0):
    """Cycles that a write holds up later requests; of code, too, if it is there."""
    return MemoryWaits([Region("code", 0, INPUTS, fetch=1, holds=code),
                        Region("near", INPUTS, FAR, read=1, write=0),
                        Region("far", FAR, FAR + 0x100, read=1, write=0, holds=holds)],
                       before=before)


def until_the_next(text, *, code):
    """Cycles from a store to `FAR` to the next request there (``code``: or the next fetch), of a
    core whose memory is as fast as can be."""
    core, answer, taken = CoreModel(reset_address=START), None, None
    words = assembled(text, origin=START).words
    for cycle in range(200):
        request = core.request
        if request is not None and (request.address >= FAR or (
                code and request.address < INPUTS)):
            if taken is not None:
                return cycle - taken
            taken = cycle if request.address >= FAR else None
        core.step(ready=True, response=answer)
        answer = None
        if request is not None and not getattr(request, "write", False):
            answer = Response(words.get(request.address, 0))
    return None


@pytest.mark.parametrize("between", [
    "", "nop", "nop; nop", "lw $t2, -8($sp)", "sw $t2, -8($sp)", "mult $t0, $t0", "divu $t0, $t0",
    "add $t2, $0, $0", "mfc0 $t2, $12; nop", "b on; nop; nop; on: nop"])
@pytest.mark.parametrize("code", [0, 100])
def test_a_write_holds_up_later_requests_the_less_the_later_they_are(between, code):
    text = lines(f"lui $t0, {FAR >> 16}; li $sp, {STACK}; sw $t1, 0($t0); {between}; "
                 "lw $t1, 0($t0); nop; end: b end; nop")
    code_of = assembled(text, origin=START)
    ends = [wcet(code_of, START, memory_that_holds(holds, code=min(code, holds)),
                 stops=[code_of.symbols["end"]]).cycles for holds in (0, 100)]
    assert ends[1] - ends[0] == 100 - until_the_next(text, code=code)


def test_a_write_holds_up_what_comes_after_the_end():
    text = lines(f"lui $t0, {FAR >> 16}; jr $ra; sw $t1, 0($t0)")
    code = assembled(text, origin=START)
    ends = [wcet(code, START, memory_that_holds(holds)).cycles for holds in (0, 100)]
    # the store's step of 4 cycles, of which one is before it is taken
    assert ends[1] - ends[0] == 100 - 3


def test_writes_from_before_the_program_count_but_from_reset():
    code = assembled(lines("jr $ra; nop"), origin=START)
    without, some = memory_that_holds(9), memory_that_holds(9, before=30)
    assert wcet(code, START, some).cycles == wcet(code, START, without).cycles + 30
    assert (wcet(code, START, some, from_reset=True).cycles
            == wcet(code, START, without, from_reset=True).cycles)


def test_an_interrupt_may_come_where_time_after_a_write_helped():
    code = assembled(lines("rfe_: jr $k0; rfe"), origin=START)
    assert (interrupt(code, START, memory_that_holds(9, before=30))
            == interrupt(code, START, memory_that_holds(0)) + 9)
