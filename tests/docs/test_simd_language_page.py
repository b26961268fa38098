"""The page about kernels on the SIMD accelerator: its kernel and its commands."""

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
        monkeypatch.setattr(sys, "argv", shlex.split(command.replace("1024", "8")))
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code == 0, command
        said.append(capsys.readouterr().out)
    compared, compiled, bounded, ran = said
    assert compared.count("equal to numpy's") == 2
    assert compiled.startswith("polynomial.sas: ")
    for line in re.findall(r"^    +(\d+ .*)$", PAGE, re.MULTILINE):
        number, *_, text = re.split(r" {3,}", line)
        assert re.search(rf"^ +{number} +[\d,]+ +{re.escape(text)}$", bounded, re.MULTILINE)
    assert "compute cycles" in ran
