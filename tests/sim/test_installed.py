"""What evidence depends on besides our own code: every file of Python, packages and programs."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import amaranth
import pytest

from cyclebound.sim.base import installed
from cyclebound.sim.regression.results import Results

unit = pytest.mark.unit


@pytest.fixture
def hashed(tmp_path, monkeypatch):
    """``hashed()``: the hash of everything, where packages come from a small folder."""
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    site, other = tmp_path / "site", tmp_path / "other"
    for name in ("amaranth/back/rtlil.py", "amaranth-0.5.dist-info/METADATA", "numpy/core.so",
                 "six.py"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(f"this is {name}\n")
    other.mkdir()
    monkeypatch.setattr(installed, "_whole", lambda: frozenset([str(site)]))
    monkeypatch.setattr(installed, "_places", lambda: (str(other), str(site)))
    monkeypatch.setattr(installed, "_python", lambda: "python")
    monkeypatch.setattr(installed, "_looked", {})
    monkeypatch.setattr(installed, "_seen", {})

    def forget():
        for cached in (installed.everything, installed._items, installed._names):
            cached.cache_clear()
        installed._looked.clear()
        installed._seen.clear()

    def found():
        forget()
        return installed.everything()

    yield found
    forget()


@unit
@pytest.mark.parametrize(("name", "text"), [
    ("site/amaranth/back/rtlil.py", "THIS is amaranth/back/rtlil.py\n"),  # of the same size
    ("site/numpy/core.so", "other"), ("site/six.py", ""), ("site/new.pth", "/lib"),
    ("site/amaranth-0.5.dist-info/METADATA", "Version: 0.6"), ("site/amaranth/new.py", ""),
    ("other/amaranth/__init__.py", ""), ("other/six.py", ""), ("other/sitecustomize.py", "")])
def test_what_changes_the_hash(hashed, tmp_path, name, text):
    """In place, with its version, its size and its time as before; or in front of it."""
    before = hashed()
    assert hashed() == before
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns) if path.exists() else None
    path.write_text(text)
    if times:
        os.utime(path, ns=times)
    assert hashed() != before


@unit
@pytest.mark.parametrize("name", [
    "site/amaranth/__pycache__/rtlil.cpython-311.pyc", "site/amaranth-0.5.dist-info/RECORD",
    "site/__editable___cyclebound_0_1_0_finder.py", "site/cyclebound-0.1.dist-info/METADATA",
    "other/mine.py", "other/amaranth/readme.txt", "other/six"])
def test_what_changes_nothing(hashed, tmp_path, name):
    before = hashed()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("x")
    assert hashed() == before


@unit
def test_a_file_that_is_gone_or_renamed(hashed, tmp_path):
    before = hashed()
    (tmp_path / "site/six.py").rename(tmp_path / "site/seven.py")
    other = hashed()
    (tmp_path / "site/seven.py").unlink()
    assert len({before, other, hashed()}) == 3


@unit
def test_hashes_are_kept_once_files_have_settled(hashed, tmp_path, monkeypatch):
    """Until then, a file may change again without another time."""
    counted = []
    monkeypatch.setattr(installed, "digest", lambda path: counted.append(path) or "h")
    hashed()
    hashed()
    assert len(counted) == 8
    monkeypatch.setattr(installed, "_SETTLED", -10.0)
    hashed()
    hashed()
    assert len(counted) == 12


@unit
def test_packages_that_changed_since_they_were_imported(hashed, tmp_path):
    now = time.time_ns() + 10**9
    hashed()
    assert installed.unchanged(now)
    (tmp_path / "site/six.py").write_text("edited")
    assert not installed.unchanged(now)
    hashed()
    assert installed.unchanged(now)
    assert not installed.unchanged(1)


@unit
def test_another_environment_that_links_to_a_package_changes_nothing(hashed, tmp_path):
    """Its inode becomes younger by that; what is written meanwhile with the old time is noticed."""
    now = time.time_ns() + 10**9
    hashed()
    path = tmp_path / "site/six.py"
    before = path.stat()
    os.link(path, tmp_path / "linked.py")
    assert path.stat().st_ctime_ns != before.st_ctime_ns
    assert installed.unchanged(now)
    assert installed.unchanged(now)
    path.write_text(path.read_text().replace("this", "THIS"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not installed.unchanged(now)


@unit
def test_links_in_a_circle_and_what_cannot_be_read(hashed, tmp_path):
    (tmp_path / "site/amaranth/again").symlink_to(tmp_path / "site/amaranth")
    (tmp_path / "site/amaranth/nowhere").symlink_to(tmp_path / "nowhere")
    assert hashed()


@unit
def test_a_package_its_programs_and_a_program(tmp_path, monkeypatch):
    assert installed.package("pyosys") != installed.package("no-such-package")
    assert installed.package("pyosys") != installed.package("pyosys", "cocotb")
    names = [Path(path).name for path in map(str, __import__("importlib.metadata").metadata.files(
        "z3-solver")) if ".." in path]
    assert "z3" in names
    monkeypatch.setattr(installed, "program", lambda path: f"another {Path(path).name}")
    before = installed.package("z3-solver")
    monkeypatch.setattr(installed, "program", lambda path: f"{Path(path).name}")
    assert installed.package("z3-solver") != before


@unit
def test_programs(tmp_path):
    def written(text):
        (tmp_path / "tool").write_text(text)
        installed.program.cache_clear()
        return installed.program(tmp_path / "tool")

    assert installed.program(tmp_path / "none") == "none"
    assert written("#!/a/python\nprint(1)\n") == written("#!/b/python\nprint(1)\n")
    assert written("#!/a/python\nprint(1)\n") != written("#!/a/python\nprint(2)\n")
    assert written("ELF 1") != written("ELF 2")
    (tmp_path / "link").symlink_to(tmp_path / "tool")
    assert installed.program(tmp_path / "link") == installed.program(tmp_path / "tool")
    assert installed.compiler_content() == installed.compiler_content()


@pytest.fixture
def overlay(tmp_path):
    """A folder with Amaranth, of the same version, that takes every AND for an OR."""
    folder = tmp_path / "overlay"
    shutil.copytree(Path(amaranth.__file__).parent, folder / "amaranth",
                    ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "amaranth" / "back" / "rtlil.py"
    text = path.read_text()
    assert '"$and"' in text
    path.write_text(text.replace('"$and"', '"$or"'))
    return folder


@pytest.mark.system
def test_an_edited_amaranth_is_another(overlay):
    def key(*folders):
        path = os.pathsep.join(map(str, folders))
        program = "from cyclebound.sim.base import installed; print(installed.everything())"
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              check=True, env={**os.environ, "PYTHONPATH": path}).stdout

    assert len({key(), key(overlay)}) == 2
    assert key() == key(Path(__file__).parent)


@pytest.mark.cosim
@pytest.mark.thorough
def test_an_edited_amaranth_is_given_no_old_evidence(overlay, tmp_path, command,
                                                     command_environment):
    def ran(number, *words, path=""):
        folder = tmp_path / f"run{number}"
        said = subprocess.run(
            [*command, "regress", "noc.arbiter", "-c", "four", "--no-report", "-o", folder, *words],
            capture_output=True, text=True, cwd=tmp_path,
            env={**command_environment, "CYCLEBOUND_CACHE": str(tmp_path / "cache"),
                 "PYTHONPATH": str(path)})
        with closing(Results(folder)) as results:
            proofs = [(row["status"], bool(row["cached"])) for row in results.rows("proof")]
            kept = {(job.passed, job.ran != "") for job in results.jobs()}
        return said.returncode, kept, proofs

    status, kept, proofs = ran(1)
    assert (status, kept) == (0, {(True, False)})
    assert {status for status, _ in proofs} == {"proved"}
    ran(2)  # if compiled files of testbenches were older than their sources, the first is not kept
    status, kept, proofs = ran(2)
    assert (status, kept) == (0, {(True, True)})
    assert {cached for _, cached in proofs} == {True}
    status, kept, proofs = ran(3, "--fresh")
    assert (status, kept) == (0, {(True, False)})
    assert {cached for _, cached in proofs} == {False}
    status, kept, proofs = ran(4, path=overlay)
    assert (status, kept) == (1, {(False, False)})
    assert "proved" not in {status for status, _ in proofs}
