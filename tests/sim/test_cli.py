"""What the command line says; above all, to users who made a mistake."""

import io
import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import typer
from rich.console import Console
from rich.markup import render
from rich.table import Table

from cyclebound.sim.base.print_table import LEAST_COLUMNS, print_table
from cyclebound.sim.cli import base as cli
from cyclebound.sim.cli.main import add_commands

pytestmark = [pytest.mark.system,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]

WRONG = {
    "nonsense": r"No such command 'nonsense'. See `cyclebound --help`.",
    "regress --bogus": r"No such option: --bogus.* See `cyclebound regress --help`.",
    "run noc.arbiter --test nothing": r"no test of noc.arbiter's testbench cycle 'nothing'; known "
                                      r"are all_always_ask, any_who_ask_at_once, "
                                      r"others_wait_for_a_winner_that_stalls, "
                                      r"random_requests_and_stalls, reset_in_mid_run",
    "list --bogus": r"No such option: --bogus.* See `cyclebound list --help`.",
    "bound": r"Missing argument 'BLOCK'. See `cyclebound bound --help`.",
    "bound noc.arbitre": r"no block 'noc.arbitre'; did you mean noc.arbiter?",
    "run noc.arbitre": r"no block 'noc.arbitre'; did you mean noc.arbiter?",
    "regress noc.arbiter noc.arbitre": r"no block 'noc.arbitre'; did you mean noc.arbiter?",
    "verilog noc.arbitre -o -": r"no block 'noc.arbitre'; did you mean noc.arbiter?",
    "verilog noc.arbiter -o a.v --registers .":
        r"noc.arbiter has no register table; simd.host, simd.hosted_accelerator have one",
    "verilog simd.host --registers .":
        r"--registers describes the file of --output, a block without a shell",
    "prove noc.arbiter --solvers z3,yice": r"no solver 'yice'; did you mean yices?",
    "prove noc.arbitre": r"no block 'noc.arbitre'; did you mean noc.arbiter?",
    "fpga noc.arbitre": r"no block 'noc.arbitre'; did you mean noc.arbiter?",
    "fpga arbiter --device ecp5-86k":
        r"no FPGA target 'ecp5-86k'; did you mean ecp5-85k?",
    "fpga arbiter --picture floor.gif":
        r"--picture takes a file that ends in .svg, .png, .pdf, not floor.gif",
    "fpga arbiter --area --seeds 2":
        r"--area places nothing: leave out --mhz, --picture and --seeds",
    "fpga banked_memory --board ulx3s-86f -o a.bit":
        r"no board 'ulx3s-86f'; did you mean ulx3s-85f?",
    "fpga banked_memory --board ulx3s-85f": r"--board needs --output FILE.bit",
    "fpga banked_memory --board ulx3s-85f -o a.bin": r"--board needs --output FILE.bit",
    "fpga banked_memory --board ulx3s-85f -o a.bit --divide 3":
        r"--divide takes a power of two, not 3",
    "fpga banked_memory --board ulx3s-85f -o a.bit --tx G2":
        r"--tx G2: this pin is clk25_0 on the board",
    "fpga arbiter --board ulx3s-85f -o a.bit":
        r"noc.arbiter has no harness that measures by itself on a board: none of its testbenches "
        r"has a `board_script`",
    "fpga banked_memory --divide 2": r"--output, --divide and --tx belong to --board",
    "fpga banked_memory --received nowhere":
        r"cannot read nowhere: [Errno 2] No such file or directory: 'nowhere'",
    "fpga arbiter --vendors": r"--vendors belongs to --area: nothing open places for those",
    "fpga arbiter --seeds 0": r"Invalid value for '--seeds': .* See `cyclebound fpga --help`.",
    "bound arbiter -c fuor": r"no configuration of noc.arbiter 'fuor'; did you mean four?",
    "run arbiter -c fuor": r"no configuration of noc.arbiter 'fuor'; did you mean four?",
    "regress arbiter -c fuor": r"no configuration of noc.arbiter 'fuor'; did you mean four?",
    "run arbiter --testbench cylce":
        r"no testbench of noc.arbiter 'cylce'; did you mean cycle?",
    "regress arbiter --testbench cylce":
        r"no testbench of noc.arbiter 'cylce'; did you mean cycle?",
    "bound arbiter --set cuont=3": r"no parameter of noc.arbiter 'cuont'; did you mean count?",
    "verilog arbiter -o - --set cuont=3":
        r"no parameter of noc.arbiter 'cuont'; did you mean count?",
    "bound arbiter --set count": r"--set takes NAME=VALUE, not 'count'",
    "bound arbiter --set =3": r"--set takes NAME=VALUE, not '=3'",
    "bound arbiter --set requesters=3 --set requesters=5": r"--set requesters is given twice",
    "bound flow_senders --set words=100000000000 --set period=99 --set length=9 --set crossing=1 "
    "--set offset=0":
        r"bound injection of noc.flow_senders: too large to be worked out, with "
        r"'words=100000000000'",
    "bound arbiter --set count=many": r"--set count takes a whole number, not 'many'",
    "bound arbiter --set count=0": r"noc.arbiter: Requester count must be at least 1, not 0",
    "verilog arbiter -o - --set count=0":
        r"noc.arbiter: Requester count must be at least 1, not 0",
    "verilog sram.banked_memory -o - --set words=100000000000000000000":
        r"BankedMemory: too large to be elaborated: cannot fit 'int' into an index-sized integer",
    "regress --simulator vcs": r"--simulator is verilator or icarus, not 'vcs'",
    "run arbiter --simulator vcs": r"--simulator is verilator or icarus, not 'vcs'",
    "regress -j 0": r"Invalid value for '-j': .* See `cyclebound regress --help`.",
    "regress --seed one": r"Invalid value for '--seed': .* See `cyclebound regress --help`.",
    "regress --resume nowhere": r"nowhere holds no run: there is no results.sqlite in it",
    "regress --resume a -o b": r"--resume names the folder already; leave out --output",
    "compare nowhere": r"nowhere holds no run: there is no results.sqlite in it",
    "compare . nowhere": r". holds no run: there is no results.sqlite in it",
    "report nowhere": r"nowhere holds no run: there is no results.sqlite in it",
    "--catalogue nowhere list": r"catalogue page 'nowhere': No module named 'nowhere'",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_mistake_is_one_line(call, tmp_path, words):
    said = call(*words.split())
    message = re.escape(WRONG[words]).replace(r"\.\*", ".*")
    assert re.fullmatch(f"cyclebound: {message}\n", said.stderr), said.stderr
    assert said.returncode == 2
    assert said.stdout == ""
    assert list(tmp_path.iterdir()) == []  # nothing was begun


def test_a_mistake_in_a_process_of_its_own(cyclebound):
    said = cyclebound("bound", "noc.arbitre")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == "cyclebound: no block 'noc.arbitre'; did you mean noc.arbiter?\n"


def test_no_command_shows_the_help(call):
    said = call()
    assert (said.returncode, said.stderr) == (2, "")
    assert "regress" in said.stdout


COMMANDS = {
    "list": ["--json"],
    "bound": ["--configuration", "-c", "--set", "--derivation", "--json"],
    "regress": ["-j", "--set", "--part", "--configuration", "--testbench", "--full", "--shard",
                "--seed", "--waves", "--no-proofs",
                "--no-pictures", "--fpga", "--scheduler", "--resume", "--output", "-o",
                "--simulator", "--wall-limit", "--json"],
    "merge": ["--output", "-o", "--no-report", "--json"],
    "run": ["--configuration", "--testbench", "--test", "--seed", "--waves", "--simulator",
            "--wall-limit", "--output", "--set", "--part"],
    "compare": ["--json", "--markdown"],
    "baseline": ["--accept", "--json"],
    "attest": ["--verify", "--signers", "--sample", "--seed"],
    "check": ["--start", "--end", "--bound", "--clock", "--reset", "--request", "--in-flight"],
    "new": ["--end", "--output", "--start", "--top", "--verilog", "--within", "-o"],
    "picture": ["--configuration", "--seed", "--from", "--output", "--wall-limit"],
    "report": ["--output", "--since", "--sarif", "--badge"],
    "dataflow": [],
    "dram": [],
    "gpu": [],
    "kernel": [],
    "mutate": ["--configuration", "-n", "--seed", "--testbench", "--at-least", "--json"],
    "noc": [],
    "shmac": [],
    "simd": [],
    "system": [],
    "systolic": [],
    "verilog": ["--output", "-o", "--configuration", "--set", "--part", "--port-map", "--fusesoc",
                "--litex", "--registers", "--shell", "--check", "--beside"],
    "monitor": ["--output", "-o", "--configuration", "--set", "--part", "--values", "--histogram",
                "--flags-only", "--name", "--area"],
    "prove": ["-j", "--set", "--part", "--solvers", "--certify", "--json"],
    "fpga": ["--configuration", "--target", "--device", "--set", "--seed", "--seeds",
             "--mhz", "--picture", "-j", "--area", "--vendors", "--compact",
             "--board", "--output", "-o", "--divide", "--tx", "--received", "--json"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_every_option(call, name):
    said = call(name, "--help")
    assert (said.returncode, said.stderr) == (0, "")
    for option in COMMANDS[name]:
        assert re.search(rf"[\s|│,]{option}[\s|│,]", said.stdout), option


def test_help_names_every_command(call):
    for word in ("--help", "-h"):
        said = call(word)
        assert (said.returncode, said.stderr) == (0, "")
        shown = {}  # by the table's title
        for table in re.split(r"(?m)^[╭+]\S*", said.stdout)[2:]:
            title, *lines = table.splitlines()
            shown[title.strip(" ─-╮+")] = [
                line.split()[1] for line in lines if re.match(r"[|│] \w", line)]
        assert set().union(*shown.values()) == set(COMMANDS)
        assert shown["Your own designs"] == ["verilog", "monitor", "fpga", "check", "new"]
        assert sorted(shown["Kernels and systems of each family"]) == sorted(cli.GROUPS)


def every_command():
    """All commands, those of groups and the groups themselves too, as words."""
    add_commands(list(cli.GROUPS))

    def walk(group, words):
        yield words
        for command in group.registered_commands:
            yield [*words, command.name or command.callback.__name__]
        for info in group.registered_groups:
            yield from walk(info.typer_instance, [*words, info.name])

    return list({tuple(words): None for words in walk(cli.app, [])})


def broken_early(shown, width):
    """Pairs of lines where the second's first word had room at the end of the first, in the text
    between the usage and the tables of a command's help. Indented lines may end anywhere."""
    text = re.split(r"(?m)^[╭+]", shown.partition("Usage: ")[2])[0].splitlines()[1:]
    lines = [line.rstrip()[1:] for line in text]  # typer pads with one space
    return [(line, after) for line, after in itertools.pairwise(lines)
            if line and after and not line.startswith(" ") and not after.startswith(" ")
            and len(line) + 1 + len(after.split()[0]) <= width - 2]


def test_paragraphs_of_help_fill_a_terminal(call, monkeypatch):
    commands = every_command()
    assert {("regress",), ("gpu",), ("dram", "tile"), ("simd", "published")} <= set(commands)
    monkeypatch.setenv("COLUMNS", "80")
    for words in commands:
        shown = call(*words, "--help").stdout
        assert broken_early(shown, 80) == [], words
        usage = next(line for line in shown.splitlines() if "Usage" in line)
        assert not re.search(r"\[\[|\.\.\.[]}]", usage), words  # brackets twice
        assert "<bool>" not in shown, words  # a flag takes no value


def test_a_break_of_the_source_in_a_paragraph_is_found():
    assert broken_early(" Usage: x\n\n An early \n break.\n", 80) == [("An early", "break.")]


def test_help_keeps_examples_lists_and_brackets():
    assert cli.flowing("""Summary
        in two lines.

            cyclebound list
            cyclebound new x[y]

        One
        paragraph:
        - an item
        - port[p]
        """) == ("Summary in two lines.\n\n\n    cyclebound list\n    cyclebound new x\\[y]\n\n"
                 "One paragraph:\n- an item\n- port\\[p]")


def test_help_shows_brackets(call):
    assert "any(port[p].valid for p in 4)" in call("check", "--help").stdout
    assert "for kernel.sas a table [kernel], or" in unboxed(
        call("simd", "scoreboard", "--help").stdout)


def unboxed(shown):
    """What a table of help says, on one line."""
    return " ".join(re.sub(r"[|│]", " ", shown).split())


def helps():
    """Each text of help, of all commands and of their arguments and options, by their words."""
    add_commands(list(cli.GROUPS))

    def walk(command, words):
        yield words, command.help
        for parameter in command.params:
            yield [*words, parameter.name], getattr(parameter, "help", None)
        for name, below in getattr(command, "commands", {}).items():
            yield from walk(below, [*words, name])

    return [(words, text) for words, text in walk(typer.main.get_command(cli.app), []) if text]


def swallowed(text):
    """What rich takes for markup: each ``[word]`` that no backslash precedes."""
    return render(text).spans


def test_no_help_swallows_brackets():
    found = helps()
    assert len(found) > 500
    assert {words[0] for words, _ in found if words} >= set(COMMANDS)
    assert [words for words, text in found if swallowed(text)] == []


def test_a_swallowed_bracket_is_found():
    assert swallowed("a table [kernel] with")
    assert not swallowed(r"a table \[kernel] with [X, Y] and [0]")


def test_list(call):
    text = call("list")
    assert (text.returncode, text.stderr) == (0, "")
    said = call("list", "--json")
    assert (said.returncode, said.stderr) == (0, "")
    blocks = json.loads(said.stdout)
    assert {"noc.arbiter", "sram.banked_memory"} <= {block["block"] for block in blocks}
    for block in blocks:
        assert block["block"] in text.stdout
        assert block["family"] == block["block"].partition(".")[0]
        assert block["configurations"]
        # of the whole accelerator every event is compared; its bounds are those of its blocks
        assert block["bounds"] or block["block"] == "simd.hosted_accelerator"
        assert any(kind.startswith("simulation: ") for kind in block["evidence"])


def test_list_of_a_family_and_of_a_block(call):
    said = call("list", "noc", "sram.banked_memory", "noc.arbiter", "--json")
    assert (said.returncode, said.stderr) == (0, "")
    names = [block["block"] for block in json.loads(said.stdout)]
    assert {name.partition(".")[0] for name in names} == {"noc", "sram"}
    assert len(names) == len(set(names))
    detail = call("list", "arbiter").stdout
    assert "count=" in detail
    assert "proof: " in detail
    assert "sram.banked_memory" not in detail
    said = call("list", "nox.arbiter")
    assert said.returncode == 2
    assert said.stderr == "cyclebound: no block 'nox.arbiter'; did you mean noc.arbiter?\n"


def test_list_into_a_pipe_that_closes(command, command_environment):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        said = subprocess.run([*command, "list"], stdout=closed, stderr=subprocess.PIPE, text=True,
                              env=command_environment)
    assert "Traceback" not in said.stderr
    assert said.returncode == 1


def test_bound(call):
    settings = ("--set", "requesters=11", "--set", "transaction_bytes=0x15")
    said = call("bound", "sram.banked_memory", "-c", "paper", *settings, "--json")
    assert (said.returncode, said.stderr) == (0, "")
    rows = {row["bound"]: row for row in json.loads(said.stdout)}
    row = rows["eq1"]
    assert (row["cycles"], row["problem"]) == (33, None)  # ceil(21 / 8) * 11
    assert row["formula"] == "ceil(s_trans / w) * N_req"
    assert row["source"] == "memory-composition, Eq. 1"
    assert row["parameters"] == {"requesters": 11, "word_bytes": 8, "transaction_bytes": 21}
    text = call("bound", "sram.banked_memory", "-c", "paper", *settings).stdout
    for shown in ("33", "ceil(s_trans / w) * N_req", "memory-composition, Eq. 1",
                  "--set transaction_bytes=  = 21 length of the transaction, in bytes: at least 1",
                  "the other requesters of the bank may ask in any cycle"):
        assert shown in text
    assert "Duration of a transaction" not in text
    text = call("bound", "sram.banked_memory", "-c", "paper", "--derivation").stdout
    assert "Duration of a transaction" in text


def test_bound_of_a_request_that_is_not_named(call):
    said = call("bound", "arbiter")
    assert (said.returncode, said.stderr) == (0, "")
    assert "bound round_robin_wait (grant): needs requesters\n" in said.stdout
    said = call("bound", "arbiter", "--set", "count=5")
    assert said.returncode == 2
    assert said.stderr == ("cyclebound: bound round_robin_wait needs requesters; "
                           "give it with --set NAME=VALUE\n")
    said = call("bound", "arbiter", "--set", "requesters=-1")
    assert said.returncode == 2
    assert said.stderr.startswith("cyclebound: requesters must be a whole number of at least 1,")


def test_a_page_beside_the_user(cyclebound, tmp_path):
    """In the current folder, with a virtual environment that must not be read."""
    (tmp_path / "mine.py").write_text("from faults import _block\nBLOCKS = (_block('mine'),)\n")
    said = cyclebound("--catalogue", "mine", "list", CYCLEBOUND_CATALOGUE="mine")
    assert (said.returncode, said.stderr) == (0, "")
    assert "test.mine" in said.stdout
    hidden = tmp_path / "env" / "pyvenv.cfg"
    hidden.parent.mkdir()
    hidden.write_text("")
    (hidden.parent / "odd.py").symlink_to("nowhere")  # cannot be read
    said = cyclebound("--catalogue", "mine", "regress", "mine", "--no-proofs",
                      "--no-pictures", "-o", "run")
    assert (said.returncode, said.stderr) == (0, "")
    assert "exact" in said.stdout


@pytest.mark.parametrize("words", ["regress noc.arbiter", "run noc.arbiter"])
def test_without_a_compiler(cyclebound, tmp_path, words):
    said = cyclebound(*words.split(), PATH="/nowhere")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == (
        "cyclebound: no C++ compiler found (looked for $CXX, g++, clang++); install one, e.g. "
        "`apt-get install g++` or `xcode-select --install`\n")
    assert list(tmp_path.iterdir()) == []


def test_with_a_compiler_that_does_not_work(cyclebound, tmp_path):
    said = cyclebound("regress", "noc.arbiter", CXX="/bin/false")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == ("cyclebound: the C++ compiler /bin/false does not work: `--version` "
                           "gives 1; name another in CXX\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.each_commit
def test_run(cyclebound, tmp_path):
    said = cyclebound("--catalogue", "faults", "run", "test.good", "-c", "d5", "-o", "run")
    assert (said.returncode, said.stderr) == (0, "")
    assert "passed: test.good/d5/cycle/1" in said.stdout
    assert re.search(r"^5 requests observed, 30 comparisons, 36 cycles in ", said.stdout,
                     re.MULTILINE)
    said = cyclebound("--catalogue", "faults", "run", "test.mismatch", "-o", "run", "--test",
                      "requests")
    assert (said.returncode, said.stderr) == (1, "")
    assert ("FAILED: test.mismatch/d3/cycle/1: requests: cycle 11: done is 0, expected 1"
            in said.stdout)
    assert (tmp_path / "run" / "jobs" / "test.mismatch" / "d3" / "cycle-1" / "log.txt").is_file()


def test_a_log_has_a_line_a_minute(capsys):
    now = iter([0.0, 30.0, 61.0, 90.0, 125.0])
    report = cli.progress_lines(clock=lambda: next(now))
    for done in range(1, 5):
        report("building", done, 9)
    assert capsys.readouterr().err == "[  1:01] building: 2 of 9\n[  2:05] building: 4 of 9\n"



def test_version(call):
    said = call("--version")
    assert (said.returncode, said.stderr) == (0, "")
    assert re.match(r"cyclebound [\d.]+\namaranth [\d.]+\ncocotb [\d.]+\n", said.stdout)


def test_list_is_sorted_and_says_what_is_the_default(call):
    blocks = json.loads(call("list", "--json").stdout)
    names = [block["block"] for block in blocks]
    assert names == sorted(names)
    assert all(block["default"] in block["configurations"] for block in blocks)
    assert any(block["pictures"] for block in blocks)
    assert "four (default): count=4" in call("list", "noc.arbiter").stdout


def test_bound_has_values_without_options(call):
    [row] = json.loads(call("bound", "noc.arbiter", "--json").stdout)
    assert row["unit"] == "grants"
    assert [(value["configuration"], value["value"]) for value in row["values"]] == [
        ("four", 4), ("paper", 11)]
    text = call("bound", "noc.arbiter").stdout
    assert "11 grants, requesters 11" in text
    assert "--set requesters=" in text


def test_narrow_terminals_get_lists():
    def printed(table, width):
        out = io.StringIO()
        print_table(table, Console(file=out, width=width, markup=False))
        return out.getvalue()

    table = Table("block", "says", title="What")
    table.add_row("noc.arbiter", "four [4]" + 20 * " more")
    table.add_row("noc.mesh", "")
    for width, wanted in ((LEAST_COLUMNS - 1, True), (LEAST_COLUMNS, False)):
        found = printed(table, width)
        assert ("What\nnoc.arbiter\n  says: four [4] more" in found) == wanted, found
        assert ("┃" in found) != wanted
    assert "┃" in printed(Table("little", "room"), 40)  # it fits
    table = Table("block", "lines", "worst", "says")
    table.columns[2].no_wrap = True
    table.add_row("noc.mesh", "one: 1\ntwo: 2" + 40 * " more", "1" * 80, "brief")
    assert "┃" in printed(table, 130)
    for width in (98, 110):  # a number of 80 digits is not cut off
        found = printed(table, width)
        assert found.startswith("noc.mesh\n  lines:\n    one: 1\n    two: 2 more more"), found
        assert f"\n  worst: {80 * '1'}\n  says: brief\n" in found
    table = Table("block", "a", "b", "c")  # short cells share a line
    table.add_row("noc.mesh", "1", "2", 60 * "more ")
    assert printed(table, 99).startswith("noc.mesh\n  a: 1; b: 2\n  c: more more")
    table = Table(title="Figures", show_header=False)
    table.add_row("clock rate", "88.6 MHz" + 20 * " more")
    assert printed(table, 60).startswith("Figures\nclock rate: 88.6 MHz more")


def test_bounds_of_a_family(call):
    said = call("bound", "sram", "--json")
    rows = json.loads(said.stdout)
    assert {row["block"] for row in rows} == {"sram.banked_memory"}
    text = call("bound", "sram").stdout
    assert text.startswith("sram.banked_memory\n")
    assert "eq1" in text
    said = call("bound", "sram", "-c", "none")
    assert said.returncode == 2
    assert said.stderr == ("cyclebound: no block of sram has all that --configuration, --set and "
                           "--part name\n")


def test_bounds_for_another_part(call, tmp_path):
    """As --set part=; of a family, those blocks are left out that are not for such a part."""
    shipped = Path(__file__).parents[2] / "docs" / "parts" / "ddr4-2400.toml"
    (tmp_path / "own.toml").write_text(shipped.read_text())
    request = ("--set", "bursts=1", "--set", "write=0", "--json")

    def values(said):
        assert said.returncode == 0, said.stderr
        return {(row["block"], row["what"]): row["cycles"] for row in json.loads(said.stdout)}

    block = "bound", "dram.command_arbiter"
    own = values(call(*block, "--part", str(tmp_path / "own.toml"), *request))
    assert own == values(call(*block, "--set", f"part={tmp_path / 'own.toml'}", *request))
    assert own != values(call(*block, *request))
    said = call("bound", "dram", "--part", str(tmp_path / "own.toml"), *request)
    assert {("dram.command_arbiter", what) for _, what in own} <= values(said).keys()
    assert "dram.dfi_controller: DDR4-2400R x16 (2 bank groups): generation must be" in said.stderr
    for part, says in (("none.toml", "none.toml: cannot be read"), ("ddr9", "part must be one of")):
        for name in ("dram", "dram.command_arbiter"):
            said = call("bound", name, "--part", part)
            assert (said.returncode, said.stderr.count("\n")) == (2, 1)
            assert says in said.stderr


def test_columns_of_the_environment_count(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert cli.console().width == 60
    monkeypatch.delenv("COLUMNS")
    assert cli.console().width == 200


@pytest.mark.system
def test_run_refuses_what_the_testbench_cannot_do(call):
    said = call("run", "shmac.tile", "--set", "columns=1")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == ("cyclebound: shmac.tile: testbench cycle cannot run on "
                           "bypass+columns=1: it needs columns to be at least 2, not 1\n")
