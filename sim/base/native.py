"""Programs of this project in C++, compiled once for a machine."""

import subprocess
from pathlib import Path

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import compiler_content
from cyclebound.sim.base.toolchain import compiler

__all__ = ["compiled"]

_FLAGS = ("-std=c++20", "-O3", "-w")


def compiled(source: Path) -> Path:
    """The program of one source file."""
    def make(folder: Path) -> None:
        done = subprocess.run([compiler(), *_FLAGS, str(source), "-o", source.stem], cwd=folder,
                              capture_output=True, text=True)
        if done.returncode:
            raise UserError(f"cannot compile {source.name}: {done.stderr[-2000:]}")

    key = key_of(source.read_text(), _FLAGS, compiler_content())
    return find_or_make(source.stem, key, make)[0] / source.stem
