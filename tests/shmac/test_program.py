"""ELF files: what is read from them, and what is refused, with its place."""

import random
import re
import struct

import pytest

from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.shmac.system import System
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.disassembler import listing
from cyclebound.tools.shmac.program import (
    Program,
    ProgramError,
    Region,
    assembled,
    load_elf,
    unknown_instructions,
)
from kit.refusal import refusal
from kit.shmac_elf import Segment, of_words

pytestmark = pytest.mark.unit

BASE = 0x1100_0000
CODE = assemble("lui $t0, 0xffff\nsw $0, -508($t0)\nb end\nend: nop", origin=BASE)


def searches(short, long):
    """A test of ``short`` rounds, and one of ``long`` that runs on request."""
    return pytest.mark.parametrize("rounds", [
        pytest.param(range(short), id="short"),
        pytest.param(range(short, long), id="long", marks=pytest.mark.thorough)])


def whole(**changes):
    """An ELF file with two segments, a section of code and symbols."""
    data = Segment(BASE + 0x100, b"\1\2\3\4\5", size=12, flags=6)
    elf = of_words(CODE, BASE, symbols=[("main", BASE, 8, 2), ("table", BASE + 0x100, 5, 1),
                                        ("end", BASE + 12, 0, 0)],
                   code=[(".text", BASE, 4 * len(CODE))])
    elf.segments.append(data)
    for name, value in changes.items():
        setattr(elf, name, value)
    return elf


@pytest.mark.parametrize("big_endian", [True, False])
def test_what_is_in_a_file(big_endian):
    elf = of_words(CODE, BASE, big_endian=big_endian, symbols=[("main", BASE, 8, 2)])
    elf.segments.append(Segment(BASE + 0x100, b"\1\2\3\4\5", size=12, flags=6))
    program = load_elf(elf.content(), "x.elf")
    assert program.big_endian is big_endian
    assert program.tile == (1, 1)
    assert program.entry == BASE
    assert [program.words[BASE + 4 * n] for n in range(len(CODE))] == CODE
    assert [program.words[BASE + 0x100 + at] for at in (0, 4)] == (
        [0x01020304, 0x05000000] if big_endian else [0x04030201, 5])
    assert program.regions == (Region("segment 0", BASE, 16, True),
                               Region("segment 1", BASE + 0x100, 12, False))
    assert program.code == program.regions[:1]  # no section says more
    assert program.end == BASE + 0x10C


def test_symbols_and_sections():
    program = load_elf(whole().content(), "x.elf")
    assert program.code == (Region(".text", BASE, 16, True),)
    assert [(symbol.name, symbol.kind) for symbol in program.symbols] == [
        ("main", "function"), ("end", ""), ("table", "object")]
    assert program.symbol("main").address == BASE
    assert program.symbol("other") is None
    assert program.where(BASE + 4) == "0x11000004 (main + 0x4)"
    assert program.where(BASE + 12) == "0x1100000c"
    assert list(listing(program))[:2] == ["main:", "11000000  3c08ffff  lui $t0, 0xffff"]


REFUSED = {
    "no ELF file": (lambda elf: b"x" * 100,
                    "it is no ELF file: it does not begin with 7f 45 4c 46"),
    "header cut off": (lambda elf: elf.content()[:40],
                       "it is cut off in its header, at byte 40 of 52"),
    "64 bits": ({"size_class": 2}, "it must be of 32 bits (class 1), not of class 2"),
    "wrong machine": ({"machine": 243}, "it must be for MIPS (machine 8), not for machine 243"),
    "an object": ({"kind": 1}, ("it must be an executable (type 2), not an object that has to be "
                  "linked first")),
    "shared": ({"kind": 3}, ("it must be an executable (type 2), not a shared or "
               "position-independent one")),
    "MIPS32": ({"flags": 0x5000_1001}, "its instructions must be MIPS-I, not MIPS32"),
    "MIPS32r2": ({"flags": 0x7000_0000}, "its instructions must be MIPS-I, not MIPS32 release 2"),
    "MIPS16": ({"flags": 0x0400_0000},
               "its instructions must be of 32 bits, not MIPS16 or microMIPS"),
    "entry unaligned": ({"entry": BASE + 2}, "its entry must be a multiple of 4, not 0x11000002"),
    "entry elsewhere": ({"entry": BASE + 0x200},
                        "its entry 0x11000200 must be in an executable segment"),
    "entry in data": ({"entry": BASE + 0x100},
                      "its entry 0x11000100 must be in an executable segment"),
    "other tile": ({"entry": 0x1200_0000}, ("segment 0, 0x11000000 to 0x1100000f, must be in tile "
                   "(1, 2), where its entry 0x12000000 is")),
    "no segment": ({"segments": [Segment(BASE, b"", size=0)], "code": []},
                   "it has no segment that is loaded"),
    "no header of a segment": ({"segments": [], "code": []},
                               "it must have 1 to 1024 segments, not 0"),
    "overlap": ({"segments": [Segment(BASE, bytes(16)), Segment(BASE + 8, bytes(16))]},
                "segment 1 and segment 0 overlap at 0x11000008"),
    "unaligned": ({"segments": [Segment(BASE, bytes(16)), Segment(BASE + 0x102, bytes(16))]},
                  "segment 1 must begin at a multiple of 4, not at 0x11000102"),
    "larger in the file": ({"segments": [Segment(BASE, bytes(16), size=8)]},
                           "segment 0 has 16 bytes in the file for 8 in memory"),
    "too large": ({"segments": [Segment(BASE, bytes(16), size=1 << 25)]},
                  "segment 0 must have at most 16,777,216 bytes, not 33,554,432"),
    "into the next tile": ({"segments": [Segment(BASE, bytes(16)), Segment(BASE + 0xFFFFFC,
                                                                           bytes(8))]},
                           ("segment 1, 0x11fffffc to 0x12000003, must be in tile (1, 1), where "
                            "its entry 0x11000000 is")),
    "beyond the addresses": ({"segments": [Segment(BASE, bytes(16)), Segment(0xFFFF_FFFC,
                                                                             bytes(8))]},
                             "segment 1 must end before 2^32: it has 8 bytes at 0xfffffffc"),
    "dynamic": ({"segments": [Segment(BASE, bytes(16)), Segment(BASE, b"", kind=2)]},
                "segment 1 asks for a dynamic linker: it must be linked statically"),
    "interpreter": ({"segments": [Segment(BASE, bytes(16)), Segment(BASE, b"", kind=3)]},
                    "segment 1 asks for a dynamic linker: it must be linked statically"),
    "code outside": ({"code": [(".text", BASE, 0x40)]}, ("section .text, 0x11000000 to 0x1100003f, "
                     "must be in a segment")),
    "code unaligned": ({"code": [(".text", BASE + 2, 4)]},
                       "section .text must begin at a multiple of 4, not at 0x11000002"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    change, says = REFUSED[name]
    content = change(whole()) if callable(change) else whole(**change).content()
    with pytest.raises(ProgramError, match=f"^x.elf: {re.escape(says)}$"):
        load_elf(content, "x.elf")


def test_a_program_under_the_system_registers():
    base = 0xFF00_0000
    elf = of_words(CODE, base)
    elf.segments.append(Segment(0xFFFF_F800, bytes(0x500)))
    with pytest.raises(ProgramError, match=r"^x: system registers hide what is at 0xfffffc00 and "
                                           r"after it$"):
        load_elf(elf.content(), "x")


def test_wherever_a_file_is_cut_off():
    content = whole().content()
    for length in range(len(content)):
        with pytest.raises(ProgramError, match=r"^x: it "):
            load_elf(content[:length], "x")


@pytest.mark.parametrize(("ram", "symbols", "says"), [
    (0x10C, [], None),
    (0x108, [], "x: segment 1 ends at 0x1100010c, and the 264 bytes of tile (1, 1) at 0x11000108"),
    (0x200, [("__stack_top", BASE + 0x200, 0, 0)], None),
    (0x1FC, [("__stack_top", BASE + 0x200, 0, 0)],
     ("x: its stack begins at 0x11000200, and the 508 bytes of tile (1, 1) end at 0x110001fc: it "
      "was linked for a larger memory")),
])
def test_what_fits_into_a_memory(ram, symbols, says):
    program = load_elf(whole(symbols=symbols).content(), "x")
    if says is None:
        program.check_fits(ram)
        return
    with pytest.raises(ProgramError, match=f"^{re.escape(says)}$"):
        program.check_fits(ram)


@pytest.mark.parametrize(("base", "skipped", "entry", "right"), [
    (BASE, 0, BASE, True), (BASE, 4, BASE + 16, True), (BASE, 0, BASE + 4, False),
    (BASE, 8, BASE + 32, False), (0, 4, 16, True), (0, 0, 0, False), (0, 4, 20, False)])
def test_where_the_bootstrap_leads_to(base, skipped, entry, right):
    elf = of_words([0] * skipped + CODE, base)
    elf.entry = entry
    program = load_elf(elf.content(), "x")
    if right:
        program.check_begins()
        return
    begins = base or 16
    with pytest.raises(ProgramError, match=f"^x: its entry must be {begins:#x}, where tile "):
        program.check_begins()


def test_assembly_language_for_a_tile():
    program = assembled("la $t0, tile\nb end\nend: nop", "x.s", 1, 1)
    assert program.entry == BASE
    assert program.words == {BASE: 0x3C081100, BASE + 4: 0x35080000, BASE + 8: 0x10000000,
                             BASE + 12: 0}
    assert assembled("nop", "x.s", 0, 0).words == {16: 0}
    with pytest.raises(ProgramError, match=r"^x.s: there is no instruction in it$"):
        assembled("# nothing", "x.s", 0, 0)
    with pytest.raises(ProgramError, match=r"^x.s: a program must have at most 16,777,216 bytes, "
                                           r"not 16,777,220$"):
        assembled(".space 16777216\nnop", "x.s", 0, 1)


def test_words_that_are_no_instructions():
    words = [*CODE, 0x7000_0002, 0x4600_0000]
    program = load_elf(of_words(words, BASE).content(), "x")
    assert list(unknown_instructions(program)) == [(BASE + 16, 0x7000_0002),
                                                   (BASE + 20, 0x4600_0000)]


def changed(content, chance):
    """A file with fields of its header, its tables or its bytes changed."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 30))):
        if len(data) < 8:
            break
        kind, at = chance.randrange(4), chance.randrange(len(data) - 4)
        if kind == 0:
            data[at:at + 4] = struct.pack(">I", chance.choice((
                0, 1, 0xFFFF_FFFF, 0x7FFF_FFFF, 1 << 20, len(data), chance.getrandbits(32))))
        elif kind == 1:
            data[at] = chance.randrange(256)
        elif kind == 2:
            data[at:at + 2] = chance.randbytes(2)
        elif chance.random() < 0.2:
            del data[at:]
    return bytes(data)


def runs(program):
    """Some instructions of it, where its tile has memory enough: whatever they are."""
    if refusal(ProgramError, program.check_begins) or refusal(
            ProgramError, program.check_fits, 1 << 16) or max(program.tile) > 3:
        return
    system = System(Layout(("PPPP",) * 4), big_endian=program.big_endian)
    system.load(program.words)
    system.start(program.tile)
    system.run(50)


@searches(700, 60_000)
def test_changed_files_are_programs_or_refused(rounds):
    """Never a traceback, and never long: a file can count what it does not have."""
    content, refused = whole().content(), 0
    for seed in rounds:
        chance = random.Random(f"elf {seed}")
        data = changed(content, chance)
        says = refusal(ProgramError, load_elf, data, "x")
        if says is not None:
            assert "\n" not in says, seed
            refused += 1
            continue
        program = load_elf(data, "x")
        assert isinstance(program, Program)
        for region in program.code:
            assert region.end <= program.end, seed
        list(unknown_instructions(program))
        program.where(program.entry)
        runs(program)
    assert refused > len(rounds) // 10
    assert refused < len(rounds)


def test_names_do_not_command_a_terminal():
    elf = whole(symbols=[("ma\n\x1b[1m", BASE, 8, 2)], code=[(".te\nxt", BASE + 2, 4)])
    with pytest.raises(ProgramError, match=r"^x: section \.te\?xt must begin at a multiple of 4"):
        load_elf(elf.content(), "x")
    elf.code = []
    assert load_elf(elf.content(), "x").where(BASE) == "0x11000000 (ma??[1m + 0x0)"


def test_a_table_of_names_without_an_end():
    content = whole().content()
    at = content.index(b"\0main\0table")
    with pytest.raises(ProgramError, match=r"^x: names in section 3 must end, after 4096 bytes"):
        load_elf(content[:at] + content[at:at + 100].replace(b"\0", b"n")[:16]
                 + content[at + 16:], "x")
