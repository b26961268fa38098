"""``cyclebound shmac wcet``: what it prints of the program on its page, and what it refuses."""

import json
import re
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.system
PAGE = (Path(__file__).parents[2] / "docs" / "shmac.md").read_text()


def block(first):
    """The indented block of the page that begins with a line."""
    found = re.search(rf"\n\n((?: {{4}}{re.escape(first)})(?:\n| {{4}}.*\n|\n(?= {{4}}))*)", PAGE)
    return textwrap.dedent(found[1])


GCD = block("gcd:    lui   $t8, 1")


@pytest.fixture
def gcd(tmp_path):
    (tmp_path / "gcd.s").write_text(GCD)
    return "gcd.s"


def test_the_page_quotes_what_is_printed(call, gcd):
    command = next(line for line in PAGE.splitlines() if "wcet gcd.s" in line).split()[1:]
    done = call(*command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == block("gcd (0x10): at most 5,038 cycles").strip()


def test_memory_of_a_file(call, gcd, tmp_path):
    uniform = call("shmac", "wcet", gcd, "--waits", "27,27,26").stdout
    (tmp_path / "ram.toml").write_text(block("[[region]]").replace("0x10000", "0x20000"))
    assert call("shmac", "wcet", gcd, "-m", "ram.toml").stdout == uniform
    done = call("shmac", "wcet", gcd, "-m", "ram.toml", "--fail-over", "9", "--json")
    assert done.returncode == 1
    assert done.stderr == f"cyclebound: over 9 cycles: {json.loads(done.stdout)['cycles']:,}\n"


def test_a_core_of_a_grid(call, tmp_path):
    """A read of another tile: alone, and among others that may read there too."""
    (tmp_path / "far.s").write_text("lui $t0, 0x0100\nlw $t1, 0($t0)\nend: b end\nnop\n")
    found = {}
    for others in ("silent", "worst"):
        done = call("shmac", "wcet", "far.s", "--grid", "PR/PP", "--stop", "end",
                    "--others", others, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        found[others] = json.loads(done.stdout)["shares"]
    assert found["silent"]["core"] == found["worst"]["core"]
    assert found["silent"]["data"] < found["worst"]["data"]
    gated = ("--grid", "PR/PP", "--stop", "end", "--others", "gated", "--json")
    for period in (10, 13):  # closed, three cycles a router there and back, and the RAM
        done = call("shmac", "wcet", "far.s", *gated, "--period", str(period))
        assert json.loads(done.stdout)["shares"]["data"] == period - 1 + 12 + 1
    done = call("shmac", "wcet", "far.s", *gated, "--period", "6")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no gates have a period of 6 cycles: core (0, 0) meets itself" in done.stderr
    local = json.loads(call("shmac", "wcet", "far.s", "--stop", "end", "--json").stdout)["shares"]
    assert local["data"] == 1 < found["silent"]["data"]


def test_facts_of_a_file(call, tmp_path):
    (tmp_path / "loops.s").write_text(GCD.replace("# bound 24", ""))
    (tmp_path / "facts.toml").write_text('[loops]\n"gcd+0x10" = 24\n[registers]\na0 = [0, 3]\n')
    facts = ("--facts", "facts.toml", "--json")
    found = json.loads(call("shmac", "wcet", "loops.s", *facts).stdout)
    assert [loop["rounds"] for loop in found["loops"]] == [24]
    assert sum(found["shares"].values()) == found["cycles"]
    assert found["cycles"] == sum(line["core"] + line["fetch"] + line["data"]
                                  for line in found["lines"])


def test_a_stop_and_a_register(call, tmp_path):
    (tmp_path / "a.s").write_text("l: addiu $a0, $a0, -1\nbgtz $a0, l\nnop\nend: b end\nnop\n")
    done = call("shmac", "wcet", "a.s", "--stop", "end", "-r", "a0=0x1..7", "--from-reset")
    assert done.stdout.splitlines()[0] == f"l (0x10): at most {7 * 6 + 2} cycles"


def test_interrupts_are_added(call, tmp_path):
    (tmp_path / "a.s").write_text("""
        b main\nnop\n.space 0x68\nmfc0 $k1, $14\nnop\nback: jr $k1\nrfe
        main: nop\nend: b end\nnop""".replace("main: ", "main:"))
    done = call("shmac", "wcet", "a.s", "--stop", "end", "--interrupts", "3", "--fail-over", "44")
    assert done.stdout.splitlines()[-1] == (
        f"with 3 interrupts of at most 15 cycles each: at most {6 + 45} cycles")
    assert (done.returncode, done.stderr) == (1, "cyclebound: over 44 cycles: 51\n")
    done = call("shmac", "wcet", "a.s", "--stop", "end", "--interrupts", "1", "--vector", "end")
    assert done.returncode == 2
    assert "has no bound" in done.stderr


@pytest.mark.parametrize(("options", "message"), [
    (["-f", "lcm"], r"no function or label 'lcm'; known are done, gcd, step$"),
    (["-f", "gcd step"], r"--function takes a name, a name and a distance as sort\+0x10, or an "),
    (["-f", "gcd+0x400"], r"the start leads to 0x410, where the program has no instruction$"),
    (["-w", "1,1"], r"--waits takes FETCH,READ,WRITE in cycles, not '1,1'$"),
    (["-w", "0,1,1"], r"--waits: fetch of region memory must be a whole number of at least 1, "),
    (["-r", "a0"], r"--register takes NAME=VALUE or NAME=LEAST..GREATEST, not 'a0'$"),
    (["-r", "a9=1"], r"no register 'a9'; did you mean t9\?$"),
    (["-r", "a0=5..1"], r"--register a0 must be from -2\^31 to 2\^32 - 1, the least first, not 5 "),
    (["-m", "absent.toml"], r"cannot read absent.toml: No such file or directory$"),
    (["-w", "2,2,2", "-m", "made.toml"], r"--memory and --waits say the same: give one of them$"),
    (["--facts", "absent.toml"], r"cannot read absent.toml: No such file or directory$"),
])
def test_refuses(call, gcd, options, message):
    done = call("shmac", "wcet", gcd, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(f"cyclebound: {message}", done.stderr), done.stderr


@pytest.mark.parametrize(("text", "message"), [
    ("region = 3", r"region must be tables \[\[region\]\]$"),
    ("x = 3", r"it must have tables \[\[region\]\], not 'x'$"),
    ("[[region]]\nname = 'a'\nstart = 0", r"region 1: it has no end$"),
    ("[[region]]\nname = 'a'\nstart = 0\nend = 4\nreads = 1", r"region 1: no field 'reads'; did "),
    ("[[region]]\nname = 3\nstart = 0\nend = 4", r"region 1: name must be a text, not 3$"),
    ("[[region]]\nname = 'a'\nstart = 0\nend = 'b'", r"end of region a must be a whole number "),
    ("[[region]]\nname = 'a'\nstart = 0\nend = 4\nread = true", r"read of region a must be a whol"),
    ("", r"memory must have a region$"),
    ("[", r"Invalid initial character for a key part"),
])
def test_refuses_a_memory(call, gcd, tmp_path, text, message):
    (tmp_path / "made.toml").write_text(text)
    done = call("shmac", "wcet", gcd, "--memory", "made.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(f"cyclebound: made.toml[:,] {message}", done.stderr), done.stderr


@pytest.mark.parametrize(("text", "message"), [
    ("loop = 3", r"no table 'loop'; did you mean loops\?$"),
    ("loops = 3", r"loops must be a table$"),
    ("[loops]\nstep = 0", r"loop 'step' takes a whole number of at least 1, or "),
    ("[loops]\nstep = { bound = 3, least = 1 }", r"loop 'step' takes a whole number of at least"),
    ("[loops]\n'a b' = 3", r"a loop takes a name, a name and a distance"),
    ("[registers]\na0 = 'x'", r"register 'a0' takes a whole number or \[least, greatest\], not "),
    ("[registers]\na0 = [3, 1]", r"register a0 must be from -2\^31 to 2\^32 - 1, the least first"),
])
def test_refuses_facts(call, gcd, tmp_path, text, message):
    (tmp_path / "facts.toml").write_text(text)
    done = call("shmac", "wcet", gcd, "--facts", "facts.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(f"cyclebound: facts.toml: {message}", done.stderr), done.stderr
