"""Files kept under a key made from everything that they depend on.

An entry is a folder with a manifest that holds the hash of each of its files. It is made in a
folder of its own and renamed into place, so that a half-made entry is never seen; a damaged one is
noticed by its hashes and made again. So is one that somebody else has made, or edited: beside the
manifest lies a code that only its user can make (`cyclebound.sim.base.secret`). Two processes that
want the same key take turns. What a killed process leaves half made is removed at once
(`cyclebound.sim.base.guard`), or by the next maker.

Of what is evidence, entries that are older than a moment can be left out (`made_since`).
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.guard import guarded
from cyclebound.sim.base.secret import mac, made_here
from cyclebound.sim.base.toolchain import cache_root

__all__ = ["find_entry", "find_once", "find_or_make", "key_of", "made_since"]

_MANIFEST = "manifest.json"
_CODE = "manifest.mac"  # of kind, key and manifest
# the kinds of entries that say something of hardware, or from which that follows
_EVIDENCE = {"content", "dram-table", "drawing", "fpga", "icarus", "job", "linked", "outcome",
             "picture", "proof", "certificate", "runtime", "verdict", "verilator",
             "verilog-module"}
_since = [0.0]  # s
_known: set[tuple[Path, float]] = set()  # entries that `find_once` has found, and since when
_ROOM = 1 << 16  # bytes: with less, a tool that fails may have failed for that
_FULL = errno.ENOSPC, errno.EDQUOT


def key_of(*parts: object) -> str:
    """A key from anything that JSON can write."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sound(folder: Path) -> bool:
    try:
        text = (folder / _MANIFEST).read_text()
        if not made_here((folder / _CODE).read_text(), folder.parent.name, folder.name, text):
            return False
        manifest = json.loads(text)
        return bool(manifest) and all(_hash(folder / name) == digest
                                      for name, digest in manifest.items())
    except (OSError, ValueError, AttributeError):
        return False


@contextlib.contextmanager
def made_since(moment: float) -> Iterator[None]:
    """Meanwhile, no evidence from before ``moment``, in seconds since the epoch, is found."""
    _since.append(max(moment, _since[-1]))
    try:
        yield
    finally:
        _since.pop()


def _there(kind: str, folder: Path) -> bool:
    """Whether an entry is there, and to be found."""
    if kind in _EVIDENCE and _since[-1]:
        with contextlib.suppress(OSError):
            if (folder / _MANIFEST).stat().st_mtime < _since[-1]:
                return False
    return _sound(folder)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _sweep(parent: Path, key: str) -> None:
    """Remove half-made entries of makers that are gone: of ``key``, whose lock we hold, and of all
    others whose lock is free."""
    for left in parent.iterdir():
        other, dot, _ = left.name.partition(".")
        if not dot or not left.is_dir():
            continue
        if other == key:
            _remove(left)
            continue
        with contextlib.suppress(OSError), (parent / f"{other}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(left)


def find_entry(kind: str, key: str) -> Path | None:
    """The folder of an entry if there is one, without waiting for who may be making it."""
    folder = cache_root() / kind / key
    return folder if _there(kind, folder) else None


@contextlib.contextmanager
def _room(parent: Path) -> Iterator[None]:
    """Raise `UserError` for whatever fails here because there is no room, in the words of each
    tool: of some only the last one, of others none."""
    try:
        yield
    except (RuntimeError, UserError) as error:  # what tools say; other reasons are their own
        if shutil.disk_usage(parent).free >= _ROOM and not any(
                os.strerror(number) in str(error) for number in _FULL):
            raise
        raise UserError(f"there is no room to write the cache {parent}, or temporary files in "
                        f"{tempfile.gettempdir()}; set CYCLEBOUND_CACHE, or TMPDIR, to a folder "
                        "with room") from error


def _unwritable(parent: Path, error: OSError) -> UserError:
    return UserError(f"cannot write the cache {parent}: {error.strerror or error}; "
                     "set CYCLEBOUND_CACHE to a folder with room")


def find_or_make(kind: str, key: str, make: Callable[[Path], object]) -> tuple[Path, bool]:
    """The folder of an entry, made by ``make(folder)`` if there is none; and whether it was there.

    Raises `UserError` if the cache cannot be written; whatever ``make`` raises leaves no entry.
    """
    if there := find_entry(kind, key):
        return there, True
    parent = cache_root() / kind
    folder = parent / key
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with _locked(parent / f"{key}.lock"):
            if _there(kind, folder):  # another process made it while we waited
                return folder, True
            _remove(folder)
            _sweep(parent, key)
            work = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=parent))
            try:
                with guarded(work), _room(parent):
                    make(work)
                manifest = {path.name: _hash(path) for path in work.iterdir() if path.is_file()}
                text = json.dumps(manifest)
                (work / _MANIFEST).write_text(text)
                (work / _CODE).write_text(mac(kind, key, text))
                os.replace(work, folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise _unwritable(parent, error) from error
    return folder, False


def find_once(kind: str, key: str, make: Callable[[Path], object]) -> Path:
    """The folder of `find_or_make`, for an entry that is large and often used: a process looks at
    its files when it first asks, and after that only whether it is there."""
    found = cache_root() / kind / key, _since[-1]
    if found not in _known or not (found[0] / _MANIFEST).exists():
        find_or_make(kind, key, make)
        _known.add(found)
    return found[0]
