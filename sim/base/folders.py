"""The folders of a run's jobs, all of them below the run's own folder.

A run's folder is data, and may have been copied from anywhere: neither names in it nor links lead
out of it.
"""

import shutil
from pathlib import Path
from typing import Protocol

from cyclebound.sim.base.errors import UserError

__all__ = ["fresh", "inside", "job_folder"]


class _Named(Protocol):
    @property
    def block(self) -> str: ...
    @property
    def configuration(self) -> str: ...
    @property
    def testbench(self) -> str: ...
    @property
    def seed(self) -> int: ...


def job_folder(run: Path, job: _Named) -> Path:
    """The folder of a job of the run in ``run``."""
    return run / "jobs" / job.block / job.configuration / f"{job.testbench}-{job.seed}"


def inside(run: Path, folder: Path) -> Path:
    """``folder`` with all links followed. Raises `UserError` if it is not below ``run``."""
    try:
        resolved = folder.resolve()
    except RuntimeError:  # links in a circle
        raise UserError(f"{folder} cannot be reached: its links lead in a circle") from None
    if not resolved.is_relative_to(run.resolve()):
        raise UserError(f"{folder} leads out of the run {run}, to {resolved}; "
                        "remove the link, or name another folder with --output")
    return resolved


def fresh(folder: Path) -> Path:
    """``folder`` made anew and empty; a link in its place is removed, and not followed."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)
    folder.mkdir()
    return folder
