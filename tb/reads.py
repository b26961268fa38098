"""Writes down which files a simulation's Python has read, and whether it ran other programs.

cocotb imports this module first, in front of the testbench. What a testbench reads without an
import that stands in its source (a module that it names at run time, a table, another program's
output) is so known when it has ended, and its outcome is not kept for later runs
(`cyclebound.sim.outcomes`).
"""

import os
import sys
import warnings
from pathlib import Path

__all__ = ["FILE", "PROGRAM"]

FILE = "reads.txt"
"""In the job's folder: a path for each file, in a line of its own."""
PROGRAM = "<another program>"
_PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}


def _watch(file: int) -> None:
    seen = set()

    def note(path: str) -> None:
        if path not in seen:
            seen.add(path)
            os.write(file, f"{path}\n".encode(errors="surrogateescape"))

    def hook(event: str, arguments: tuple) -> None:
        if event == "open":
            path, _, flags = arguments
            reads = flags & os.O_ACCMODE != os.O_WRONLY if isinstance(flags, int) else True
            if reads and not isinstance(path, int) and path is not None:
                note(os.path.abspath(os.fsdecode(path)))
        elif event in _PROGRAMS:
            note(PROGRAM)

    sys.addaudithook(hook)


if "CYCLEBOUND_JOB" in os.environ:
    warnings.filterwarnings("ignore", f"No tests were discovered in module: {__name__}")
    _watch(os.open(Path(os.environ["CYCLEBOUND_JOB"]).with_name(FILE),
                   os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644))
