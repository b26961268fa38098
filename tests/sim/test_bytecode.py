"""Bytecode is kept for a command's processes where Python was told to write none, and gone then."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cyclebound.sim.base import bytecode
from cyclebound.sim.build import identity
from cyclebound.sim.build.identity import stands_for

pytestmark = pytest.mark.unit


@pytest.fixture
def forbidden(monkeypatch, tmp_path):
    """A process that may write no bytecode, and whose environment has none."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(bytecode, "__file__", str(tmp_path / "bytecode.py"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)


def test_children_share_what_they_compile(forbidden, tmp_path):
    (tmp_path / "imported.py").write_text("x = 1\n")
    with bytecode.kept():
        folder = Path(sys.pycache_prefix)
        subprocess.run([sys.executable, "-c", "import imported"], cwd=tmp_path, check=True)
        compiled = Path(importlib.util.cache_from_source(str(tmp_path / "imported.py")))
        assert compiled.is_relative_to(folder)
        assert compiled.exists()
        assert folder.stat().st_mode & 0o077 == 0  # nobody else's
    assert not folder.exists()
    assert not (tmp_path / "__pycache__").exists()
    assert sys.dont_write_bytecode
    assert sys.pycache_prefix is None
    assert os.environ["PYTHONDONTWRITEBYTECODE"] == "1"
    assert "PYTHONPYCACHEPREFIX" not in os.environ


@pytest.mark.parametrize("why", ["it may be written", "it is there", "the user has a folder",
                                 "no folder can be made"])
def test_nothing_changes_where(forbidden, monkeypatch, tmp_path, why):
    if why == "it may be written":
        monkeypatch.setattr(sys, "dont_write_bytecode", False)
    elif why == "it is there":
        compiled = Path(importlib.util.cache_from_source(bytecode.__file__))
        compiled.parent.mkdir()
        compiled.touch()
    elif why == "the user has a folder":
        monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    else:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    before = sys.dont_write_bytecode, sys.pycache_prefix, dict(os.environ)
    with bytecode.kept():
        assert (sys.dont_write_bytecode, sys.pycache_prefix, dict(os.environ)) == before


def test_a_worker_writes_it_if_its_parent_does(forbidden, monkeypatch):
    bytecode.kept_by_parent()
    assert sys.dont_write_bytecode
    with bytecode.kept():
        sys.dont_write_bytecode = True  # as of a process with -B
        bytecode.kept_by_parent()
        assert not sys.dont_write_bytecode


def test_a_compiled_file_in_that_folder_stands_for_its_source(forbidden, monkeypatch, tmp_path):
    """As one beside its source does, and no other one: ``tests/sim/test_identity.py``."""
    source, elsewhere = tmp_path / "project" / "a.py", tmp_path / "elsewhere" / "b.py"
    monkeypatch.setattr(identity, "roots", lambda: {"cyclebound.tb": source.parent})
    files = frozenset({source})
    for file in (source, elsewhere):
        file.parent.mkdir()
        file.write_text("x = 1\n")
    with bytecode.kept():
        compiled = Path(importlib.util.cache_from_source(str(source)))
        compiled.parent.mkdir(parents=True)
        stat = source.stat()
        compiled.write_bytes(bytes(8) + int(stat.st_mtime).to_bytes(4, "little")
                             + stat.st_size.to_bytes(4, "little"))
        assert stands_for(compiled, files, tmp_path / "job")
        os.utime(compiled, ns=(0, stat.st_ctime_ns - 1))  # of this text, or another one
        assert not stands_for(compiled, files, tmp_path / "job")
        assert not stands_for(compiled, frozenset(), tmp_path / "job")
        assert not stands_for(Path(importlib.util.cache_from_source(str(elsewhere))), files,
                              tmp_path / "job")
        assert stands_for(Path(importlib.util.cache_from_source(os.__file__)), files,
                          tmp_path / "job")
