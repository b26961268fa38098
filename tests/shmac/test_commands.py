"""What ``cyclebound shmac`` says: of runs, and to those who made a mistake."""

import json
import re

import pytest

from kit.shmac_c import needs_compiler
from kit.shmac_elf import of_words

pytestmark = pytest.mark.system

EXITS = """
        li  $t0, 0xfffffe04
        li  $v0, {status}
        sw  $v0, 0($t0)
stop:   b   stop
        nop
"""


@pytest.fixture
def files(tmp_path):
    """Programs, layouts and configurations, right and wrong."""
    (tmp_path / "zero.s").write_text(EXITS.format(status=0))
    (tmp_path / "three.s").write_text(EXITS.format(status=3))
    (tmp_path / "loop.s").write_text("here: b here\nnop\n")
    (tmp_path / "wrong.s").write_text("addu $1, $2\n")
    (tmp_path / "wrong.c").write_text("int main(void) { return x; }\n")
    (tmp_path / "grid").write_text("# a grid\nJPP\nPLR\n")
    (tmp_path / "ragged").write_text("PP\nP\n")
    (tmp_path / "odd").write_text("PQ\n")
    (tmp_path / "some.cfg").write_text("0,1: program = zero.s\n1,0: program = three.s\n"
                                       "1,0: ram = 8K\n1,0: boot = jump\n")
    (tmp_path / "absent.cfg").write_text("0,1: program = nowhere.s\n")
    (tmp_path / "twice.cfg").write_text("0,1: program = zero.s\n0,1: program = three.s\n")
    (tmp_path / "jump.cfg").write_text("0,0: boot = jump\n")
    words = [0xAC00FE04, 0x1000FFFF, 0]  # sw $0, EXIT
    (tmp_path / "elf").write_bytes(of_words(words, 0x1000_0000).content())
    (tmp_path / "little.elf").write_bytes(
        of_words(words, 0x0100_0000, big_endian=False).content())
    (tmp_path / "cut.elf").write_bytes(of_words(words, 0x1000_0000).content()[:90])
    (tmp_path / "arm.elf").write_bytes(of_words(words, 0x1000_0000, machine=40).content())
    (tmp_path / "high.elf").write_bytes(of_words(words, 0x1000_F000 + 0x1000).content())
    (tmp_path / "late.elf").write_bytes(of_words(words, 0x1000_0040).content())
    return tmp_path


def rows(said):
    """Of the table of a run: each row's cells."""
    return [[cell.strip() for cell in line.strip("│|").split("│")]
            for line in said.stdout.splitlines() if re.match(r"[│|] \(", line)]


def test_a_run_of_assembly_language(call, files):
    said = call("shmac", "run", "zero.s")
    assert (said.returncode, said.stderr) == (0, "")
    assert rows(said) == [["(0, 0)", "zero.s", "0", "7", "0", "0"]]
    assert "functional model: 7 rounds, 7 instructions" in said.stdout


def test_a_grid_with_a_configuration(call, files):
    said = call("shmac", "run", "--grid", "grid", "--configuration", "some.cfg", "zero.s", "--json")
    assert (said.returncode, said.stderr) == (1, "")
    found = json.loads(said.stdout)
    assert found["ended"] is True
    assert [(tile["tile"], tile["program"], tile["status"]) for tile in found["tiles"]] == [
        ([0, 1], "zero.s", 0), ([1, 0], "three.s", 3), ([0, 2], "zero.s", 0)]


def test_only_some_tiles(call, files):
    said = call("shmac", "run", "zero.s", "-g", "PPP", "-t", "0,2", "--tile", "0,0")
    assert [row[0] for row in rows(said)] == ["(0, 2)", "(0, 0)"]
    said = call("shmac", "run", "elf", "-g", "grid")
    assert [row[:3] for row in rows(said)] == [["(1, 0)", "elf", "0"]]


def test_a_run_that_does_not_end(call, files):
    said = call("shmac", "run", "loop.s", "--limit", "1000")
    assert (said.returncode, said.stderr) == (1, "")
    assert rows(said) == [["(0, 0)", "loop.s", "not ended", "1,000", "0", "0"]]
    assert re.search(r"tile \(0, 0\) had not ended after 1,000 rounds: it was at 0x0000001[04]; "
                     r"--limit N allows more", said.stdout)


@needs_compiler
def test_a_program_in_c(call, files):
    (files / "hi.c").write_text('#include <stdio.h>\nint main(void) { printf("hi\\nyou"); }\n')
    said = call("shmac", "run", "hi.c")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("hi\nyou\n")
    said = call("shmac", "run", "hi.c", "-g", "PP", "--random", "1")
    assert sorted(said.stdout.splitlines()[:4]) == ["(0, 0) hi", "(0, 0) you", "(0, 1) hi",
                                                    "(0, 1) you"]
    said = call("shmac", "compile", "hi.c", "-t", "1,0", "-o", "hi.elf", "--ram", "8K")
    assert (said.returncode, said.stderr) == (0, "")
    assert re.fullmatch(r"hi.elf: for tile \(1, 0\), [\d,]+ bytes of instructions, [\d,]+ of 8,192 "
                        r"bytes of memory\n", said.stdout)
    said = call("shmac", "run", "hi.elf", "-g", "P/P")
    assert said.stdout.startswith("hi\nyou\n")
    said = call("shmac", "disassemble", "hi.elf")
    assert re.search(r"^main:\n1000[0-9a-f]{4}  [0-9a-f]{8}  addiu \$sp, \$sp, -\d+$", said.stdout,
                     re.MULTILINE)


@needs_compiler
def test_what_the_compiler_says(call, files):
    said = call("shmac", "run", "wrong.c")
    assert (said.returncode, said.stdout) == (2, "")
    assert "use of undeclared identifier 'x'" in said.stderr or "'x' undeclared" in said.stderr
    assert said.stderr.endswith("cyclebound: wrong.c does not compile\n")


def test_control_characters_do_not_reach_the_terminal(call, files):
    (files / "bell.s").write_text("li $t0, 0xfffffe08\nli $t1, 27\nsw $t1, 0($t0)\nli $t1, 91\n"
                                  "sw $t1, 0($t0)\nsw $0, -4($t0)\nstop: b stop\nnop\n")
    said = call("shmac", "run", "bell.s")
    assert said.returncode == 0
    assert "\x1b[" not in said.stdout.splitlines()[0]


def test_the_installed_programs(call):
    said = call("shmac", "programs")
    assert said.returncode == 0
    assert re.search(r"^hello +\S+hello\.c$", said.stdout, re.MULTILINE)
    said = call("shmac", "disassemble", "echo")
    assert said.stdout.startswith("00000010  3c08ffff  lui $t0, 0xffff\n")


KINDS = "P R L J C U ."
WRONG = {
    "run": "there is no program: name one, or a --configuration that does",
    "run -t 0,0": "--tile is for PROGRAM, and there is none",
    "run zero.s -g R/L": "there is no core P in this grid",
    "run zero.s -g PQ": ("--grid: there is no file PQ; a layout itself has only the characters "
                         f"{KINDS} and / between rows"),
    "run zero.s -g PP/P": ("--grid: line 2, column 2: all rows must have as many tiles as the "
                           "first, 2, not 1"),
    "run zero.s -g ragged": "ragged: line 2, column 2: all rows must have as many tiles as the "
                            "first, 2, not 1",
    "run zero.s -g odd": f"odd: line 1, column 2: a tile must be one of {KINDS}, not 'Q'",
    "run zero.s -g .": "there is no core P in this grid",
    "run zero.s -t 0,1": "--tile 0,1 has no core in this grid",
    "run zero.s -t 0;1": "--tile takes ROW,COLUMN, each 0 to 15, not '0;1'",
    "run zero.s --ram 3K": "--ram must be 4096 to 16777216 bytes (4K to 16M), a multiple of 8, not "
                           "'3K'",
    "run zero.s --endian middle": "--endian is big or little, not 'middle'",
    "run hallo": "no program (a file that ends in .c or .s, an ELF file, or one that is installed) "
                 "'hallo'; did you mean hello?",
    "run none.s": "cannot read none.s: No such file or directory",
    "run none.c": "cannot read none.c: No such file or directory",
    "run wrong.s": "wrong.s: line 1: addu has 3 operands (rd rs rt), not 2",
    "run grid": "grid: it is no ELF file: it does not begin with 7f 45 4c 46",
    "run cut.elf": ("cut.elf: it is cut off: the table of sections is at bytes 140 to 300, and the "
                    "file has 90"),
    "run arm.elf": "arm.elf: it must be for MIPS (machine 8), not for machine 40",
    "run elf": "elf is linked for tile (1, 0), which has no core here",
    "run elf -g PP/PP -t 0,1": "elf is linked for tile (1, 0), which --tile does not name",
    "run high.elf -g P/P": "high.elf: its entry must be 0x10000000, where tile (1, 0) begins, not "
                           "0x10010000",
    "run late.elf -g P/P": "late.elf: its entry must be 0x10000000, where tile (1, 0) begins, not "
                           "0x10000040",
    "run -c absent.cfg -g grid": "cannot read nowhere.s: No such file or directory",
    "run -c none.cfg -g grid": "cannot read none.cfg: No such file or directory",
    "run -c twice.cfg -g grid": "twice.cfg: line 2, column 1: program of 0,1 is there already, in "
                                "line 1: 'zero.s', not 'three.s' too",
    "run zero.s -c jump.cfg": "jump.cfg: line 1, column 13: boot = jump needs a jump tile J at "
                              "(0, 0), which is 'P'",
    "compile zero.s": "a C source must end in .c, and zero.s does not",
    "compile none.c": "cannot read none.c: No such file or directory",
    "compile wrong.c -t 16,0": "--tile takes ROW,COLUMN, each 0 to 15, not '16,0'",
    "compile wrong.c --compiler tcc": "a compiler is zig or gcc, not 'tcc'",
    "compile wrong.c -O 9": "optimization is 0, 1, 2, 3 or s, not '9'",
    "disassemble arm.elf": "arm.elf: it must be for MIPS (machine 8), not for machine 40",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_mistake_is_one_line(call, files, words):
    said = call("shmac", *words.split())
    assert said.stderr == f"cyclebound: {WRONG[words]}\n"
    assert (said.returncode, said.stdout) == (2, "")


def test_two_byte_orders(call, files):
    (files / "two.cfg").write_text("1,0: program = elf\n0,1: program = little.elf\n")
    said = call("shmac", "run", "-g", "grid", "-c", "two.cfg")
    assert said.stderr == ("cyclebound: all programs must have one byte order: elf is big-endian, "
                           "little.elf little-endian\n")
    assert said.returncode == 2


def test_a_program_for_another_tile(call, files):
    (files / "other.cfg").write_text("0,1: program = elf\n")
    said = call("shmac", "run", "-g", "grid", "-c", "other.cfg")
    assert said.stderr == "cyclebound: elf is linked for tile (1, 0), not for (0, 1)\n"


def test_a_program_that_is_larger_than_its_memory(call, files):
    (files / "large.s").write_text("nop\n" * 1100)
    said = call("shmac", "run", "large.s", "--ram", "4K")
    assert said.stderr == ("cyclebound: large.s: program ends at 0x1140, and the 4,096 bytes of "
                           "tile (0, 0) at 0x1000\n")
    assert said.returncode == 2
