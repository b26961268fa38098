"""The chapter about a block in Verilog: its files run, and its commands say what it promises."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "your-own-block.md"
NAMES = ["round_robin.v", "round_robin_model.py", "round_robin_tb.py", "round_robin_properties.py",
         "round_robin_page.py"]
pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The chapter's files, in a folder of their own."""
    folder = tmp_path_factory.mktemp("verilog")
    chapter = PAGE.read_text().partition("# A block in Verilog\n")[2]
    files = dict(re.findall(r"`(round_robin\w*\.\w+)`.*?^```\w+\n(.*?)^```$", chapter,
                            re.MULTILINE | re.DOTALL))
    assert list(files) == NAMES
    for name, code in files.items():
        (folder / name).write_text(code)
    return folder


def cyclebound(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "cyclebound.sim", "--catalogue", "round_robin_page", *arguments],
        cwd=folder, capture_output=True, text=True)


def test_is_exact_and_proved(folder):
    done = cyclebound(folder, "regress", "own.round_robin", "--no-pictures", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["configuration"]: row for row in json.loads(done.stdout)["verdicts"]}
    assert {name: (row["verdict"], row["worst"], row["evidence"]) for name, row in rows.items()} \
        == {"four": ("exact", 4, "proved"), "seven": ("exact", 7, "proved")}


def test_other_parameters_and_verilog(folder):
    done = cyclebound(folder, "bound", "own.round_robin", "--set", "N=9", "--json")
    assert json.loads(done.stdout)[0]["cycles"] == 9, done.stderr
    done = cyclebound(folder, "verilog", "own.round_robin", "--set", "N=9", "-o", "out.v")
    assert done.returncode == 0, done.stderr
    assert re.search(r"input +(wire +)?\[8:0\] +req\b", (folder / "out.v").read_text())


@pytest.mark.thorough
def test_a_fault_is_found_and_located(folder):
    source = (folder / "round_robin.v").read_text()
    broken = source.replace("~(gnt | (gnt - 1'b1))", "gnt")
    assert broken != source
    (folder / "round_robin.v").write_text(broken)
    try:
        done = cyclebound(folder, "regress", "own.round_robin", "-c", "four", "--no-pictures")
    finally:
        (folder / "round_robin.v").write_text(source)
    assert done.returncode == 1
    assert "gnt is 1, expected 2" in done.stdout


@pytest.mark.thorough
def test_is_mutated(folder):
    done = cyclebound(folder, "mutate", "own.round_robin", "-n", "24", "--at-least", "75")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "round_robin.v:" in done.stdout


@pytest.mark.thorough
def test_is_placed(folder):
    done = cyclebound(folder, "fpga", "own.round_robin")
    assert done.returncode == 0, done.stderr
    assert "MHz" in done.stdout
