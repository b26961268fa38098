"""Packages that are broken, and folders with any name: a line that says so, or no trouble."""

import importlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from cyclebound.sim.base import lazy
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build import verilator as build

unit = pytest.mark.unit


@pytest.mark.system
@pytest.mark.parametrize(("package", "text", "says"), [
    ("amaranth", "def (", r"SyntaxError: invalid syntax \(amaranth/__init__.py, line 1\)"),
    ("numpy", "import nothing_there",
     r"ModuleNotFoundError: No module named 'nothing_there' \(numpy/__init__.py, line 1\)"),
    ("cocotb_tools", "x = 1\n", r"(ModuleNotFoundError|ImportError): .*cocotb_tools.*")])
def test_a_broken_package(command, command_environment, tmp_path, package, text, says):
    (tmp_path / "overlay" / package).mkdir(parents=True)
    (tmp_path / "overlay" / package / "__init__.py").write_text(text)
    said = subprocess.run([*command, "regress", "noc.arbiter", "-o", tmp_path / "run"], text=True,
                          capture_output=True, cwd=tmp_path,
                          env={**command_environment, "PYTHONPATH": str(tmp_path / "overlay")})
    assert (said.returncode, said.stdout) == (2, "")
    assert re.fullmatch(rf"cyclebound: cannot import what this needs: {says}; is that package "
                        r"whole\? .*\n", said.stderr), said.stderr


@pytest.mark.system
@pytest.mark.parametrize("words", ["list", "bound noc.arbiter", "verilog noc.arbiter"])
def test_a_broken_package_is_the_cause_that_every_command_names(command, command_environment,
                                                                 tmp_path, words):
    (tmp_path / "overlay" / "numpy").mkdir(parents=True)
    (tmp_path / "overlay" / "numpy" / "__init__.py").write_text("raise ImportError('no BLAS')\n")
    said = subprocess.run([*command, *words.split()], text=True, capture_output=True, cwd=tmp_path,
                          env={**command_environment, "PYTHONPATH": str(tmp_path / "overlay")})
    assert (said.returncode, said.stdout) == (2, "")
    assert re.fullmatch(r"cyclebound: cannot import what this needs: ImportError: no BLAS "
                        r"\(numpy/__init__.py, line 1\); is that package whole\? .*\n",
                        said.stderr), said.stderr


@unit
def test_a_module_that_is_broken_stays_so(tmp_path, monkeypatch):
    """Whatever is asked of it, where the first error is handled too."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broken_module.py").write_text("known = 1\n1 / 0\n")
    with lazy.lazily():
        module = importlib.import_module("broken_module")
    for name in ("other", "another"):
        with pytest.raises(UserError, match=r"ZeroDivisionError: .*/broken_module.py, line 2\)"):
            getattr(module, name)
    (tmp_path / "broken_too.py").write_text("import broken_three\n")
    (tmp_path / "broken_three.py").write_text("def (\n")
    with pytest.raises(UserError, match=r"SyntaxError: .*/broken_three.py, line 1\)"):
        lazy.import_whole("broken_too")


@unit
def test_what_is_compiled_is_named_without_its_folder(tmp_path, monkeypatch):
    """C++ has no way to name one with a quotation mark in it."""
    folder = tmp_path / 'a "quoted" folder'
    folder.mkdir()
    (folder / "Vtop.cpp").write_text("int x;")
    ran = []
    monkeypatch.setattr(build, "_run", lambda command, cwd, env=None: ran.append(command))
    build._compile(folder, None, tmp_path)
    texts = [path.read_text() for path in folder.glob("unit*.cpp")]
    assert texts == ['#include "Vtop.cpp"\n#include "simulator.cpp"\n']
    assert (folder / "simulator.cpp").read_text() == build._MAIN.read_text()


@pytest.mark.cosim
@pytest.mark.thorough
def test_a_run_in_a_folder_of_any_name(command, command_environment, tmp_path):
    folder = tmp_path / "a \"quoted\" 'folder' with $HOME; & \\ in it"
    said = subprocess.run(
        [*command, "regress", "noc.arbiter", "-c", "four", "-o", folder / "run"], text=True,
        capture_output=True, cwd=tmp_path,
        env={**command_environment, "CYCLEBOUND_CACHE": str(folder / "cache")})
    assert said.returncode == 0, said.stdout + said.stderr
    assert os.listdir(folder / "cache" / "verilator")
    assert Path(folder, "run", "report.html").exists()
