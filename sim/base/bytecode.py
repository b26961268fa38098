"""Bytecode of what a command's processes import, where Python was told to write none.

Containers often set ``PYTHONDONTWRITEBYTECODE``. Then each of some hundred simulators and tools
compiles the same sources again, half of the time of a short one. So they share a folder of their
own, which is gone when the command ends; no other user can write there.
"""

import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cyclebound.sim.base.guard import guarded

__all__ = ["kept", "kept_by_parent"]

_FORBIDS, _WHERE = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Meanwhile, this process and those that it starts keep bytecode in a folder of their own.

    Nothing changes where Python writes it beside the sources, or has done so before, or where the
    user has named a folder.
    """
    beside = Path(importlib.util.cache_from_source(__file__))
    if not sys.dont_write_bytecode or sys.pycache_prefix or beside.exists():
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(
                prefix="cyclebound-bytecode-", ignore_cleanup_errors=True))
        except OSError:  # no room for temporary files: it takes longer
            yield
            return
        stack.enter_context(guarded(Path(folder)))
        before = os.environ.pop(_FORBIDS, None)
        os.environ[_WHERE] = sys.pycache_prefix = os.path.realpath(folder)
        sys.dont_write_bytecode = False
        try:
            yield
        finally:
            del os.environ[_WHERE]
            if before is not None:
                os.environ[_FORBIDS] = before
            sys.pycache_prefix, sys.dont_write_bytecode = None, True


def kept_by_parent() -> None:
    """In a process that Python's own library has started: write bytecode if the parent does, and
    not as it was told itself."""
    if _WHERE in os.environ and _FORBIDS not in os.environ:
        sys.dont_write_bytecode = False
