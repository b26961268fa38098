"""Writes down which files hardware, models and pages of the catalogue read, from the very start.

A design depends on what its sources read while they are imported or elaborated, as well as on the
sources. `cyclebound.sim` imports this module before any other of this project, so that no read is
missed. `cyclebound.sim.build.identity` asks whether a key stands for all of them. (In simulations,
`cyclebound.tb.reads` does the same.)
"""

import os
import sys
from pathlib import Path

from cyclebound.tb.reads import PROGRAM, read_by

__all__ = ["reads_of"]

_PROJECT = Path(__file__).parents[2]
_ASKED = tuple(str(_PROJECT / name) + os.sep
               for name in ("golden", "hdl", "tb", f"sim{os.sep}catalogue"))
_PAGES = str(_PROJECT / "sim" / "catalogue" / "__init__.py")  # it imports pages, by their names
_reads: set[tuple[frozenset[str], str]] = set()


def reads_of(files: frozenset[Path]) -> set[str]:
    """What was read so far by code of these files alone; `PROGRAM` if that started another one."""
    names = frozenset(map(str, files))
    return {path for readers, path in _reads if readers <= names}


def _note(event: str, arguments: tuple) -> None:
    path = read_by(event, arguments)
    if path is None:
        return
    readers = set()
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_ASKED) and name != _PAGES:
            readers.add(name)
        frame = frame.f_back  # type: ignore[assignment]
    if readers:
        _reads.add((frozenset(readers), path if path == PROGRAM else os.path.abspath(path)))


sys.addaudithook(_note)
