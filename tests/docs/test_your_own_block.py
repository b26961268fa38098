"""The page about a block of one's own: its code runs, and its commands say what it promises."""

import json
import re
from pathlib import Path

import pytest

from kit.own_files import OwnFiles

PAGE = Path(__file__).parents[2] / "docs" / "your-own-block.md"
pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The page's files, in a folder of their own."""
    sections = re.findall(r"^## \d\. .*?`(\w+\.py)`$.*?^```python\n(.*?)^```$",
                          PAGE.read_text().partition("\n## A block in Verilog")[0],
                          re.MULTILINE | re.DOTALL)
    assert [name for name, _ in sections] == ["divider.py", "divider_model.py", "divider_tb.py",
                                              "divider_page.py"]
    return OwnFiles(tmp_path_factory.mktemp("own"), "divider_page", dict(sections))


def test_takes_less_than_150_lines(own):
    lines = [line for path in own.folder.glob("*.py") for line in path.read_text().splitlines()
             if line.strip()]
    assert len(lines) < 150


def test_is_exact_for_every_division(own):
    done = own.run("regress", "own.divider", "--no-pictures", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(done.stdout)["verdicts"]
    assert (row["verdict"], row["worst"], row["allowed"], row["requests"]) == ("exact", 6, 6, 306)
    assert (row["evidence"], row["domain"]) == (
        "exhaustive", "256 cases: dividend 0..15, divisor 0..15")


@pytest.mark.thorough
def test_says_where_a_broken_one_differs(own):
    done = own.run_with("divider.py", "with m.If(left == 1):", "with m.If(left == 2):",
                        "regress", "own.divider", "--no-pictures")
    assert done.returncode == 1
    assert "result.valid is 1, expected 0" in done.stdout


def test_bound_and_verilog(own):
    done = own.run("bound", "own.divider", "--set", "width=32", "--json")
    assert json.loads(done.stdout)[0]["cycles"] == 34
    done = own.run("verilog", "own.divider", "--set", "width=32", "-o", "divider.v")
    assert done.returncode == 0, done.stderr
    assert "module own_divider (" in (own.folder / "divider.v").read_text()
