"""Outcomes of jobs, kept by the content of all that they depend on, as builds and proofs are.

What a simulation shows depends on the simulator (its key stands for RTL, checker, probes and
tools), on what the job is asked (parameters, seed, domain: `cyclebound.sim.run.job.asked_of`), on
the testbench and every module of this project that it imports, on the code that runs it and reads
its results, on the files of Python, compiler and packages (`cyclebound.sim.base.installed`), and on
a few variables of the environment. The key of an outcome is made of these. A job whose key is known
is not run again; its files are put into its folder.

Nothing is kept of a job

- that failed,
- whose simulation has read a file that the key does not stand for, or started another program
  (`cyclebound.tb.reads`),
- one of whose sources, or any package, was written after this process had begun: what was
  imported, and what the key was made from, may then differ,
- of a user's own block or part, which may read anything; with a waveform; or on Icarus.
"""

import dataclasses
import datetime
import functools
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from cyclebound.sim import catalogue
from cyclebound.sim.base import cache
from cyclebound.sim.base.cache import key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import compiler_content, everything, unchanged
from cyclebound.sim.build.identity import stands_for
from cyclebound.sim.build.sources import began, closure, files_of, settled
from cyclebound.sim.build.verilator import Build, know
from cyclebound.sim.describe.variant import varied
from cyclebound.sim.run.job import Job, identity_of, run_job, write_job
from cyclebound.sim.run.simulator import Group, Outcome
from cyclebound.tb import reads

__all__ = ["outcome_of_job"]

_FORMAT = 1  # changes whenever an entry means something else
_RUNS = ("cyclebound.sim.run.simulator", "cyclebound.tb.bench")  # what runs every testbench
_LEFT_OUT = {"job.json", reads.FILE}
# What Python, cocotb and the solvers of testbenches look at. The rest is the same for all: neither
# models nor testbenches of this project read variables (`tests/test_architecture.py`).
_VARIABLES = ("COCOTB", "GPI", "HYPOTHESIS", "PYGPI", "PYTHON", "VERILATOR")
_NO_MATTER = {"PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME",
              "PYTHON_COLORS", "PYTHONPYCACHEPREFIX", "VERILATOR_ROOT"}


class _NotKeptError(Exception):
    """Raised to keep an outcome out of the cache; holds the outcome."""

    def __init__(self, outcome: Outcome | OSError) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def outcome_of_job(job: Job, since: float = 0.0) -> Outcome:
    """`run_job`, unless the outcome is known from an earlier run.

    With ``since`` nothing counts that was known before that moment, neither of the job nor of what
    it is made from; see `cyclebound.sim.base.cache.made_since`.
    """
    with cache.made_since(since):
        return _outcome_of_job(job)


def _outcome_of_job(job: Job) -> Outcome:
    if job.pages or job.changes.part_file or job.waves or job.test or job.simulator != "verilator":
        return run_job(job)
    try:
        places = _Places(job)
    except UserError:
        return run_job(job)  # which says what is wrong
    if (outcome := places.stored()) is not None:
        return outcome
    return run_job(job, keep=places.kept)


class _Places:
    """The files of the cache that belong to a job."""

    def __init__(self, job: Job) -> None:
        self._job, self._folder = job, Path(job.folder)
        block = varied(catalogue.load().find(job.block), job.changes).block
        self._modules = block.testbench(job.testbench).module, *_RUNS
        code = closure(*self._modules)
        self._more = (_FORMAT, code, everything(), compiler_content(), job.seed,
                      sorted((name, value) for name, value in os.environ.items()
                             if name.startswith(_VARIABLES) and name not in _NO_MATTER))
        # Which simulator a job takes, and what it is asked, is known without elaborating the
        # design again while no source has changed that these depend on.
        self._identity = identity_of(job)
        self._index = key_of("job", self._identity.key, everything(), compiler_content())

    def _key(self, build: str, asked: Mapping[str, object]) -> str:
        return key_of(build, asked, *self._more)

    def stored(self) -> Outcome | None:
        """The outcome in the cache, with its files put into the job's folder; None without one."""
        index = cache.find_entry("job", self._index)
        if index is None:
            return None
        build, asked = json.loads((index / "job.json").read_text())
        key = self._key(build, asked)
        place = cache.find_entry("outcome", key)
        if place is None:
            return None
        outcome = self._restored(place, key)
        write_job(self._folder, asked)
        return outcome

    def kept(self, build: Build, asked: Mapping[str, object],
             simulated: Callable[[], Outcome]) -> Outcome:
        """The outcome from the cache or else from the simulation, which is then kept."""
        # all packages are looked at once, after the simulation: it takes a third of a second
        installed = functools.cache(lambda: unchanged(began()))
        outcome = self._kept_or_made(build.key, asked, simulated, installed)
        if self._identity.stands(installed):
            know(build)
            cache.find_or_make("job", self._index, lambda folder: (
                folder / "job.json").write_text(json.dumps([build.key, asked])))
        return outcome

    def _kept_or_made(self, build: str, asked: Mapping[str, object],
                      simulated: Callable[[], Outcome], installed: Callable[[], bool]) -> Outcome:
        key = self._key(build, asked)
        ran: list[Outcome] = []

        def make(folder: Path) -> None:
            try:
                outcome = simulated()
            except OSError as error:  # which is none of the cache's
                raise _NotKeptError(error) from error
            ran.append(outcome)
            outcome.content = key
            if not (outcome.passed and settled(*self._modules) and installed()
                    and self._nothing_else_was_read()):
                raise _NotKeptError(outcome)
            now = datetime.datetime.now().isoformat(timespec="seconds")
            (folder / "outcome.json").write_text(json.dumps(
                {**dataclasses.asdict(outcome), "ran": now}))
            with zipfile.ZipFile(folder / "files.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1
                                 ) as files:
                for path in sorted(self._folder.iterdir()):
                    if path.is_file() and path.name not in _LEFT_OUT:
                        files.write(path, path.name)

        try:
            place, _ = cache.find_or_make("outcome", key, make)
        except _NotKeptError as unkept:
            if isinstance(unkept.outcome, OSError):
                raise unkept.outcome from None
            return unkept.outcome
        return ran[0] if ran else self._restored(place, key)

    def _restored(self, place: Path, key: str) -> Outcome:
        """The outcome that is kept in ``place``."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for old in self._folder.iterdir():  # a link is not followed
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        with zipfile.ZipFile(place / "files.zip") as files:
            files.extractall(self._folder)
        kept = json.loads((place / "outcome.json").read_text())
        groups = [Group(**group) for group in kept.pop("groups")]
        tests = [(name, passed) for name, passed in kept.pop("tests")]
        return Outcome(**{**kept, "name": self._job.name, "groups": groups, "tests": tests,
                          "content": key, "cached": True, "build_seconds": 0.0})

    def _nothing_else_was_read(self) -> bool:
        """Whether the key stands for every file that the simulation has read."""
        files = files_of(*self._modules)
        try:
            lines = (self._folder / reads.FILE).read_text(errors="surrogateescape").splitlines()
            return reads.PROGRAM not in lines and all(
                stands_for(Path(line), files, self._folder.resolve()) for line in lines)
        except OSError:
            return False
