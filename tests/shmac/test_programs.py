"""The installed programs on the functional model, and on an emulator that nobody here wrote."""

import random
import re

import pytest
import unicorn
from unicorn.mips_const import UC_MIPS_REG_ZERO as ZERO

from cyclebound.golden.shmac.address_map import SYSTEM_BASE, SystemRegister
from cyclebound.golden.shmac.isa import Opcode
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.machine import Machine, signed
from cyclebound.golden.shmac.system import System
from cyclebound.tools.shmac import installed
from cyclebound.tools.shmac.compiler import Target, compile_c
from cyclebound.tools.shmac.installed import PROGRAMS, program_path
from cyclebound.tools.shmac.program import Program, assembled
from kit.shmac_c import needs_compiler

pytestmark = pytest.mark.system

PRINTS = {
    "bytes": "8 bytes a record, 0 wrong",
    "crc": "cbf43926 40572909",
    "echo": "OK",
    "fir": "gain 6154, 0 wrong",
    "hello": r"Hello from tile \(0, 0\), in cycle \d+\.",
    "life": r"\.X\.\n\.\.X\nXXX",
    "list": "80 items, 2 to 997",
    "long": "1 7210217701716 4294967295",
    "matrix": "10 x 10: c.0..0. = 2589, 0 of 10 wrong",
    "primes": "430 primes below 3000, the last one is 2999",
    "queens": "7 queens: 40 ways",
    "search": "core: 3\nmemory: 2\nrouter: 2\na: 12\nfor ever: 1\nclock: 0\nthe: 5",
    "sha": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "sort": "".join(f"{name} sort: -16105 to 16014, right\n" for name in (
        "insertion", "quick", "heap")).rstrip(),
}
"""Programs of one tile: all that they print."""
GRIDS = {
    "barrier": ("PPP/PLP/PPP", 8, r"place \d: 5 steps, 0 wrong"),
    "contend": ("PPP/PLP/PPP", 8, r"\d+ LL, \d+ SC failed, \d+ cycles; \d+ by now"),
    "cpi": ("JCP/PRR/RPR", 3, r"(fetch|read|write): 2000 instructions, \d{4} cycles"),
    "lock": ("PPP/PLR/PPP", 1, "the last of 7: 70 increments"),
    "ring": ("PPPP", 4, r"core (\d): \d+"),
    "signal": ("PPPP", 1, "interrupted by 3 cores, 5 times each"),
}
"""Programs of many: a grid, how many lines they print, and each of them."""
LONG = {"sha"}
one_tile = pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.thorough if name in LONG else ()) for name in PRINTS])


@pytest.fixture(scope="module")
def made(tmp_path_factory, cache):
    """``made(name, tile)``: an installed program for a tile."""
    objects = {}

    def make(name, tile=(0, 0), **options) -> Program:
        path = program_path(name)
        big = options.pop("big_endian", True)
        if path.suffix == ".s":
            return assembled(path.read_text(), name, *tile, big_endian=big)
        folder = tmp_path_factory.mktemp("elf")
        return compile_c([path], Target(*tile, big_endian=big), folder / f"{name}.elf",
                         cache=cache / "zig", objects=objects, **options)[0]

    return make


def ran(layout, programs, *, big_endian=True, rng=None):
    system = System(layout, big_endian=big_endian)
    for tile, program in programs.items():
        system.load(program.words)
        system.start(tile)
    assert system.run(20_000_000, rng=rng)
    return system


def emulated(program, ram=1 << 16):
    """Console, exit status and memory of a program on unicorn.

    The highest addresses are not mapped there without a TLB, and its ``UC_TLB_VIRTUAL`` trips over
    branches after stores in delay slots: an access to a system register goes to a page of its own,
    by another value in its base register for one instruction.
    """
    uc = unicorn.Uc(unicorn.UC_ARCH_MIPS, unicorn.UC_MODE_MIPS32 | (
        unicorn.UC_MODE_BIG_ENDIAN if program.big_endian else unicorn.UC_MODE_LITTLE_ENDIAN))
    elsewhere = 1 << 20
    uc.mem_map(0, ram)
    uc.mem_map(elsewhere, 1 << 12)
    console, status, restored = bytearray(), [], []
    accesses = {address: word for address, word in program.words.items()
                if word >> 26 in (Opcode.LW, Opcode.SW)}

    def instruction(uc, address, size, data):
        """Before each one."""
        while restored:
            uc.reg_write(*restored.pop())
        word = accesses.get(address)
        if word is None:
            return
        rs, rt = (ZERO + (word >> at & 31) for at in (21, 16))
        base, offset = uc.reg_read(rs), signed(word, 16)
        to = base + offset & 0xFFFF_FFFF
        if to < SYSTEM_BASE:
            return
        uc.reg_write(rs, elsewhere + to - SYSTEM_BASE - offset)
        if word >> 26 == Opcode.SW or rs != rt:
            restored.append((rs, base))
        if word >> 26 == Opcode.SW:
            if to == SystemRegister.CONSOLE:
                console.append(uc.reg_read(rt) & 255)
            else:
                assert to == SystemRegister.EXIT
                status.append(uc.reg_read(rt))
                uc.emu_stop()

    uc.hook_add(unicorn.UC_HOOK_CODE, instruction)
    order = "big" if program.big_endian else "little"
    for address, word in program.words.items():
        uc.mem_write(address, word.to_bytes(4, order))
    uc.emu_start(program.entry, ram - 4, timeout=60_000_000)
    content = bytes(uc.mem_read(0, ram))
    return console, status, [int.from_bytes(content[at:at + 4], order)
                             for at in range(0, ram, 4)]


def test_every_program_is_tried():
    assert set(PROGRAMS) == set(PRINTS) | set(GRIDS)
    for name in PROGRAMS:
        assert program_path(name).read_text().startswith(("/* ", "# ")), "what it is"


def test_a_program_that_is_not_there():
    with pytest.raises(ValueError, match=r"^program must be one of .*, not 'nothing'$"):
        installed.program_path("nothing")


@needs_compiler
@one_tile
def test_on_the_model_and_on_another_emulator(made, name):
    """The same file: what it prints, its status, and all of its memory at the end."""
    program = made(name)
    system = ran(Layout(("P",)), {(0, 0): program})
    core = system.cores[0, 0]
    assert re.fullmatch(PRINTS[name] + "\n", core.console.decode())
    assert (core.status, core.exceptions, core.failed) == (0, 0, 0)
    console, status, memory = emulated(program)
    if name != "hello":  # which has the clock in it
        assert console == core.console
        assert memory == list(system.memories[0, 0])
    assert status == [0]


@needs_compiler
@pytest.mark.parametrize(("name", "instruction", "wrong"), [
    ("bytes", "_lb", Machine._lbu), ("sort", "_beq", Machine._bne), ("crc", "_srl", Machine._sra),
    ("long", "_multu", Machine._mult), ("queens", "_jal", Machine._j)])
def test_a_wrong_model_is_found(made, monkeypatch, name, instruction, wrong):
    """By the program itself: it does not end with status 0."""
    monkeypatch.setattr(Machine, instruction, wrong)
    system = System(Layout(("P",)))
    system.load(made(name).words)
    system.start((0, 0))
    system.run(300_000)
    assert system.cores[0, 0].status != 0


@needs_compiler
@pytest.mark.thorough
@pytest.mark.parametrize("optimize", ["0", "1", "3", "s"])
@pytest.mark.parametrize("big_endian", [True, False])
@one_tile
def test_however_they_are_compiled(made, name, optimize, big_endian):
    if program_path(name).suffix == ".s":
        pytest.skip("it is not compiled")
    program = made(name, optimize=optimize, big_endian=big_endian)
    core = ran(Layout(("P",)), {(0, 0): program}, big_endian=big_endian).cores[0, 0]
    assert re.fullmatch(PRINTS[name] + "\n", core.console.decode())
    assert core.status == 0


@needs_compiler
@pytest.mark.parametrize("name", GRIDS)
def test_on_a_grid_in_any_order(made, name):
    """In the order of the tiles, and in random orders."""
    grid, count, line = GRIDS[name]
    layout = Layout(tuple(grid.split("/")))
    programs = {tile: made(name, tile) for tile in layout.tiles(Kind.CORE)}
    clocks = set()
    for rng in (None, *map(random.Random, range(8))):
        system = ran(layout, programs, rng=rng)
        lines = [text for core in system.cores.values()
                 for text in core.console.decode().splitlines()]
        assert len(lines) == count
        assert all(re.fullmatch(line, text) for text in lines)
        assert [core.status for core in system.cores.values()] == [0] * len(programs)
        clocks.add(system.clock)
    assert len(clocks) > 2


@needs_compiler
def test_a_lock_that_does_not_lock(tmp_path, cache):
    """The program finds it: cores that do not wait for each other lose increments."""
    text = program_path("lock").read_text()
    assert text.count("shmac_lock(LOCK);") == 1
    (tmp_path / "lock.c").write_text(text.replace("shmac_lock(LOCK);", ""))
    layout = Layout(("PPP", "PLR", "PPP"))
    objects = {}
    programs = {tile: compile_c([tmp_path / "lock.c"], Target(*tile), tmp_path / "lock.elf",
                                cache=cache / "zig", objects=objects)[0]
                for tile in layout.tiles(Kind.CORE)}
    for seed in range(4):
        system = ran(layout, programs, rng=random.Random(seed))
        assert system.memories[1, 2][0] < 70
        assert sorted(core.status for core in system.cores.values()) == [0] * 6 + [1]
