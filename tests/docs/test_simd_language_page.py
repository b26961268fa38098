"""The page about kernels on the SIMD accelerator: its kernel and its commands."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from cyclebound.sim.cli import main as cli
from kit.pages import Page

PAGE = Page("simd-language.md").text
pytestmark = [pytest.mark.system,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


def test_the_commands_of_the_page(tmp_path, monkeypatch, capsys):
    """On eight threads: the fabric's model takes a while for more."""
    monkeypatch.chdir(tmp_path)
    Path("polynomial.py").write_text(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
    said = []
    for command in re.findall(r"^(cyclebound .*)$", PAGE, re.MULTILINE):
        monkeypatch.setattr(sys, "argv", shlex.split(
            re.sub(r"(=|--grid )1024", r"\g<1>8", command)))
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code == 0, command
        said.append(capsys.readouterr().out)
    compared, compiled, bounded, ran = said
    assert compared.count("equal to numpy's") == 2
    said = compiled.splitlines()
    assert said[0].startswith("polynomial.sas: ")
    assert said[1] == "cyclebound simd wcet polynomial.sas --grid 8 --width 1024"
    assert said[1].replace(" 8 ", " 1024 ") + " --listing" in PAGE
    for line in re.findall(r"^    +(\d+ .*)$", PAGE, re.MULTILINE):
        number, *_, text = re.split(r" {3,}", line)
        assert re.search(rf"^ +{number} +[\d,]+ +{re.escape(text)}$", bounded, re.MULTILINE)
    assert "compute cycles" in ran


RACE = """from cyclebound.golden.dataflow.kernel import Ints, kernel
@kernel
def race(tid, x: Ints):
    x[0] = tid
"""


def test_words_whose_value_order_decides_are_named(call, tmp_path):
    (tmp_path / "race.py").write_text(RACE)
    said = call("kernel", "compare", "race.py", "--zeros", "x=8")
    assert re.search(r"^shared, and stored: x\[0\]", said.stdout, re.MULTILINE)
    said = call("kernel", "compare", "race.py", "--zeros", "x=8", "--json")
    assert "x[0]" in json.loads(said.stdout)["shared"][0]


def test_a_file_for_the_listing_is_read_first(call, tmp_path):
    """What is printed for another machine bounds the kernel on it."""
    (tmp_path / "race.py").write_text(RACE)
    said = call("simd", "compile", "race.py", "--zeros", "x=9", "-o", "race.sas", "--machine",
                "small lanes=4 items=16")
    assert said.stdout.splitlines()[1:] == [
        "cyclebound simd wcet race.sas --grid 9 --width 16 --machine 'small lanes=4 items=16'"]
    command = [*shlex.split(said.stdout.splitlines()[1])[1:], "--listing", "--source"]
    said = call(*command, "race.py")
    assert said.returncode == 0
    assert re.search(r"4 +\d+ +x\[0\] = tid$", said.stdout, re.MULTILINE)
    (tmp_path / "short.py").write_text("\n")
    (tmp_path / "no.py").write_bytes(b"\xff")
    for name, why in (("none.py", "cannot read none.py: No such file or directory"),
                      ("no.py", "cannot read no.py: 'utf-8' codec can't decode"),
                      ("short.py", "short.py has 1 lines, and race was compiled of line 4")):
        said = call(*command, name)
        assert (said.returncode, said.stdout) == (2, "")
        assert said.stderr.startswith(f"cyclebound: {why}")
