"""The secret of a user, and what carries a code made with it."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from cyclebound.sim.base import secret
from cyclebound.sim.base.cache import find_entry, find_or_make
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.secret import mac, made_here

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CYCLEBOUND_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "config"


def test_a_code_is_of_its_texts_and_of_its_user(folder, tmp_path, monkeypatch):
    code = mac("a", "bc")
    assert made_here(code, "a", "bc")
    assert not any(made_here(*other) for other in (
        (code, "ab", "c"), (code, "a", "bd"), (code, "a"), ("", "a", "bc"), ("x" * 64, "a", "bc")))
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("CYCLEBOUND_CONFIG", str(tmp_path / "another"))
    assert not made_here(code, "a", "bc")


def test_processes_share_it(folder):
    program = "from cyclebound.sim.base.secret import mac; print(mac('x'))"
    running = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
               for _ in range(3)]
    assert {process.communicate()[0] for process in running} == {mac("x") + "\n"}
    assert [path.name for path in folder.iterdir()] == ["secret"]


@pytest.mark.parametrize(("text", "mode", "says"), [
    ("0" * 64, 0o644, r"is a secret, and others may read it: `chmod 600` it"),
    ("short", 0o600, r"is no secret: it has 5 bytes, not 64")])
def test_a_secret_that_is_none(folder, text, mode, says):
    folder.mkdir()
    (folder / "secret").write_text(text)
    (folder / "secret").chmod(mode)
    with pytest.raises(UserError, match=says):
        mac("x")


def test_where_none_can_be_kept(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CYCLEBOUND_CONFIG", str(tmp_path / "file" / "config"))
    with pytest.raises(UserError, match=r"^cannot keep a secret in \S+: Not a directory; set "
                                        "CYCLEBOUND_CONFIG to a folder of yours$"):
        mac("x")


def test_an_entry_that_was_edited_with_its_manifest_is_refused():
    """Hashes alone can be made again by anyone."""
    made = []

    def make(folder):
        made.append(folder)
        (folder / "outcome.json").write_text("{}")

    place, _ = find_or_make("outcome", "key", make)
    assert find_entry("outcome", "key") == place
    (place / "outcome.json").write_text('{"passed": true}')
    manifest = {"outcome.json": hashlib.sha256(b'{"passed": true}').hexdigest()}
    (place / "manifest.json").write_text(json.dumps(manifest))
    assert find_entry("outcome", "key") is None
    assert (find_or_make("outcome", "key", make)[1], len(made)) == (False, 2)


@pytest.mark.parametrize("moved", [("outcome", "other"), ("proof", "key")])
def test_an_entry_that_was_moved_is_refused(tmp_path, moved):
    place, _ = find_or_make("outcome", "key", lambda folder: (folder / "file").write_text("x"))
    kind, key = moved
    (tmp_path / "cache" / kind).mkdir(exist_ok=True)
    os.rename(place, tmp_path / "cache" / kind / key)
    assert find_entry(kind, key) is None


def test_an_entry_of_another_user_is_refused(tmp_path, monkeypatch):
    find_or_make("outcome", "key", lambda folder: (folder / "file").write_text("x"))
    monkeypatch.setenv("CYCLEBOUND_CONFIG", str(tmp_path / "another"))
    assert find_entry("outcome", "key") is None
    assert secret.config_root() == tmp_path / "another"
