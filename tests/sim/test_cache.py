import errno
import fcntl
import os
import shutil
import subprocess
import sys
import time

import pytest

from cyclebound.sim.base import cache
from cyclebound.sim.base.cache import find_entry, find_once, find_or_make, key_of, made_since
from cyclebound.sim.base.errors import UserError

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Maker:
    """Makes an entry of two files, and counts how often."""

    def __init__(self):
        self.made = 0

    def __call__(self, folder):
        self.made += 1
        (folder / "one").write_text("first")
        (folder / "two").write_bytes(bytes(range(256)))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()
            if not path.name.startswith("manifest.")}


EXPECTED = {"one": b"first", "two": bytes(range(256))}


def test_is_made_once():
    maker = Maker()
    folder, cached = find_or_make("kind", "key", maker)
    assert (contents(folder), cached, maker.made) == (EXPECTED, False, 1)
    again, cached = find_or_make("kind", "key", maker)
    assert (again, cached, maker.made) == (folder, True, 1)
    assert find_or_make("kind", "other", maker)[0] != folder
    assert find_or_make("sort", "key", maker)[0] != folder
    assert maker.made == 3


def test_looking_for_what_is_known_does_not_wait_for_its_maker():
    seen = []

    def make(folder):  # the lock is held meanwhile
        seen.append(find_entry("kind", "key"))
        Maker()(folder)

    folder, _ = find_or_make("kind", "key", make)
    assert seen == [None]
    assert find_entry("kind", "key") == folder


def flipped(folder):
    data = bytearray((folder / "two").read_bytes())
    data[100] ^= 1
    (folder / "two").write_bytes(data)


def emptied(folder):
    (folder / "one").write_text("")


def missing(folder):
    (folder / "two").unlink()


def manifest(text):
    def damage(folder):
        (folder / "manifest.json").write_bytes(text)
    damage.__name__ = f"manifest_{text!r}"
    return damage


def no_manifest(folder):
    (folder / "manifest.json").unlink()


def a_file(folder):
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("")


@pytest.mark.parametrize("damage", [
    flipped, emptied, missing, no_manifest, a_file,
    *map(manifest, (b"", b"{", b"{}", b"[]", b"3", b"null", b"\xff\xfe", b'{"one": 3}',
                    b'{"nowhere": ""}'))], ids=lambda damage: damage.__name__)
def test_damage_is_noticed(damage):
    maker = Maker()
    folder, _ = find_or_make("kind", "key", maker)
    damage(folder)
    assert find_or_make("kind", "key", maker) == (folder, False)
    assert (contents(folder), maker.made) == (EXPECTED, 2)
    assert find_or_make("kind", "key", maker) == (folder, True)


def test_nothing_is_kept_of_a_make_that_raises(root):
    def fails(folder):
        (folder / "one").write_text("half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match=r"^no$"):
        find_or_make("kind", "key", fails)
    assert [path.name for path in (root / "kind").iterdir()] == ["key.lock"]
    maker = Maker()
    assert contents(find_or_make("kind", "key", maker)[0]) == EXPECTED
    assert maker.made == 1


def child(code, *words):
    """A process that asks for an entry, and says how often."""
    text = ("import sys, time\nfrom cyclebound.sim.base.cache import find_or_make\n"
            f"made = []\ndef make(folder):\n    made.append(1)\n{code}\n"
            "print(find_or_make('kind', 'key', make)[1], len(made))\n")
    return subprocess.Popen([sys.executable, "-c", text, *words], stdout=subprocess.PIPE, text=True)


def test_a_killed_process_leaves_nothing_behind(root):
    process = child("    (folder / 'one').write_text('half')\n"
                    "    print('begun', flush=True)\n    time.sleep(60)")
    assert process.stdout.readline() == "begun\n"
    process.kill()
    process.communicate()
    left = [path for path in (root / "kind").iterdir() if path.is_dir()]
    assert [path.name.partition(".")[0] for path in left] == ["key"]  # half an entry indeed
    maker = Maker()
    folder, cached = find_or_make("kind", "key", maker)
    assert (contents(folder), cached, maker.made) == (EXPECTED, False, 1)
    assert {path.name for path in (root / "kind").iterdir()} == {"key", "key.lock"}


def test_two_at_once_make_one(root):
    code = ("    (folder / 'one').write_text('first')\n    time.sleep(0.5)\n"
            "    (folder / 'two').write_bytes(bytes(range(256)))")
    said = sorted(process.communicate()[0] for process in [child(code) for _ in range(3)])
    assert said == ["False 1\n", "True 0\n", "True 0\n"]
    assert contents(root / "kind" / "key") == EXPECTED


def test_others_wait_only_for_their_key():
    process = child("    print('begun', flush=True)\n    time.sleep(3600)")
    assert process.stdout.readline() == "begun\n"
    find_or_make("kind", "another", Maker())
    assert process.poll() is None  # it still makes its own
    process.kill()
    process.communicate()


def test_a_cache_below_a_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match=r"^cannot write the cache \S+: Not a directory; "
                                        r"set CYCLEBOUND_CACHE to a folder with room$"):
        find_or_make("kind", "key", Maker())


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_full_disk(monkeypatch, root, code):
    def full(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(cache.os, "replace", full)
    with pytest.raises(UserError, match=rf"^cannot write the cache \S+: {os.strerror(code)}; "
                                        r"set CYCLEBOUND_CACHE to a folder with room$"):
        find_or_make("kind", "key", Maker())
    monkeypatch.undo()
    assert [path.name for path in (root / "kind").iterdir()] == ["key.lock"]


@pytest.mark.parametrize(("error", "free", "says"), [
    (RuntimeError("g++ failed: cannot write x.o: No space left on device"), 10**9, "no room"),
    (UserError("compilation terminated."), 0, "no room"),
    (UserError("compilation terminated."), 10**9, "^compilation terminated.$"),
    (KeyError("No space left on device"), 0, "No space left on device")])
def test_a_tool_for_which_there_is_no_room(monkeypatch, root, error, free, says):
    """Whatever it says; what is no tool's keeps its reason."""
    def make(folder):
        raise error

    usage = shutil.disk_usage(root.parent)._replace(free=free)
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(UserError if isinstance(error, RuntimeError) else type(error), match=says):
        find_or_make("kind", "key", make)
    assert [path.name for path in (root / "kind").iterdir()] == ["key.lock"]


def test_keys_differ_where_content_does():
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of({"b": 1, "a": 2}) == key_of({"a": 2, "b": 1})
    assert key_of(1) != key_of("1")
    assert len(key_of()) == 32


def test_what_others_left_half_made_is_removed():
    """Unless its maker is at it: then its lock is held."""
    find_or_make("kind", "key", Maker())
    parent = cache.cache_root() / "kind"
    for name in ("gone.abc", "busy.abc"):
        (parent / name / "deep").mkdir(parents=True)
    with (parent / "busy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        find_or_make("kind", "new", Maker())
    assert sorted(path.name for path in parent.iterdir() if path.is_dir()) == [
        "busy.abc", "key", "new"]


def test_without_a_shell_to_watch(monkeypatch):
    def none(*_, **__):
        raise OSError(errno.ENOENT, "no shell")

    monkeypatch.setattr("cyclebound.sim.base.guard.subprocess.Popen", none)
    assert contents(find_or_make("kind", "key", Maker())[0]) == EXPECTED


def test_what_is_large_is_looked_at_once_in_a_process(root, monkeypatch):
    maker = Maker()
    folder = find_once("runtime", "key", maker)
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_hash", lambda path: pytest.fail(f"{path} is hashed"))
        assert find_once("runtime", "key", maker) == folder
    with made_since(time.time() + 60):  # another one is asked for
        find_once("runtime", "key", maker)
    assert maker.made == 2
    no_manifest(folder)
    assert contents(find_once("runtime", "key", maker)) == EXPECTED
    assert maker.made == 3
