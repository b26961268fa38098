"""`cyclebound new`: what it writes passes, and finds what is broken in it."""

import json
import subprocess
import sys

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.new_block import new_block


def regress(folder, name, *words):
    return subprocess.run([sys.executable, "-m", "cyclebound.sim", "--catalogue", f"{name}_page",
                           "regress", f"own.{name}", "--no-pictures", "--no-report", *words],
                          cwd=folder, capture_output=True, text=True)


@pytest.mark.each_commit
@pytest.mark.system
def test_a_new_block_passes(call, tmp_path):
    done = call("new", "item_delay", "-o", "blocks")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (
        "next: cd blocks; cyclebound --catalogue item_delay_page regress own.item_delay")
    done = regress(tmp_path / "blocks", "item_delay", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["configuration"]: row for row in json.loads(done.stdout)["verdicts"]}
    assert {name: (row["verdict"], row["worst"]) for name, row in rows.items()} == {
        "small": ("exact", 4), "least": ("exact", 2)}


@pytest.mark.system
@pytest.mark.thorough
def test_a_fault_in_it_is_found(tmp_path):
    new_block("slow", tmp_path)
    path = tmp_path / "slow.py"
    path.write_text(path.read_text().replace("left.eq(self.delay - 1)", "left.eq(0)"))
    done = regress(tmp_path, "slow", "-c", "small")
    assert done.returncode == 1
    assert "source.valid is 1, expected 0" in done.stdout


@pytest.mark.unit
def test_its_files_are_tidy(tmp_path):
    new_block("fifo", tmp_path)
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--select", "E,W,F,B,RUF",
                           "--line-length", "100", "--isolated", tmp_path], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.unit
@pytest.mark.parametrize("name", ["", "Fifo", "9x", "a.b", "../x", "a" * 62, "class", "a b", "ä"])
def test_names_that_it_refuses(tmp_path, name):
    with pytest.raises(UserError, match=r"^the name of a new block must be"):
        new_block(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.unit
@pytest.mark.parametrize("name", ["json", "numpy", "sys"])
def test_a_name_that_python_would_find_elsewhere(tmp_path, name):
    with pytest.raises(UserError, match=rf"^there is a Python module {name} already"):
        new_block(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.unit
@pytest.mark.parametrize("name", ["module", "out", "block", "bound_binding"])
def test_a_component_that_would_hide_what_its_files_import(tmp_path, name):
    with pytest.raises(UserError, match=r"^the component would be called \w+, which its"):
        new_block(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.unit
def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "fifo_tb.py").write_text("mine")
    with pytest.raises(UserError, match=r"fifo_tb.py is there already"):
        new_block("fifo", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo_tb.py"]
