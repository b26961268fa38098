"""CUDA C++ through NVIDIA's own compiler, where it is installed: as the listing that it becomes.

It is looked for in PyPI's packages of it (``pip install cyclebound[cuda]``), and on PATH.
"""

import functools
import importlib.util
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cyclebound.sim.base.errors import UserError

__all__ = ["SOURCE", "Compiled", "compiled", "tool"]

SOURCE = ".cu"
"""How the name of a file of CUDA C++ ends."""

_SECONDS = 300  # a compiler that takes longer does not end
_SHOWN = 12  # lines of what a compiler says


@dataclass(frozen=True)
class Compiled:
    """What ``cuobjdump -sass`` and ``cuobjdump -res-usage`` say of a file."""

    listing: str
    usage: str


def tool(name: str) -> str | None:
    """The path of one of NVIDIA's tools, or None."""
    package = importlib.util.find_spec("nvidia")
    folders = package.submodule_search_locations if package is not None else None
    packaged = sorted(str(file) for folder in folders or ()
                      for file in Path(folder).glob(f"cu*/bin/{name}"))
    return packaged[-1] if packaged else shutil.which(name)


@functools.cache
def compiled(path: Path, architecture: str) -> Compiled:
    """The kernels of a file for one architecture. Raises `UserError`."""
    nvcc, cuobjdump = tool("nvcc"), tool("cuobjdump")
    if nvcc is None or cuobjdump is None:
        raise UserError(f"{path} is CUDA C++, and there is no "
                        f"{'cuobjdump' if nvcc else 'nvcc'} to compile it: pip install "
                        "'cyclebound[cuda]', or NVIDIA's toolkit; or give the output of "
                        "`cuobjdump -sass`")
    if not path.is_file():
        raise UserError(f"cannot read {path}: no such file")
    with tempfile.TemporaryDirectory(prefix="cyclebound") as folder:
        cubin = str(Path(folder, "kernels.cubin"))
        _run(path, folder, nvcc, "-cubin", f"-arch={architecture}", "-o", cubin,
             str(path.resolve()))
        return Compiled(_run(path, folder, cuobjdump, "-sass", cubin),
                        _run(path, folder, cuobjdump, "-res-usage", cubin))


def _run(path: Path, folder: str, *words: str) -> str:
    try:
        done = subprocess.run(words, cwd=folder, text=True, errors="replace", capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise UserError(f"{path}: {Path(words[0]).name} has not ended in {_SECONDS} s") from None
    except OSError as error:
        raise UserError(f"cannot run {words[0]}: {error.strerror}") from None
    if done.returncode:
        said = [line.replace(str(path.resolve()), str(path))
                for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        said = [line for line in said if re.search(r"error|fatal|unsupported", line)] or said
        raise UserError(f"{path}: {Path(words[0]).name} refuses it: " + "; ".join(said[:_SHOWN]))
    return done.stdout
