"""Writes down which files a simulation's Python has read, and whether it ran other programs.

cocotb imports this module first, in front of the testbench. What a testbench reads without an
import that stands in its source (a module that it names at run time, a table, another program's
output) is so known when it has ended, and its outcome is not kept for later runs
(`cyclebound.sim.outcomes`).

And it ends the simulator if Python cannot write there: a message that is lost may be the one that
says that a test has failed.
"""

import logging
import os
import sys
import warnings
from pathlib import Path

__all__ = ["FILE", "PROGRAM", "UNWRITTEN"]

FILE = "reads.txt"
"""In the job's folder: a path for each file, in a line of its own."""
PROGRAM = "<another program>"
UNWRITTEN = 74
"""The status of a simulator that could not write what it observed (EX_IOERR of sysexits.h); see
``sim/simulator.cpp``, too."""
_PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}


def _watch(file: int) -> None:
    seen = set()

    def note(path: str) -> None:
        if path not in seen:
            seen.add(path)
            line = f"{path}\n".encode(errors="surrogateescape")
            try:
                written = os.write(file, line)
            except OSError:
                written = 0
            if written < len(line):
                os._exit(UNWRITTEN)

    def hook(event: str, arguments: tuple) -> None:
        if event == "open":
            path, _, flags = arguments
            reads = flags & os.O_ACCMODE != os.O_WRONLY if isinstance(flags, int) else True
            if reads and not isinstance(path, int) and path is not None:
                note(os.path.abspath(os.fsdecode(path)))
        elif event in _PROGRAMS:
            note(PROGRAM)

    sys.addaudithook(hook)


def _ended_by(handle_error):
    """What a log's handler does with an error of its own: if it could not write, all ends."""
    def handle(handler, record):
        if isinstance(sys.exc_info()[1], OSError):
            os._exit(UNWRITTEN)
        handle_error(handler, record)
    return handle


if "CYCLEBOUND_JOB" in os.environ:
    logging.Handler.handleError = _ended_by(logging.Handler.handleError)
    warnings.filterwarnings("ignore", f"No tests were discovered in module: {__name__}")
    _watch(os.open(Path(os.environ["CYCLEBOUND_JOB"]).with_name(FILE),
                   os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644))
