"""C for SHMAC's tiles: what comes out of the compilers, and what is refused by name."""

import random
import re
import shutil
from pathlib import Path

import pytest

from cyclebound.golden.shmac.isa import encoding_of
from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.shmac.system import System
from cyclebound.tools.shmac import compiler
from cyclebound.tools.shmac.compiler import CompileError, Target, compile_c, compiler_named
from cyclebound.tools.shmac.disassembler import what_it_is
from kit.shmac_c import demand, installed, needs_compiler

pytestmark = pytest.mark.system

each_compiler = pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.skipif(
        name not in installed(), reason=f"{name} for MIPS-I is not installed"))
    for name in compiler.COMPILERS])


@pytest.fixture
def ran(tmp_path, cache):
    """``ran(text)``: what a program in C prints, and its exit status."""
    def run(text, *, tile=(0, 0), rounds=2_000_000, big_endian=True, **options):
        source = tmp_path / "t.c"
        source.write_text(text)
        program, _ = compile_c([source], Target(*tile, big_endian=big_endian), tmp_path / "t.elf",
                               cache=cache / "zig", **options)
        system = System(Layout(("PP", "PP")), big_endian=big_endian)
        system.load(program.words)
        system.start(tile)
        assert system.run(rounds), program.where(system.cores[tile].machine.pc)
        core = system.cores[tile]
        assert core.failed == 0
        return core.console.decode(), core.status

    return run


PRINTS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int zero[40]; short half = -3; long long wide = 1234567890123456789; char text[20];
int main(void)
{
    for (int i = 0; i < 40; i++)
        if (zero[i])
            return 1;
    printf("%d %i|%5d|%-5d|%05d|%+d|% d|%u\n", -12, half, 42, 42, -42, 7, 7, 4000000000u);
    printf("%x %X %08x %p|%c|%5s|%-5s|%.2s|%%|%*d\n", 0xbeefu, 0xBEEFu, 0x1234u, (void *)16, 'x',
           "ab", "ab", "abcdef", 4, 9);
    printf("%lld %llu %llx\n", -wide, (unsigned long long)wide, wide);
    volatile long long a = 1000000007LL * 998244353LL, b = -12345;
    printf("%lld %lld %lld %lld\n", a / b, a % b, a * b, a >> (b & 7));
    char *p = malloc(10), *q = calloc(4, 5), *r;
    strcpy(p, "abc"); memset(q, 'z', 3);
    free(p); r = malloc(8); p = realloc(q, 40);
    void *volatile large = malloc(1 << 20); /* else a compiler may leave it out */
    printf("%s %d %d %d\n", p, r != 0, large == 0, (int)strlen(p));
    snprintf(text, 6, "%s", "abcdefgh");
    printf("%s %d %d\n", text, strcmp("abc", "abd") < 0, memcmp("ab", "ab", 2));
    puts(strstr("find me", "me"));
    return atoi(" -7") + 49;
}
"""
PRINTED = """-12 -3|   42|42   |-0042|+7| 7|4000000000
beef BEEF 00001234 10|x|   ab|ab   |ab|%|   9
-1234567890123456789 1234567890123456789 112210f47de98115
"""


@each_compiler
@pytest.mark.parametrize(("optimize", "big_endian"), [
    ("2", True), ("0", False),
    *(pytest.param(level, big, marks=pytest.mark.thorough)
      for level, big in (("0", True), ("1", True), ("3", True), ("s", True), ("2", False)))])
def test_the_library(ran, name, optimize, big_endian):
    a, b = 1000000007 * 998244353, -12345
    quotient = -(a // -b)
    product = (a * b + (1 << 63)) % (1 << 64) - (1 << 63)
    printed = [*PRINTED.splitlines(),
               f"{quotient} {a - quotient * b} {product} {a >> (b & 7)}", "zzz 1 1 3",
               "abcde 1 0", "me"]
    console, status = ran(PRINTS, compiler=name, optimize=optimize, big_endian=big_endian)
    assert console.splitlines() == printed
    assert status == 42


@each_compiler
def test_another_tile_with_its_own_addresses(ran, name):
    text = ("#include <shmac.h>\nint there = 5;\nint main(void) { return (int)(shmac_row() * 100 + "
            "shmac_column() * 10 + (SHMAC_ADDRESS(1, 1, 0) == ((unsigned)&there & 0xff000000))); }")
    assert ran(text, tile=(1, 1), compiler=name) == ("", 111)


@needs_compiler
@pytest.mark.parametrize(("body", "says", "status"), [
    ("*(volatile int *)0x70000000;", "bus error (load)", 7),
    ("*(volatile int *)0x102 = 1;", "unaligned address (store)", 5),
    *(pytest.param(*case, marks=pytest.mark.thorough) for case in (
        ("*(volatile int *)0x102;", "unaligned address (load or fetch)", 4),
        ("((void (*)(void))0x70000000)();", "bus error (fetch)", 6),
        ('__asm__ volatile("syscall");', "syscall", 8),
        ('__asm__ volatile("break");', "break", 9),
        ('__asm__ volatile(".word 0x7c000000");', "reserved instruction", 10),
        ('__asm__ volatile(".word 0x46000000");', "coprocessor missing", 11),
        ('__asm__ volatile("add $2, %0, %0" : : "r"(0x7fffffff) : "$2");', "overflow", 12)))])
def test_an_exception_ends_the_program(ran, monkeypatch, body, says, status):
    monkeypatch.setattr(compiler, "unknown_instructions", lambda program: ())
    console, ended = ran(f"int main(void) {{ {body} return 0; }}")
    assert re.fullmatch(rf"exception {re.escape(says)} at 0x[0-9a-f]{{8}}"
                        rf"(, address 0x00000102)?\n", console)
    assert ended == 128 + status


@needs_compiler
def test_a_programs_own_handler(ran):
    text = ("#include <shmac.h>\n#include <stdlib.h>\nvoid shmac_exception(unsigned cause, "
            "unsigned epc, unsigned address) { exit((int)(address + (cause >> 2 & 31))); }\n"
            "int main(void) { return *(volatile int *)0x203; }")
    assert ran(text) == ("", 0x203 + 4)


INTERRUPTED = """
#include <shmac.h>
static volatile unsigned product, count, rounds = 60;
void shmac_interrupt(unsigned lines) { count++; product = lines * 2654435761u / 7 + count % 3; }
static __attribute__((noinline)) unsigned work(unsigned rounds)
{
    unsigned long long wide = 1;
    for (unsigned i = 0; i < rounds; i++)
        wide = wide * 6364136223846793005u + (unsigned)wide % 1000003u + i / 3;
    return (unsigned)(wide >> 32);
}
int main(void)
{
    unsigned alone = work(rounds);
    shmac_interrupts(SHMAC_LINE_RAISED);
    unsigned interrupted = work(rounds);
    shmac_interrupts(0);
    return alone != interrupted ? 1 : count < 20 ? 2 : 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("forgotten", ["", "mthi $8", "mtlo $9", "lw $1, 16", "lw $2, 20",
                                       "lw $31, 84"])
def test_an_interrupt_changes_nothing(tmp_path, cache, monkeypatch, forgotten):
    """Wherever it comes; a register that the way back forgets is found."""
    if forgotten:
        shutil.copytree(compiler._LIBRARY, tmp_path / "c")
        start = tmp_path / "c" / "start.c"
        assert start.read_text().count(forgotten) == 1
        start.write_text(start.read_text().replace(f"{forgotten}($29)", "nop").replace(
            forgotten, "nop"))
        monkeypatch.setattr(compiler, "_LIBRARY", tmp_path / "c")
    (tmp_path / "t.c").write_text(INTERRUPTED)
    program, _ = compile_c([tmp_path / "t.c"], Target(), tmp_path / "t.elf", cache=cache / "zig")
    system = System(Layout(("P",)))
    system.load(program.words)
    system.start((0, 0))
    core, rng = system.cores[0, 0], random.Random(1)
    while core.running and core.instructions < 500_000:
        before = core.exceptions
        core.machine.lines = int(rng.random() < 0.02)
        system.step((0, 0))
        if core.exceptions > before:
            core.machine.lines = 0
    assert core.exceptions > 20
    assert (core.status == 0) is (not forgotten)


@needs_compiler
def test_an_assertion_that_does_not_hold(ran):
    console, status = ran("#include <assert.h>\nint main(void) { assert(1 + 1 == 3); }")
    assert re.fullmatch(r".*t\.c:2: not so: 1 \+ 1 == 3\n", console)
    assert status == 134


@pytest.mark.parametrize(("text", "options", "says"), [
    pytest.param("int main(void) { return x; }", {}, "{source} does not compile", id="no C"),
    pytest.param("#include <math.h>\nint main(void) { return 0; }", {}, "{source} does not compile",
                 id="a header that is not there"),
    pytest.param("volatile double a; int main(void) { a += a; return 0; }", {},
                 "the core has no floating point, and the library none either: __adddf3",
                 id="doubles"),
    pytest.param("volatile float a; int main(void) { return a * a < 1; }", {},
                 "the core has no floating point, and the library none either: .*__mulsf3.*",
                 id="floats"),
    pytest.param("int other(void); int main(void) { return other(); }", {},
                 "the program and its library do not have other", id="a function that is missing"),
    pytest.param("int other(void) { return 0; }", {},
                 "the program and its library do not have main", id="no main"),
    pytest.param("int large[1 << 20]; int main(void) { return large[3]; }", {},
                 r"t.elf: segment \d ends at 0x40[0-9a-f]{4}, and the 65,536 bytes of tile "
                 r"\(0, 0\) at 0x10000", id="larger than its RAM"),
    pytest.param("int large[15950]; int main(void) { return large[3]; }", {},
                 r"t.elf: it takes 6\d,\d{3} of 65,536 bytes, and leaves less than 1,024 for the "
                 "stack", id="no room for a stack"),
    pytest.param('int main(void) { __asm__ volatile(".set mips32\\nmul $2, $3, $4"); return 0; }',
                 {}, r"t.elf: 0x70641002 at 0x[0-9a-f]{8} \(main \+ 0x[0-9a-f]+\) is MIPS32 \(mul, "
                 r"madd, clz\), which MIPS-I does not have", id="a later instruction"),
    pytest.param('int main(void) { __asm__ volatile(".set mips2\\nsync"); return 0; }', {},
                 r"t.elf: 0x0000000f at 0x[0-9a-f]{8} \(main \+ 0x[0-9a-f]+\) is sync, which "
                 r"MIPS-I does not have", id="sync"),
    pytest.param("int main(void) { return 0; }", {"optimize": "fast"},
                 "optimization is 0, 1, 2, 3 or s, not 'fast'", id="a level"),
    pytest.param("int main(void) { return 0; }", {"compiler": "tcc"},
                 "a compiler is zig or gcc, not 'tcc'", id="a compiler"),
])
@needs_compiler
def test_what_is_refused(tmp_path, cache, text, options, says):
    source, output = tmp_path / "t.c", tmp_path / "t.elf"
    source.write_text(text)
    with pytest.raises(CompileError) as refused:
        compile_c([source], Target(), output, cache=cache / "zig", **options)
    assert re.fullmatch(says.replace("{source}", re.escape(str(source))), str(refused.value))
    assert not output.exists()


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    for name, says in (("", "pip install 'cyclebound[shmac]'"),
                       ("gcc", "apt-get install gcc-mips-linux-gnu")):
        says = f"there is no compiler for MIPS-I: {says}"
        with pytest.raises(CompileError, match=re.escape(says)):
            compiler_named(name)


def test_a_required_compiler_is_not_skipped(monkeypatch):
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    demand({})
    with pytest.raises(AssertionError, match=r"^not installed: zig, gcc"):
        demand({"CYCLEBOUND_REQUIRE_ZIG": "1", "CYCLEBOUND_REQUIRE_GCC": "1"})


@needs_compiler
def test_a_compiler_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "_SECONDS", 0.01)
    (tmp_path / "t.c").write_text("int main(void) { return 0; }")
    with pytest.raises(CompileError, match=r"t.c does not compile: \w+ took more than 0.01 sec"):
        compile_c([tmp_path / "t.c"], Target(), tmp_path / "t.elf")


@needs_compiler
def test_a_source_that_grows_is_stopped(tmp_path, cache):
    (tmp_path / "t.c").write_text("char large[1 << 29] = {1}; int main(void) { return large[3]; }")
    with pytest.raises(CompileError, match=r"t.c does not compile"):
        compile_c([tmp_path / "t.c"], Target(), tmp_path / "t.elf", cache=cache / "zig")


@pytest.mark.parametrize(("options", "says"), [
    ({"row": 16}, "row must be 0 to 15, not 16"),
    ({"ram": 1000}, "memory must be 4,096 to 16,777,216 bytes, a multiple of 8, not 1,000"),
    ({"ram": 1 << 25}, "memory must be 4,096 to 16,777,216 bytes, a multiple of 8, not 33,554,432"),
])
def test_a_target_is_checked(options, says):
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        Target(**options)


@pytest.mark.parametrize("word", [0x4600_0000, 0xC400_0000, 0xD400_0000, 0x7000_0002, 0x7C00_0000,
                                  0x5000_0001, 0x0000_000A, 0x0000_000F, 0x4800_0000, 0xFC00_0000])
def test_words_that_are_refused_have_names(word):
    assert encoding_of(word) is None
    assert what_it_is(word).endswith(("does not have", "no instruction of MIPS-I"))


def test_the_library_is_where_it_is_looked_for():
    folder = Path(compiler.__file__).parent / "c"
    assert {path.name for path in folder.glob("*.c")} == set(compiler._SOURCES)
