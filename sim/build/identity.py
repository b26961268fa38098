"""What a design is made from, as a key, and whether that key stands for all of it.

A design that is known under its key is not elaborated again. That is right only if nothing else
went into it: a file that its sources read beside the tables of this project, another program's
output, a source or a package that changed while it was imported. Then nothing is kept under the
key, and the design is elaborated whenever it is asked for.
"""

import functools
import os
import site
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim.base.audit import reads_of
from cyclebound.sim.base.cache import key_of
from cyclebound.sim.base.installed import READ_BESIDE, unchanged
from cyclebound.sim.base.toolchain import cache_root
from cyclebound.sim.build.sources import (
    all_files,
    began,
    closure,
    files_of,
    roots,
    settled,
    sources,
)
from cyclebound.tb.reads import PROGRAM

__all__ = ["Identity", "identity", "stands_for"]


@dataclass(frozen=True)
class Identity:
    """A key of sources and parameters.

    Attributes
    ----------
    key : str
        Made from the sources of ``modules`` with all that they import, and from parameters.
    modules : tuple[str, ...]
        None: all sources of this project.
    """

    key: str
    modules: tuple[str, ...] = ()

    def stands(self, installed: Callable[[], bool] = lambda: unchanged(began())) -> bool:
        """Whether the key stands for all that was read so far.

        ``installed`` says that no package has changed; who has looked knows.
        """
        return not self.beside() and self._settled() and installed()

    def beside(self) -> list[str]:
        """What the sources read that the key does not stand for."""
        files = files_of(*self.modules) if self.modules else all_files()
        part = cache_root() / "part"  # by content
        return sorted(path for path in reads_of(files) if path == PROGRAM
                      or not stands_for(Path(path), files, part.absolute()))

    def _settled(self) -> bool:
        return settled(*self.modules) if self.modules else settled(files=all_files())


def identity(modules: tuple[str, ...], *parts: object) -> Identity:
    """The identity of what these modules make with these parameters; of none: all sources."""
    return Identity(key_of(closure(*modules) if modules else sources(()), *parts), modules)


def stands_for(path: Path, files: frozenset[Path], folder: Path) -> bool:
    """Whether a key made from ``files`` stands for this file, too: it is one of them, compiled from
    one of them, in ``folder``, or installed."""
    source = _source_of(path)
    if any(source.is_relative_to(root) for root in roots().values()):
        return source in files and (source is path or _is_of(path, source))
    return any(source.is_relative_to(place) for place in (folder, *_installed())) or (
        # importlib.metadata tries each entry of sys.path as an archive; that of an editable
        # installation is a name for a hook, and no file
        source.name in sys.path and not source.exists())


def _source_of(path: Path) -> Path:
    """The source of a compiled file, beside it or in the folder that Python was told; any other
    file itself."""
    name = f"{path.name.partition('.')[0]}.py"
    if path.parent.name == "__pycache__":
        return path.parents[1] / name
    if sys.pycache_prefix and path.suffix == ".pyc" and path.is_relative_to(sys.pycache_prefix):
        return Path(path.anchor, path.relative_to(sys.pycache_prefix)).with_name(name)
    return path


def _is_of(compiled: Path, source: Path) -> bool:
    """Whether a compiled file is of its source as that is now, or is not taken by Python.

    Python takes it if the source has the size and the time, in seconds, that it names. If it is
    older than its source, it may be of another text with both.
    """
    try:
        now, then = source.stat(), compiled.stat()
        named = compiled.read_bytes()[8:16]
    except FileNotFoundError:
        return True  # it was looked for, and not read
    except OSError:
        return False
    taken = named == b"".join((number & 0xFFFFFFFF).to_bytes(4, "little")
                              for number in (int(now.st_mtime), now.st_size))
    return not taken or then.st_mtime_ns > now.st_ctime_ns


@functools.cache
def _installed() -> tuple[Path, ...]:
    """Paths of Python's library and of installed packages, whose files are in each key, and of what
    the system knows of itself."""
    paths = {*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages(),
             "/proc", "/sys", "/dev", *map(str, READ_BESIDE)}
    return tuple(path for file in paths for path in {Path(file), Path(os.path.realpath(file))})
