"""Every reader against broken input: what it says is one error of its own kind, or nothing.

Each search runs for a moment here, and for minutes with ``--thorough``. A seed is printed with each
failure, and repeats it.
"""

import contextlib
import io
import json
import random
import re
import shutil
import sqlite3
import sys
import types
import warnings
from pathlib import Path

import pytest

from cyclebound.golden.csv_rows import read_rows
from cyclebound.golden.dram import index_table
from cyclebound.golden.dram.part_file import load_part
from cyclebound.golden.dram.timing import TIMINGS
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli import base as cli
from cyclebound.sim.cli import listing
from cyclebound.sim.cli.main import main
from cyclebound.sim.drawing.waveform import render, sample, signals_of
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression.results import FILE, Results
from cyclebound.sim.regression.table import differences, print_run, read, write_junit
from cyclebound.sim.report.report import write_report
from cyclebound.sim.run.job import Group, Job, Outcome
from cyclebound.tools.dram import index_witnesses
from kit.refusal import refusal

from .test_block_check import GOOD, VALUES, places

pytestmark = pytest.mark.unit

EXAMPLE = Path(__file__).parents[2] / "docs" / "parts" / "ddr4-2400.toml"


def searches(short, long):
    """A test of ``short`` rounds, and one of ``long`` that runs on request."""
    return pytest.mark.parametrize("rounds", [
        pytest.param(range(short), id="short"),
        pytest.param(range(short, long), id="long", marks=pytest.mark.thorough)])


def broken(data, chance):
    """Bytes flipped, cut, doubled, moved."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 40))):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((1, 1, 4, 100)))
        kind = chance.randrange(5)
        if kind == 0:
            data[at:to] = chance.randbytes(to - at)
        elif kind == 1:
            data[at:to] = b""
        elif kind == 2:
            data[at:at] = data[at:to]
        elif kind == 3:
            data[at:at] = chance.choice((b"\0", b"\xff", b"9" * 5000, b"-", b"[" * 3000, b"\n"))
        elif chance.random() < 0.2:
            del data[at:]
    return bytes(data)


# -- runs ------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz") / "run"
    results = Results(folder, create=True)
    results.note(seed=1, jobs=3, versions={"python": "3"}, command="x", planned=["a"],
                 options={"blocks": ["a.b"], "seed": 1})
    for seed in (1, 2):
        job = Job("a.b", "c", "cycle", seed, "/f")
        results.finished(job, Outcome(job.name, seed == 1, "", [
            Group("move", {"size": 1}, n, 3, 4, 5, "t") for n in range(3)], 1, 2, 0.5, 0.5,
            tests=[("t", True)]), "content")
    for word in ("exact", "violated"):
        results.verdict(Verdict("a.b", word, "b", "move", "f", "s", word, 5, 1, 1, 4, 4, {"n": 1},
                                histogram=[(1, 2), (4, 3)]))
    for status in ("proved", "failed"):
        results.proof(Proof("a.b", status, "so", {"n": 1}, status, asked=True))
    results.waveform("a.b", "exact", "b", "<svg xmlns='http://www.w3.org/2000/svg'/>", "x")
    results.close()
    return folder


def read_all(folder, report):
    found = read(folder)
    json.loads(found.as_json())
    print_run(found, cli.console())
    write_junit(found, folder / "junit.xml")
    differences(found, found)
    with contextlib.closing(Results(folder)) as results:
        results.waveforms()
        results.rows("picture")
        list(results.observations("a.b", "c"))
    if report:
        write_report(folder)


@searches(150, 6000)
def test_runs_with_broken_bytes(run, tmp_path, rounds):
    refused = 0
    for seed in rounds:
        chance = random.Random(f"bytes {seed}")
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        (folder / FILE).write_bytes(broken((run / FILE).read_bytes(), chance))
        (folder / f"{FILE}-journal").unlink(missing_ok=True)
        says = refusal(UserError, read_all, folder, seed % 50 == 0)
        assert says is None or "\n" not in says, seed
        refused += says is not None
    assert refused > len(rounds) // 10


ODD = (None, 0, 1, -1, 1 << 62, -1 << 63, 2.5, 1e308, "", "x", "[]", "{}", "null", "NaN", "1e999",
       "\"\\ud800\"", "[" * 2000, "9" * 5000, b"\xff\0", "\0", "../../x", "\x1b[31m", "-1", "true")
LEAVES = (None, 0, -1, 10**30, 1 << 62, 0.5, 1e308, True, "", "x", "\x1b", "../x", [], {}, [1],
          [[1, 2]], [[-5, -7]], [[0, 1 << 62], [1 << 62, 1]], {"a": {}}, {"": None})


@searches(60, 6000)
def test_runs_with_broken_values(run, tmp_path, rounds):
    refused = 0
    for seed in rounds:
        chance = random.Random(f"values {seed}")
        folder = tmp_path / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(run, folder)
        with contextlib.closing(sqlite3.connect(folder / FILE)) as base, base:
            table = chance.choice(("meta", "job", "observation", "verdict", "proof", "waveform"))
            column = chance.choice([row[1] for row in base.execute(f"PRAGMA table_info({table})")])
            rowid, cell = chance.choice(list(base.execute(f"SELECT rowid, {column} FROM {table}")))
            value = chance.choice(ODD)
            if isinstance(cell, str) and cell[:1] == "{" and chance.random() < 0.8:
                value = json.loads(cell)
                value[chance.choice([*value, "odd"])] = chance.choice(LEAVES)
                value = json.dumps(value)
            with contextlib.suppress(sqlite3.IntegrityError):
                base.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid))
        says = refusal(UserError, read_all, folder, seed % 10 == 0)
        assert says is None or "\n" not in says, seed
        refused += says is not None
    assert refused > len(rounds) // 10


# -- parts -----------------------------------------------------------------------------------------

NUMBERS = ("0", "-1", "1e30", "1E+999999999", "1e-999999999", "0e999999999", "inf", "nan", "'x'",
           "true", "[]", "{}", "9" * 5000, "0x" + "f" * 5000, "1E+99999999999999999999", "[" * 2000,
           "13.32000000000000000000000000000000000000000001", "2024-01-01", "1048576", "16", "4")


@searches(200, 60_000)
def test_parts(tmp_path, rounds):
    text, path, refused = EXAMPLE.read_text(), tmp_path / "part.toml", 0
    for seed in rounds:
        chance = random.Random(f"part {seed}")
        data = text
        for name in chance.sample((*TIMINGS, "banks", "rows", "tck_ps", "name"), 2):
            value = chance.choice(NUMBERS)
            value = chance.choice((value, f"{{ns = {value}}}", f"{{ck = {value}}}",
                                   f"{{source = {value}}}"))
            if chance.random() < 0.7:
                data = re.sub(rf"(?m)^{name}\b.*$", lambda _, line=f"{name} = {value}": line, data)
        data = data.encode()
        path.write_bytes(broken(data, chance) if chance.random() < 0.5 else data)
        says = refusal(ValueError, load_part, path)
        assert says is None or (says.startswith(f"{path}: ") and "\n" not in says), (seed, says)
        refused += says is not None
    assert refused > len(rounds) // 10


# -- tables beside the models ----------------------------------------------------------------------

@searches(150, 5000)
@pytest.mark.parametrize("module", [index_table, index_witnesses])
def test_tables(tmp_path, monkeypatch, module, rounds):
    data, path, refused = module.FILE.read_bytes()[:3000], tmp_path / "table.csv", 0
    monkeypatch.setattr(module, "FILE", path)
    function = getattr(module, "known_delays", getattr(module, "witnesses", None))
    function = getattr(function, "__wrapped__", function)
    for seed in rounds:
        path.write_bytes(broken(data, random.Random(f"table {seed}")))
        says = refusal(ValueError, function)
        assert says is None or says.startswith(f"{path}: "), seed
        refused += says is not None
    assert refused > len(rounds) // 10


@pytest.mark.parametrize(("text", "says"), [
    ("", "columns must be a, b, not None"),
    ("a,c\n", "columns must be a, b, not ['a', 'c']"),
    ("a,b\n1\n", "line 2: must have 2 values, not 1"),
    ("a,b\n1,2\n1,x\n", "line 3: b cannot be 'x'"),
    ('a,b\n"1,2\n', "unexpected end of data"),
])
def test_a_table_that_is_none(tmp_path, text, says):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {says}')}$"):
        read_rows(path, {"a": int, "b": int})


# -- catalogue pages -------------------------------------------------------------------------------

@searches(120, 30_000)
def test_pages(monkeypatch, rounds):
    """Several fields of a page at once, and what the page is; what is taken can be listed."""
    puts, refused = [put for _, put in places()], 0
    for seed in rounds:
        chance = random.Random(f"page {seed}")
        page = types.ModuleType(f"fuzzed_page_{seed}")
        monkeypatch.setitem(sys.modules, page.__name__, page)
        blocks = [chance.choice(puts)(chance.choice(VALUES)) for _ in range(chance.randrange(3))]
        page.BLOCKS = chance.choice((blocks, tuple(blocks), (*blocks, GOOD),
                                     chance.choice(VALUES), {GOOD.name: GOOD}))
        says = refusal(UserError, lambda page=page: [
            listing._evidence(block) for block in catalogue.load((page.__name__,))])
        assert says is None or "\n" not in says, seed
        refused += says is not None
        sys.modules.pop(page.__name__)
    catalogue.load.cache_clear()
    assert refused > len(rounds) // 10


# -- waveforms -------------------------------------------------------------------------------------

def wave():
    lines = ["$timescale 1 ns $end", "$scope module top $end", "$var wire 1 ! clk $end",
             "$scope module dut $end", "$var wire 12 % grant $end", "$var real 64 & level $end",
             "$upscope $end", "$upscope $end", "$enddefinitions $end"]
    for cycle in range(30):
        lines += [f"#{cycle * 10}", "1!", f"b{1 << cycle % 12:b} %", f"r{cycle / 3} &",
                  f"#{cycle * 10 + 5}", "0!"]
    return "\n".join([*lines, "#300", ""]).encode()


@searches(100, 5000)
def test_waveforms(tmp_path, capfd, rounds):
    data, refused = wave(), 0
    for seed in rounds:
        chance = random.Random(f"wave {seed}")
        path = tmp_path / chance.choice(("wave.vcd", "wave.fst", "wave.ghw"))
        path.write_bytes(broken(data, chance))

        def look(path=path):
            names = signals_of(path)
            sample(path, names, 0, 20)
            render(path, names, 3, 12)

        refused += refusal(UserError, look) is not None
        path.unlink()
    capfd.readouterr()  # what the library says of its panics
    assert refused > len(rounds) // 20


# -- command lines ---------------------------------------------------------------------------------

COMMANDS = (
    "list", "bound", "regress", "run", "compare", "picture", "report", "verilog", "prove", "fpga",
    "dram parts", "dram tile", "dram indexed", "dram worst", "dram longest", "dram adversary")
WORDS = (
    "noc.arbiter", "arbiter", "noc", "systolic.matmul", "dram.controller", "four", "nothing", ".",
    "..", "", "run", "run[/a]", "[red]", "-1", "0", "1", "2", "3", "1e9", "0x10", "nan", "ddr4",
    "ddr3-1600-module", "x.toml", "\udcff", "ü", "a" * 300, "64x32", "0x0", "x", "=", "a=b",
    "count=3", "count=-1", "count=0x", "requesters=99999999999999999999", "part=x", "--", "-")
OPTIONS = (
    "--json", "--configuration", "-c", "--testbench", "--set", "--seed", "-j", "--simulator",
    "--wall-limit", "--resume", "--output", "-o", "--waves", "--no-proofs", "--markdown", "--from",
    "--target", "--area", "--catalogue", "--help", "-h", "--part", "-p", "--address", "--words",
    "--period", "--count", "--buffer", "--column", "--line", "--write", "--after-bank", "--picture",
    "--limit", "--mean", "--steps", "--least", "--bogus", "--scheduler")


@searches(50, 6000)
def test_command_lines(run, tmp_path, monkeypatch, rounds):
    """No traceback; a status from 0 to 2; a mistake is one line."""
    from cyclebound.sim.cli import dram as cli_dram

    def stub(*_, **__):
        raise UserError("it would begin")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli_dram, "schedule", stub)
    for name in ("regression.regress.regress", "run.job.run_job", "regression.plan.jobs_of",
                 "export.verilog.export", "regression.regress.prove_blocks",
                 "fpga.placement.place_and_route", "fpga.placement.area_of_parts"):
        monkeypatch.setattr(f"cyclebound.sim.{name}", stub)
    monkeypatch.setattr("cyclebound.golden.dram.worst_case.worst_issue_delay", stub)
    monkeypatch.setattr("cyclebound.tools.dram.index_search.longest_order", stub)
    monkeypatch.setattr("cyclebound.tools.dram.index_exact.longest_request", stub)
    monkeypatch.setattr("cyclebound.sim.drawing.drawing.figure_of", stub)
    for seed in rounds:
        shutil.copytree(run, tmp_path / "run", dirs_exist_ok=True)
        chance = random.Random(f"words {seed}")
        words = [] if chance.random() < 0.05 else chance.choice(COMMANDS).split()
        words += [chance.choice(OPTIONS if chance.random() < 0.4 else WORDS)
                  for _ in range(chance.randrange(6))]
        monkeypatch.setattr(sys, "argv", ["cyclebound", *words])
        said, wrong = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(said), contextlib.redirect_stderr(wrong),
              warnings.catch_warnings(), pytest.raises(SystemExit) as ended):
            main()
        assert ended.value.code in (0, 1, 2), (seed, words)
        assert wrong.getvalue().count("\n") <= 1, (seed, words, wrong.getvalue())
        assert "Traceback" not in said.getvalue() + wrong.getvalue(), (seed, words)
        assert ended.value.code != 2 or wrong.getvalue() or "Usage" in said.getvalue(), words
        for path in tmp_path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
