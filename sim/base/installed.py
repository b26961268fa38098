"""What is installed, by the content of its files: Python, packages, programs.

All evidence depends on it. A version says too little: a package may have been edited where it is,
be installed from a folder, or stand in front of another one on ``PYTHONPATH``. So what is hashed
are files, those of every folder that Python imports from: an environment's packages whole, of
others what hides a package of these. Hashes are kept by size, times and inode of the files, which
to look at takes a tenth of a second.
"""

import functools
import hashlib
import importlib.metadata
import os
import platform
import shutil
import site
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim.base.cache import find_entry, find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.toolchain import compiler, compiler_version

__all__ = ["READ_BESIDE", "compiler_content", "contents", "digest", "everything", "package",
           "program", "tree", "unchanged"]

# of an installation what does not matter: who made it, and files that are made from others
_NO_MATTER = {"__pycache__", "RECORD", "INSTALLER", "REQUESTED", "direct_url.json",
              "uv_cache.json"}
_OURS = ("cyclebound", "__editable__.cyclebound", "__editable___cyclebound")
# of Python's own library, what no program of ours imports; packages are looked at by themselves
_UNUSED = {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3",
           "site-packages", "dist-packages"}
# What packages look at beside their own files: the archive that Python imports from first, if there
# is one (`importlib.metadata` opens each place), and a time zone (OR-tools).
READ_BESIDE = (Path(sysconfig.get_path("stdlib")).parent
               / f"python{sys.version_info[0]}{sys.version_info[1]}.zip",
               Path("/usr/share/zoneinfo/UTC"))
_SETTLED = 2.0  # s: a file that is younger may change again without another time, or size

_Stat = tuple[str, int, int, int, int]  # name, size, times of content and inode, and inode


@functools.cache
def everything() -> str:
    """A hash of Python, its library, and all that is installed."""
    return key_of(_python(), [sorted(items.items()) for items in contents()],
                  [program(path) for path in READ_BESIDE])


def contents() -> list[dict[str, str]]:
    """For each folder of packages, in Python's order, the hash of each of them by its name."""
    return [items for place in _places() if (items := _items(place))]


def package(*names: str) -> str:
    """A hash of these distributions; of one that is not installed, of that.

    With each goes what lies in the same folders on top, and the programs that it has installed.
    """
    found: list[object] = []
    for name in names:
        try:
            files = importlib.metadata.files(name) or ()
        except importlib.metadata.PackageNotFoundError:
            found.append((name, "none"))
            continue
        tops = {file.parts[0] for file in files} - {".."}
        known = [{top: value for top, value in _items(place).items()
                  if top in tops or top.removesuffix(".py") in tops} for place in _places()]
        programs = [path for file in files if file.parts[0] == ".."
                    and (path := Path(str(file.locate()))).is_file()]
        found.append((name, [items for items in known if items], sorted(map(program, programs))))
    return key_of(found)


@functools.cache
def program(path: str | Path) -> str:
    """A hash of a program's file, wherever links to it lead; ``none`` where there is none.

    Of a script, without the line that says where its interpreter is.
    """
    found = shutil.which(path)
    real = Path(os.path.realpath(found or path))
    try:
        stat = _stat(real.name, real.stat())
    except OSError:
        return "none"
    return _kept([str(real), stat], [stat], lambda: _script(real))


@functools.cache
def compiler_content() -> str:
    """A hash of the C++ compiler, of the programs that it runs, and of its libraries."""
    def asked(option: str, name: str) -> str:
        done = subprocess.run([compiler(), f"-print-{option}-name={name}"], capture_output=True,
                              text=True)
        return program(done.stdout.strip() or name)

    return key_of(compiler_version(), program(compiler()),
                  [asked("prog", name) for name in ("cc1plus", "collect2", "as", "ld")],
                  [asked("file", name) for name in ("libstdc++.so", "libgcc.a", "libc.so.6",
                                                    "libm.so.6")])


@functools.cache
def tree(folder: Path) -> str:
    """A hash of all files in a folder."""
    return key_of(sorted(_contents(str(folder), _any).items()))


def unchanged(since: int) -> bool:
    """Whether all of `everything` is as it was when this process asked first, and no file of it
    was then younger than ``since``, in nanoseconds: if that is when the process began, what was
    imported is what was hashed.

    A file's inode also becomes younger if another environment gets a hard link to it, as uv and
    others make them. So where nothing but that time has changed, contents are compared.
    """
    everything()
    return all(_is_as_before(*key) and all(stat[3] < since for stat in stats)
               for key, stats in _looked.items())


def _is_as_before(place: str, wanted: Callable[[os.DirEntry], bool]) -> bool:
    now, before = _look(place, wanted), _seen[place, wanted]
    if now != before.stats and _without_inode_time(now) == _without_inode_time(before.stats) and (
            _hashes(place, now) == before.hashes):
        before.stats = now
    return now == before.stats


# -- folders ---------------------------------------------------------------------------------------


@dataclass
class _Seen:
    """A folder's files as last seen with the contents that they had at first."""

    stats: list[_Stat]
    hashes: str


_Key = tuple[str, Callable[[os.DirEntry], bool]]
_looked: dict[_Key, list[_Stat]] = {}  # at first
_seen: dict[_Key, _Seen] = {}


@functools.cache
def _python() -> str:
    library = Path(sysconfig.get_config_var("LIBDIR") or "/",
                   sysconfig.get_config_var("INSTSONAME") or "")
    return key_of(sys.implementation.name, sys.version, platform.machine(),
                  program(sys.executable), program(library),
                  sorted(_contents(str(Path(os.__file__).parent), _used).items()))


@functools.cache
def _places() -> tuple[str, ...]:
    """The folders that Python imports packages from, in its order."""
    library = {os.path.realpath(path) for path in (
        sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"),
        sysconfig.get_path("stdlib") + "/lib-dynload")}
    return tuple(dict.fromkeys(
        path for path in map(os.path.realpath, [*sys.path, *_editable()])
        if os.path.isdir(path) and path not in library))


def _editable() -> Iterator[str]:
    """Folders of packages that are installed from where they are developed, but for this one."""
    for name, module in sys.modules.items():
        if name.startswith("__editable__") and not name.startswith(_OURS):
            yield from (str(Path(path).parent) for path in getattr(module, "MAPPING", {}).values())


@functools.cache
def _whole() -> frozenset[str]:
    """Those of `_places` that hold nothing but packages."""
    paths = sysconfig.get_paths()
    return frozenset(map(os.path.realpath, (paths["purelib"], paths["platlib"],
                                            *site.getsitepackages(), site.getusersitepackages())))


@functools.cache
def _names() -> frozenset[str]:
    """The names of all that is installed, and of what Python runs when it starts."""
    names = {"sitecustomize", "usercustomize"}
    for place in _whole().intersection(_places()):
        names |= {name.partition(".")[0] for name in os.listdir(place)}
    return frozenset(names)


def _installed(entry: os.DirEntry) -> bool:
    return not entry.name.startswith(_OURS)


def _hides(entry: os.DirEntry) -> bool:
    return entry.name.partition(".")[0] in _names() and (
        entry.name.endswith((".py", ".so", ".pyd")) or os.path.exists(f"{entry.path}/__init__.py"))


def _any(entry: os.DirEntry) -> bool:
    return True


def _used(entry: os.DirEntry) -> bool:
    return entry.name not in _UNUSED and not entry.name.startswith("config-")


@functools.cache
def _items(place: str) -> dict[str, str]:
    """By the name of each package, or module, in a folder, the hash of its files."""
    return _contents(place, _installed if place in _whole() else _hides)


def _contents(place: str, wanted: Callable[[os.DirEntry], bool]) -> dict[str, str]:
    """By its name, the hash of each thing on top of a folder."""
    stats = _looked.setdefault((place, wanted), _look(place, wanted))
    said = _hashes(place, stats)
    _seen.setdefault((place, wanted), _Seen(stats, said))
    return {name: digest for digest, _, name in (
        line.partition(" ") for line in said.splitlines())}


def _hashes(place: str, stats: list[_Stat]) -> str:
    """A line with the hash and the name of each thing on top of a folder."""
    def make() -> str:
        items: dict[str, hashlib._Hash] = {}
        for name, *_ in stats:
            top = items.setdefault(name.partition(os.sep)[0], hashlib.sha256())
            top.update(f"{name}\0{digest(Path(place, name))}\0".encode(errors="surrogateescape"))
        return "\n".join(f"{hashed.hexdigest()} {name}" for name, hashed in items.items())

    return _kept([place, stats], stats, make)


def _without_inode_time(stats: list[_Stat]) -> list[tuple]:
    return [(*stat[:3], stat[4]) for stat in stats]


def _look(place: str, wanted: Callable[[os.DirEntry], bool]) -> list[_Stat]:
    """All files below a folder, of what is wanted on top of it."""
    found: list[_Stat] = []
    linked: set[str] = set()

    def into(folder: str) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in _NO_MATTER or entry.name.endswith(".pyc") or (
                        folder == place and not wanted(entry)):
                    continue
                if entry.is_dir():
                    if entry.is_symlink():
                        if (real := os.path.realpath(entry.path)) in linked:
                            continue  # links in a circle
                        linked.add(real)
                    into(entry.path)
                elif entry.is_file():
                    found.append(_stat(entry.path[len(place) + 1:], entry.stat()))

    try:
        into(place)
    except OSError as error:
        raise UserError(f"cannot read {error.filename or place}, which Python imports from: "
                        f"{error.strerror or error}") from error
    return sorted(found)


# -- files -----------------------------------------------------------------------------------------


def _stat(name: str, stat: os.stat_result) -> _Stat:
    return name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def _kept(what: object, stats: Iterable[_Stat], make: Callable[[], str]) -> str:
    """What ``make`` says of files, kept under ``what``, which tells them from any others."""
    key = key_of(what)
    if place := find_entry("installed", key):
        return (place / "hash").read_text()
    if any(stat[3] > time.time_ns() - _SETTLED * 1e9 for stat in stats):
        return make()
    place, _ = find_or_make("installed", key, lambda folder: (folder / "hash").write_text(make()))
    return (place / "hash").read_text()


def digest(path: Path) -> str:
    """SHA-256 of a file's content. Raises `UserError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def _script(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(2) != b"#!":
            return digest(path)
        file.readline()
        return hashlib.sha256(file.read()).hexdigest()
