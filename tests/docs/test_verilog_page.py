"""The chapter about a block in Verilog: its files run, and its commands say what it promises."""

import json
import re
from pathlib import Path

import pytest

from kit.own_files import OwnFiles

PAGE = Path(__file__).parents[2] / "docs" / "your-own-block.md"
NAMES = ["round_robin.v", "round_robin_model.py", "round_robin_tb.py", "round_robin_properties.py",
         "round_robin_page.py"]
pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The chapter's files, in a folder of their own."""
    chapter = PAGE.read_text().partition("# A block in Verilog\n")[2]
    files = dict(re.findall(r"`(round_robin\w*\.\w+)`.*?^```\w+\n(.*?)^```$", chapter,
                            re.MULTILINE | re.DOTALL))
    assert list(files) == NAMES
    return OwnFiles(tmp_path_factory.mktemp("verilog"), "round_robin_page", files)


@pytest.mark.thorough
def test_is_exact_and_proved(own):
    done = own.run("regress", "own.round_robin", "--no-pictures", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["configuration"]: row for row in json.loads(done.stdout)["verdicts"]}
    assert {name: (row["verdict"], row["worst"], row["evidence"]) for name, row in rows.items()} \
        == {"four": ("exact", 4, "proved"), "seven": ("exact", 7, "proved")}


def test_other_parameters_and_verilog(own):
    done = own.run("bound", "own.round_robin", "--set", "N=9", "--json")
    assert json.loads(done.stdout)[0]["cycles"] == 9, done.stderr
    done = own.run("verilog", "own.round_robin", "--set", "N=9", "-o", "out.v")
    assert done.returncode == 0, done.stderr
    assert re.search(r"input +(wire +)?\[8:0\] +req\b", (own.folder / "out.v").read_text())


@pytest.mark.thorough
def test_a_fault_is_found_and_located(own):
    done = own.run_with("round_robin.v", "~(gnt | (gnt - 1'b1))", "gnt",
                        "regress", "own.round_robin", "-c", "four", "--no-pictures")
    assert done.returncode == 1
    assert "gnt is 1, expected 2" in done.stdout


@pytest.mark.thorough
def test_is_mutated(own):
    done = own.run("mutate", "own.round_robin", "-n", "24", "--at-least", "75")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "round_robin.v:" in done.stdout


@pytest.mark.thorough
def test_is_placed(own):
    done = own.run("fpga", "own.round_robin")
    assert done.returncode == 0, done.stderr
    assert "MHz" in done.stdout
