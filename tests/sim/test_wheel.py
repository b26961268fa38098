"""The wheel holds every module of the tree, and works where nothing else is installed."""

import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.system, pytest.mark.thorough]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of what git tracks or would track, built apart from the tree."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split()
    source = tmp_path_factory.mktemp("source")
    for name in listed:
        if (ROOT / name).is_symlink():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).symlink_to((ROOT / name).readlink())
        elif (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", out, source],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (path,) = out.glob("*.whl")
    return path


def test_holds_every_module(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    tree = {f"cyclebound/{path.relative_to(ROOT)}" for folder in ("golden", "hdl", "sim", "tb",
                                                                     "tools")
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}
    assert tree
    assert not tree - held, "missing from the wheel; are they package data in pyproject.toml?"
    ours = {name for name in held if not name.startswith("cyclebound-")}
    assert not ours - tree, "in the wheel and not in the tree"


def test_works_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    scripts = tmp_path / "env" / "bin"
    done = subprocess.run(
        [scripts / "pip", "install", "--quiet", "--disable-pip-version-check",
         "-c", ROOT / "constraints.txt", wheel], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for call in (["--help"], ["list"]):
        done = subprocess.run([scripts / "cyclebound", *call], capture_output=True, text=True,
                              cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.search(r"sram\.banked_memory" if call == ["list"] else r"regress", done.stdout)
