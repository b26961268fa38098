"""Writes down which files a simulation's Python has read, and whether it ran other programs.

cocotb imports this module first, in front of the testbench. What a testbench reads without an
import that stands in its source (a module that it names at run time, a table, another program's
output) is so known when it has ended, and its outcome is not kept for later runs
(`cyclebound.sim.run.outcomes`).

And it ends the simulator if Python cannot write there: a message that is lost may be the one that
says that a test has failed.
"""

import logging
import os
import sys
import warnings
from pathlib import Path

__all__ = ["FILE", "PROGRAM", "UNWRITTEN", "read_by"]

FILE = "reads.txt"
"""In the job's folder: a path for each file, in a line of its own."""
PROGRAM = "<another program>"
UNWRITTEN = 74
"""The status of a simulator that could not write what it observed (EX_IOERR of sysexits.h); see
``sim/build/simulator.cpp``, too."""
_PROGRAMS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"}


def read_by(event: str, arguments: tuple) -> str | None:
    """The path of the file that Python reads with this event, or `PROGRAM`; None: it reads none."""
    if event == "open":
        path, _, flags = arguments
        reads = flags & os.O_ACCMODE != os.O_WRONLY if isinstance(flags, int) else True
        return os.fsdecode(path) if reads and isinstance(path, str | bytes | os.PathLike) else None
    return PROGRAM if event in _PROGRAMS else None


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
        path = read_by(event, arguments)
        if path is not None:
            note(path if path == PROGRAM else os.path.abspath(path))

    sys.addaudithook(hook)


def _ended_by(handle_error):
    """What a log's handler does with an error of its own: if it could not write, all ends."""
    def handle(handler, record):
        if isinstance(sys.exc_info()[1], OSError):
            os._exit(UNWRITTEN)
        handle_error(handler, record)
    return handle


if "CYCLEBOUND_JOB" in os.environ:
    logging.Handler.handleError = _ended_by(  # type: ignore[method-assign]  # it is replaced
        logging.Handler.handleError)
    warnings.filterwarnings("ignore", f"No tests were discovered in module: {__name__}")
    _watch(os.open(Path(os.environ["CYCLEBOUND_JOB"]).with_name(FILE),
                   os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644))
