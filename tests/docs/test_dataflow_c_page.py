"""The page about kernels in C: its kernel, its commands and its refusal."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from cyclebound.golden.dataflow.kernel import KernelError
from cyclebound.sim.cli import main as cli
from cyclebound.tools.dataflow.c_kernel import c_kernels
from kit.pages import Page

PAGE = Page("dataflow-c.md").text
pytestmark = [pytest.mark.system,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


def test_the_command_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("power.cl").write_text(re.search(r"```c\n(.*?)```", PAGE, re.DOTALL)[1])
    ((text, name),) = re.findall(r'^echo "(.*?)" > (\S+)$', PAGE, re.MULTILINE)
    Path(name).write_text(text + "\n")
    ((command),) = re.findall(r"^(cyclebound dataflow run .*)$", PAGE, re.MULTILINE)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    said = capsys.readouterr().out
    *first, last = re.search(r"^y is (.*)\. `--on", PAGE, re.MULTILINE)[1].split(" and ")
    assert f"y: {' '.join(first[0].split(', '))} {float(last)}\n" in said
    assert "cycles from start to done, bound" in said


def test_the_refusal_of_the_page():
    (line,) = re.findall(r"^    (f\.cl, line .*)$", PAGE, re.MULTILINE)
    with pytest.raises(KernelError) as refused:
        c_kernels("__kernel void f(__global int *a) {\n\n\n    goto a;\n}\n", "f.cl")
    assert str(refused.value) == line
