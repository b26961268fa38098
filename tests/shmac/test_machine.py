"""What SHMAC's core computes, against the architecture's rules and against another's emulator."""

import random

import pytest

from cyclebound.golden.shmac.isa import ENCODINGS, ExcCode, encoding_of
from cyclebound.golden.shmac.machine import Machine
from cyclebound.golden.shmac.memory import SharedMemory
from cyclebound.tools.shmac.assembler import assemble, encode
from cyclebound.tools.shmac.random_programs import MISSING, random_program

pytestmark = pytest.mark.unit
MASK = 0xFFFF_FFFF
ENDS = pytest.mark.parametrize("big", [True, False], ids=["big", "little"])


def machine(text, *, big=True, registers=None, data=None, steps=None, origin=0, lines=0):
    """A machine after a program, one step for each of its words; and what each step did."""
    words = assemble(text, origin=origin)
    memory = SharedMemory({0x80: 0} | {origin + 4 * place: word for place, word in enumerate(words)}
                          | (data or {}))
    made = Machine(big_endian=big, pc=origin, lines=lines)
    for register, value in (registers or {}).items():
        made.registers[register] = value & MASK
    said = [made.step(memory) for _ in range(len(words) if steps is None else steps)]
    return made, said, memory


@ENDS
def test_loads_and_stores_of_bytes(big):
    data = {0x200: 0x01_82_83_04}
    loads = "\n".join(f"{name} ${register}, {0x200 + at}($0)" for register, (name, at) in enumerate(
        [("lb", 0), ("lbu", 1), ("lb", 1), ("lh", 0), ("lhu", 2), ("lh", 2), ("lw", 0)], 1))
    made, _, _ = machine(loads, big=big, data=data)
    first = ([1, 0x82, -126, 0x0182, 0x8304, -31996] if big
             else [4, 0x83, -125, -31996, 0x0182, 0x0182])
    assert made.registers[1:8] == [value & MASK for value in first] + [0x0182_8304]
    _, _, memory = machine("sb $1, 0x201($0)\nsh $1, 0x202($0)", big=big, data={0x200: 0},
                           registers={1: 0xAABB_CCDD})
    assert memory.words[0x200] == (0x00DD_CCDD if big else 0xCCDD_DD00)


@ENDS
def test_an_unaligned_word_is_two_instructions(big):
    left, right = (0, 3) if big else (3, 0)
    for at in range(4):
        data = {0x200: 0x0011_2233, 0x204: 0x4455_6677}
        made, _, _ = machine(f"lwl $1, {0x200 + at + left}($0)\nlwr $1, {0x200 + at + right}($0)",
                             big=big, data=data)
        order = "big" if big else "little"
        text = b"".join(word.to_bytes(4, order) for word in data.values())
        assert made.registers[1] == int.from_bytes(text[at:at + 4], order)
        _, _, memory = machine(
            f"swl $1, {0x200 + at + left}($0)\nswr $1, {0x200 + at + right}($0)", big=big,
            data=data, registers={1: 0x8899_AABB})
        stored = text[:at] + (0x8899_AABB).to_bytes(4, order) + text[at + 4:]
        assert [memory.words[0x200], memory.words[0x204]] == [
            int.from_bytes(stored[place:place + 4], order) for place in (0, 4)]


def test_a_load_is_there_for_the_next_instruction():
    made, _, _ = machine("lw $1, 0x200($0)\naddiu $2, $1, 1", data={0x200: 41})
    assert made.registers[2] == 42


@pytest.mark.parametrize(("name", "s", "t", "hi", "lo"), [
    ("mult", -3, 5, -1, -15), ("multu", -3, 5, 4, -15), ("mult", 1 << 31, 1 << 31, 1 << 30, 0),
    ("div", -7, 2, -1, -3), ("div", 7, -2, 1, -3), ("divu", -7, 2, 1, 0x7FFF_FFFC),
    ("div", 1 << 31, -1, 0, 1 << 31),
    # by 0, as the R3000 does
    ("div", 7, 0, 7, -1), ("div", -7, 0, -7, 1), ("div", 0, 0, 0, -1), ("divu", 7, 0, 7, -1),
])
def test_products_and_quotients(name, s, t, hi, lo):
    made, _, _ = machine(f"{name} $1, $2\nmfhi $3\nmflo $4", registers={1: s, 2: t})
    assert made.registers[3:5] == [hi & MASK, lo & MASK]


def test_a_branch_has_one_slot_and_a_link_is_after_it():
    made, said, _ = machine("bgezal $0, there\naddiu $1, $0, 1\naddiu $1, $0, 2\n"
                            "there: addiu $2, $1, 0", steps=3)
    assert [retired.pc for retired in said] == [0, 4, 12]
    assert (made.registers[2], made.registers[31]) == (1, 8)


def test_a_branch_in_a_slot_has_the_next_instruction_as_its_own():
    _, said, _ = machine("b first\nb second\nnop\nfirst: nop\nnop\nsecond: nop\nnop", steps=5)
    # `second` is counted from the slot that is executed, at 12, as far as from its own, at 8
    assert [retired.pc for retired in said] == [0, 4, 12, 24, 28]


def test_jalr_reads_before_it_links():
    _, said, _ = machine("addiu $1, $0, 16\njalr $1, $1\nnop\nnop\nnop", steps=4)
    assert said[-1].pc == 16


EXCEPTIONS = [
    ("add $3, $1, $1", ExcCode.OV), ("addi $3, $1, -1", ExcCode.OV),
    ("sub $3, $1, $2", ExcCode.OV), ("syscall", ExcCode.SYS), ("break", ExcCode.BP),
    (".word 0xfc000000", ExcCode.RI), (".word 0x0000003f", ExcCode.RI),
    (".word 0x04020000", ExcCode.RI), (".word 0x40400000", ExcCode.RI),
    (".word 0x42000010", None), (".word 0x42000011", ExcCode.RI),
    (".word 0x44000000", ExcCode.CPU), (".word 0xc8000000", ExcCode.CPU),
    (".word 0xec000000", ExcCode.CPU),
    ("lw $3, 2($0)", ExcCode.ADEL), ("lh $3, 1($0)", ExcCode.ADEL), ("ll $3, 1($0)", ExcCode.ADEL),
    ("sw $3, 3($0)", ExcCode.ADES), ("sh $3, 1($0)", ExcCode.ADES), ("sc $3, 2($0)", ExcCode.ADES),
    ("lw $3, 0($4)", ExcCode.DBE), ("lwl $3, 1($4)", ExcCode.DBE), ("ll $3, 0($4)", ExcCode.DBE),
    ("sw $3, 0($4)", None), ("lw $0, 0x80($0)", None),
]


@pytest.mark.parametrize(("text", "code"), EXCEPTIONS, ids=[text for text, _ in EXCEPTIONS])
def test_exceptions_leave_the_registers_and_say_where(text, code):
    registers = {1: 1 << 31, 2: 1, 3: 5, 4: MISSING}
    made, said, _ = machine("b 8\n" + text, origin=0x400, registers=registers, steps=2)
    assert said[1].exception is code
    if code is None:
        return
    assert made.registers[3] == 5
    assert (made.pc, made.epc, made.cause >> 31, made.cause >> 2 & 31) == (0x80, 0x400, 1, code)
    if code is ExcCode.CPU:
        assert made.cause >> 28 & 3 == (said[1].instruction >> 26 & 3)
    made, said, _ = machine(text, origin=0x400, registers=registers, steps=1)
    assert (made.epc, made.cause >> 31) == (0x400, 0)
    if code in (ExcCode.ADEL, ExcCode.ADES):
        assert made.bad_address == int(text.split()[-1].split("(")[0])


def test_fetches_that_fail():
    made, said, _ = machine("addiu $1, $0, 0x402\njr $1\nnop", origin=0x400, steps=4)
    assert (said[-1].exception, made.epc, made.bad_address, made.cause >> 31) == (
        ExcCode.ADEL, 0x402, 0x402, 0)
    made, said, _ = machine("jr $1\nnop", origin=0x400, registers={1: MISSING}, steps=3)
    assert (said[-1].exception, made.epc) == (ExcCode.IBE, MISSING)


def test_status_is_a_stack_and_only_some_bits_are_there():
    made, _, _ = machine("mtc0 $1, $12\nmfc0 $2, $12\nmtc0 $1, $13\nmfc0 $3, $13\nmtc0 $1, $14\n"
                         "mfc0 $4, $14\nmfc0 $5, $15", registers={1: MASK - 1})
    assert made.registers[2:6] == [0xFF14, 0x0300, 0, 0]
    made, _, _ = machine("mtc0 $1, $12\nsyscall", registers={1: 0x0001})
    assert made.status == 0x0004
    made, _, _ = machine("mtc0 $1, $12\nrfe", registers={1: 0x0014})
    assert made.status == 0x0015


@pytest.mark.parametrize(("status", "lines", "software", "taken"), [
    (0x0401, 1, 0, True), (0x0400, 1, 0, False), (0x0801, 1, 0, False), (0x8001, 32, 0, True),
    (0x0201, 0, 0x200, True), (0x0101, 0, 0x200, False),
])
def test_interrupts(status, lines, software, taken):
    made, said, _ = machine("mtc0 $1, $13\nmtc0 $2, $12\nb 0x400\nnop", origin=0x400, lines=lines,
                            registers={1: software, 2: status}, steps=3)
    assert (said[-1].exception is ExcCode.INT) == taken
    if taken:
        assert (made.epc, made.pc, made.status & 0x3F, made.branch) == (0x408, 0x80, 4, 0x408)


def test_an_interrupt_in_a_slot_goes_back_to_the_branch():
    made, _, memory = machine("mtc0 $2, $12\nb 0x400\nnop", origin=0x400, registers={2: 0x0401},
                              steps=2)
    made.lines = 1
    assert made.step(memory).exception is ExcCode.INT
    assert (made.epc, made.cause >> 31) == (0x404, 1)


LOCK = "ll $1, 0x200($0)\n{}\nsc $2, 0x200($0)"


@pytest.mark.parametrize(("between", "succeeds"), [
    ("nop", True), ("sw $3, 0x200($0)", False), ("sb $3, 0x203($0)", False),
    ("sw $3, 0x204($0)", True), ("sc $3, 0x204($0)", False), ("sc $3, 0x200($0)", False),
    ("ll $3, 0x204($0)", False),
])
def test_when_a_store_conditional_succeeds(between, succeeds):
    made, _, memory = machine(LOCK.format(between), data={0x200: 7, 0x204: 8}, registers={2: 99})
    assert made.registers[2] == succeeds
    assert (memory.words[0x200] == 99) == succeeds


def test_an_exception_breaks_the_link():
    made, said, _ = machine("ll $1, 0x200($0)\nsyscall\n.space 120\nsc $2, 0x200($0)",
                            data={0x200: 7}, registers={2: 99}, steps=3)
    assert said[1].exception is ExcCode.SYS
    assert (said[2].register, made.registers[2]) == (2, 0)


def test_of_two_masters_one_has_the_lock():
    memory = SharedMemory({0x200: 0})
    cores = [Machine(), Machine()]
    load, store = (encode(name, rt=1, immediate=0x200) for name in ("ll", "sc"))
    for who, core in enumerate(cores):
        core.end(memory.access(core.begin(load), master=who))
        core.registers[1] = 1
    for who, core in enumerate(cores):
        core.end(memory.access(core.begin(store), master=who))
    assert [core.registers[1] for core in cores] == [1, 0]


def differs(seed, *, big, units, made=Machine):
    """A random program on the model and on `unicorn`, instruction by instruction.

    How many there were, and the first difference; empty if there is none.
    """
    unicorn = pytest.importorskip("unicorn")
    from unicorn import mips_const

    program = random_program(random.Random(seed), units=units)
    words = program.words + [0] * 0x100
    memory = SharedMemory({4 * place: word for place, word in enumerate(words)})
    core, order = made(big_endian=big), "big" if big else "little"
    other = unicorn.Uc(unicorn.UC_ARCH_MIPS, unicorn.UC_MODE_MIPS32 | (
        unicorn.UC_MODE_BIG_ENDIAN if big else unicorn.UC_MODE_LITTLE_ENDIAN))
    other.mem_map(0, 0x1_0000)
    other.mem_write(0, b"".join(word.to_bytes(4, order) for word in words))
    numbers = [getattr(mips_const, f"UC_MIPS_REG_{number}") for number in range(32)]
    state = {"count": 0, "last": None, "found": ""}

    def instruction(_, address, *rest):
        """Before each of them: what the one before has written, and where this one is."""
        last = state["last"]
        if address == program.end:  # it stops there
            return
        if last and other.reg_read(numbers[last.register]) & MASK != last.value:
            state["found"] = f"{last}: {other.reg_read(numbers[last.register]) & MASK:#x}"
        elif address != core.pc:
            state["found"] = f"at {address:#x}, not {core.pc:#x}, after {last}"
        elif state["count"] > 100 * units:
            state["found"] = "no end"
        if state["found"]:
            other.emu_stop()
            return
        state["last"] = core.step(memory)
        state["count"] += 1

    other.hook_add(unicorn.UC_HOOK_CODE, instruction)
    other.emu_start(0, program.end)
    raw = bytes(other.mem_read(0, 4 * len(words)))
    pairs = {**{f"[{place:#x}]": (int.from_bytes(raw[place:place + 4], order), word)
                for place, word in memory.words.items()},
             **{name: (other.reg_read(getattr(mips_const, f"UC_MIPS_REG_{name.upper()}")) & MASK,
                       getattr(core, name)) for name in ("hi", "lo")},
             "end": (program.end, core.pc)}
    wrong = [f"{name} {values}" for name, values in pairs.items() if values[0] != values[1]]
    return state["count"], state["found"] or ", ".join(wrong[:3])


def follow(instructions, *, units=600):
    count = seed = 0
    while count < instructions:
        ran, found = differs(seed, big=seed % 4 != 3, units=units)
        assert not found, f"seed {seed}: {found}"
        count, seed = count + ran, seed + 1


def test_follows_another_emulator():
    follow(100_000)


@pytest.mark.thorough
def test_follows_another_emulator_for_a_million_instructions():
    follow(1_000_000)


def test_random_programs_have_every_instruction():
    words = {word for seed in range(40)
             for word in random_program(random.Random(seed), units=300, exceptions=True).words}
    assert {encoding_of(word).name for word in words if encoding_of(word)} == set(ENCODINGS)


class NoSign(Machine):
    def _lb(self, f):
        return self._lbu(f)


class ShortShift(Machine):
    def _srav(self, f):
        self._write(f.rd, f.t >> f.s % 32)


class OtherSide(Machine):
    def _swr(self, f):
        return self._swl(f)


class LastSum(Machine):
    def _divu(self, f):
        self.lo, self.hi = f.s // max(f.t, 1), 0


class NoSlot(Machine):
    def _branch(self, taken, offset):
        if taken:
            self._target = self.pc + 4 * offset & MASK


@pytest.mark.parametrize("wrong", [NoSign, ShortShift, OtherSide, LastSum, NoSlot])
def test_the_other_emulator_finds_a_wrong_model(wrong):
    pytest.importorskip("unicorn")

    assert any(differs(seed, big=True, units=200, made=wrong)[1] for seed in range(5))
