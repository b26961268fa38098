"""Editors find this project's modules in a fresh clone, where nothing is installed."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import jedi
import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
pytestmark = pytest.mark.system


def imports_of_ours(path):
    """Line and column (from 0) of each name that a module imports from a module of this project."""
    return [(node.lineno, node.col_offset, node.module) for node in ast.walk(
        ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("cyclebound.")]


@pytest.mark.parametrize(("path", "says"), [(SETTINGS["mypy"]["mypy_path"], "def ("),
                                            ("docs", "Any")])
def test_a_type_checker_finds_a_module(path, says):
    """Where the settings send it, and nowhere else."""
    assert SETTINGS["pyright"]["extraPaths"] == [SETTINGS["mypy"]["mypy_path"]]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent", "-c",
         "from cyclebound.golden.bound import Bound\nreveal_type(Bound)"],
        cwd=ROOT, capture_output=True, text=True, env={**os.environ, "MYPYPATH": path})
    assert f'Revealed type is "{says}' in done.stdout, done.stdout


def test_jedi_finds_every_module(monkeypatch):
    monkeypatch.chdir(ROOT)
    project = jedi.get_default_project(ROOT / "hdl")
    seen = 0
    for folder in ("golden", "hdl", "sim", "tb", "tools"):
        path = max((ROOT / folder).rglob("*.py"), key=lambda path: len(imports_of_ours(path)))
        script = jedi.Script(path=path, project=project)
        for line, column, module in imports_of_ours(path)[:3]:
            found = script.goto(line, column + len("from cyclebound.g"), follow_imports=True)
            assert found, f"{path}:{line}: {module}"
            last = script.goto(line, column + len("from ") + len(module) - 1, follow_imports=True)
            assert [name.full_name for name in last] == [module]
            seen += 1
    assert seen > 8
