"""The house as docs/architecture.md draws it: who may import whom, and where things lie."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOUSE = ("golden", "hdl", "tb", "sim")
MODULES = sorted(path for folder in HOUSE for path in (ROOT / folder).rglob("*.py"))
WRITTEN = [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))]
ALLOWED = {"golden": {"golden"}, "hdl": {"golden", "hdl"}, "tb": {"golden", "tb"},
           "sim": {"golden", "hdl", "tb", "sim"}}
OURS_OUTSIDE = {"golden": {"numpy", "scipy", "networkx", "ortools"}, "hdl": {"amaranth"}}

pytestmark = pytest.mark.unit


def named(path):
    return str(path.relative_to(ROOT))


def imports(path):
    """Full names of what a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_there_is_a_house():
    assert len(MODULES) > 30


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_with_the_grain(path):
    folder = path.relative_to(ROOT).parts[0]
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("cyclebound.")}
    assert ours <= ALLOWED[folder]


@pytest.mark.parametrize("path", [path for path in MODULES
                                  if path.relative_to(ROOT).parts[0] in OURS_OUTSIDE], ids=named)
def test_models_and_hardware_need_little_from_others(path):
    folder = path.relative_to(ROOT).parts[0]
    others = {name.split(".")[0] for name in imports(path)} - {"cyclebound"}
    assert others - set(sys.stdlib_module_names) <= OURS_OUTSIDE[folder]


def module_of(name):
    """The file that a name of ours comes from."""
    parts = name.split(".")[1:]
    for length in (len(parts), len(parts) - 1):
        path = ROOT.joinpath(*parts[:length]).with_suffix(".py")
        if path.is_file():
            return path
    return ROOT.joinpath(*parts[:-1]) / "__init__.py"


@pytest.mark.parametrize("path", sorted((ROOT / "hdl").rglob("*.py")), ids=named)
def test_hardware_knows_no_model_and_no_bound(path):
    """Else two descriptions that agree would be one."""
    for name in imports(path):
        if not name.startswith("cyclebound.golden"):
            continue
        source = module_of(name)
        assert source.stem not in ("bounds", "bound")
        classes = [node.name for node in ast.walk(ast.parse(source.read_text()))
                   if isinstance(node, ast.ClassDef)]
        assert not [each for each in classes if each.endswith("Model")]


@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) < 400


def test_every_package_is_listed():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
                 ["packages"])
    folders = {path.parent for path in MODULES}
    assert {".".join(("cyclebound", *folder.relative_to(ROOT).parts))
            for folder in folders} <= listed
    for package in listed:  # a folder of templates may be one, too
        assert ROOT.joinpath(*package.split(".")[1:]).is_dir(), package
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
