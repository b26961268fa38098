"""Hashes of the code that results depend on: all of it, or a module with its imports."""

import ast
import functools
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import cyclebound.golden
import cyclebound.hdl
import cyclebound.sim
import cyclebound.tb
import cyclebound.tools
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.netlist.verilog_module import VerilogModule

__all__ = ["all_files", "began", "begun", "closure", "commit", "files_of", "roots", "settled",
           "sources"]

_PACKAGES = ("golden", "hdl", "sim", "tb", "tools")
_TABLES = ("golden", "hdl", "tb")  # packages with tables beside their modules
# HDL sources and memory images beside a page: its blocks may name them, or its components add them
_HARDWARE = (".v", ".sv", ".vh", ".svh", ".vhd", ".vhdl", ".il", ".hex", ".mem")
_begun = [time.time_ns()]


@functools.cache
def sources(pages: tuple[str, ...]) -> str:
    """A hash of all code that a result may depend on: this project's and the pages' folders'.

    Of this project that is every file, tables too. Of the pages that is Python, and what their
    hardware is read from: files in these folders, and the sources that their blocks name, wherever
    they are.
    """
    digest = hashlib.sha256()
    folders = [Path(str(package.__file__)).parent for package in
               (cyclebound.golden, cyclebound.hdl, cyclebound.sim, cyclebound.tb, cyclebound.tools)]
    catalogue.load(pages)
    own = len(folders)
    for page in pages:
        folders.append(Path(str(sys.modules[page].__file__)).parent)
        for block in getattr(sys.modules[page], "BLOCKS", ()):
            if isinstance(block.component, VerilogModule):
                for name, text in block.component.files().items():
                    digest.update(f"{block.name}\0{name}\0{text}\0".encode(errors="replace"))
    for number, folder in enumerate(folders):
        for path in _modules(folder, () if number < own else (".py", *_HARDWARE)):
            try:
                content = path.read_bytes()
            except OSError as error:
                raise UserError(f"cannot read {path}, which lies beside catalogue pages or below "
                                f"them: {error.strerror}") from error
            digest.update(str(path.relative_to(folder)).encode() + b"\0" + content)
    return digest.hexdigest()


def roots() -> dict[str, Path]:
    """The folders of this project's packages, by the packages' names."""
    beside = Path(cyclebound.sim.__file__).parents[1]
    return {f"cyclebound.{name}": beside / name for name in _PACKAGES}


def closure(*modules: str) -> str:
    """A hash of the sources of these modules of this project, and of all that they import of it.

    Imports count wherever they stand in a file, in a function too. What a module names in a string
    alone is not in it. Raises `UserError` if a file cannot be read.
    """
    digest = hashlib.sha256()
    folders = roots()
    for path in sorted(files_of(*modules)):
        name = next(f"{package}/{path.relative_to(folder)}" for package, folder in folders.items()
                    if path.is_relative_to(folder))
        digest.update(f"{name}\0{_content(path)}\0".encode())
    return digest.hexdigest()


def files_of(*modules: str) -> frozenset[Path]:
    """The files of which `closure` is the hash.

    With each module goes what is no code and lies beside it: the tables that it reads.
    """
    files: set[Path] = set()
    pending, seen = list(modules), set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        path = _file_of(name)
        if path is not None:
            files |= {path, *_tables(path.parent)}
            pending += _imports(name, path)
        if "." in name:
            pending.append(name.rpartition(".")[0])  # a package's own file is run first
    return frozenset(files)


def begun(at: int) -> None:
    """Say that modules may have been imported since that time, in nanoseconds; see `settled`."""
    _begun.append(at)


def began() -> int:
    """When this process began, in nanoseconds: what was imported is no younger."""
    return min(_begun)


def settled(*modules: str, files: Iterable[Path] = ()) -> bool:
    """Whether `closure` is about what was imported: none of its files, or of ``files``, has changed
    since this process began.
    """
    try:
        return all(path.stat().st_ctime_ns < began() for path in {*files_of(*modules), *files})
    except OSError:
        return False


def all_files() -> frozenset[Path]:
    """The files of this project of which `sources` is a hash."""
    return frozenset(path for folder in roots().values() for path in _modules(folder, ()))


@functools.cache
def _file_of(name: str) -> Path | None:
    """The file of a module of this project; None: it is none."""
    package = ".".join(name.split(".")[:2])
    if package not in roots():
        return None
    path = roots()[package].joinpath(*name.split(".")[2:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py")
                 if file.is_file()), None)


@functools.cache
def _tables(folder: Path) -> frozenset[Path]:
    if not any(folder.is_relative_to(roots()[f"cyclebound.{name}"]) for name in _TABLES):
        return frozenset()
    return frozenset(path for path in folder.iterdir()
                     if path.is_file() and path.suffix not in (".py", ".pyc"))


@functools.cache
def _content(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


@functools.cache
def _imports(name: str, path: Path) -> frozenset[str]:
    """The names of all that a module may import; of ``from a import b`` both a and a.b."""
    names = set()
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[:len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(module for module in names if module.startswith("cyclebound."))


def commit() -> str:
    """The commit that this project's code is of, ``-dirty`` after it if files differ from it.

    ``-`` for an installed package, which is of none, wherever it is installed.
    """
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True,
                              text=True)
        return "" if done.returncode else done.stdout.strip()

    try:
        ours = git("ls-files", "--error-unmatch", Path(__file__).name)
        return (ours and git("describe", "--always", "--dirty", "--abbrev=12")) or "-"
    except OSError:
        return "-"


def _modules(root: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """All files with these endings below ``root`` (none: all but compiled ones), without those of
    an environment that lives there too.

    What Python cannot import is none: a link to nowhere (an editor's lock on a file), a pipe.
    """
    for here, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".")
                            and name not in ("site-packages", "runs", "__pycache__")
                            and not Path(here, name, "pyvenv.cfg").exists())
        yield from (path for name in sorted(files)
                    if (name.endswith(endings) if endings else not name.startswith("."))
                    and (path := Path(here, name)).is_file())
