"""Opens a recorded trace, whatever kind of file it is."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.traces.table import Table
from cyclebound.sim.traces.trace import Trace, Waveform

__all__ = ["open_trace"]


def open_trace(path: Path, radix: Mapping[str, str] | None = None
               ) -> contextlib.AbstractContextManager[Trace]:
    """The trace in a file, by the end of its name; ``radix`` as of `Table`. Raises `UserError`."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"there is no trace {path}")
    if path.suffix.lower() == ".csv":
        return contextlib.nullcontext(Table(path, radix))
    if radix:
        raise UserError(f"--radix is of columns of a .csv file, and {path} is none")
    return Waveform(path)
