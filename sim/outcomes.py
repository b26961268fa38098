"""Outcomes of jobs, kept by the content of all that they depend on, as builds and proofs are.

What a simulation shows depends on the simulator (its key stands for RTL, checker, probes and
tools), on what the job is asked (parameters, seed, domain: `cyclebound.sim.job.asked_of`), on the
testbench and every module of this project that it imports, on the code that runs it and reads its
results, on the installed packages, and on a few variables of the environment. The key of an outcome
is made of these. A job whose key is known is not run again; its files are put into its folder.

Nothing is kept of a job

- that failed,
- whose simulation has read a file that the key does not stand for, or started another program
  (`cyclebound.tb.reads`),
- one of whose sources was written after this process had begun: what was imported, and what the
  key was made from, may then differ,
- of a user's own block or part, which may read anything; with a waveform; or on Icarus.
"""

import dataclasses
import datetime
import functools
import importlib.metadata
import json
import os
import shutil
import site
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from cyclebound.sim import cache, catalogue
from cyclebound.sim.cache import key_of
from cyclebound.sim.errors import UserError
from cyclebound.sim.job import Job, identity_of, made_from, run_job, write_job
from cyclebound.sim.simulator import Group, Outcome
from cyclebound.sim.sources import closure, files_of, roots, settled
from cyclebound.sim.toolchain import compiler_version, versions
from cyclebound.sim.variant import varied
from cyclebound.tb import reads

__all__ = ["outcome_of_job"]

_FORMAT = 1  # changes whenever an entry means something else
_RUNS = ("cyclebound.sim.simulator", "cyclebound.tb.bench")  # what runs every testbench
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


def outcome_of_job(job: Job, fresh: bool = False) -> Outcome:
    """`run_job`, unless the outcome is known from an earlier run.

    With ``fresh`` the job is run whatever is known; what was known of it is forgotten.
    """
    if job.pages or job.changes.part_file or job.waves or job.test or job.simulator != "verilator":
        return run_job(job)
    try:
        places = _Places(job)
    except UserError:
        return run_job(job)  # which says what is wrong
    if not fresh and (outcome := places.stored()) is not None:
        return outcome
    return run_job(job, keep=functools.partial(places.kept, fresh=fresh))


class _Places:
    """The files of the cache that belong to a job."""

    def __init__(self, job: Job) -> None:
        self._job, self._folder = job, Path(job.folder)
        block = varied(catalogue.load().find(job.block), job.changes).block
        self._modules = block.testbench(job.testbench).module, *_RUNS
        code = closure(*self._modules)
        self._more = (_FORMAT, code, versions(), _packages(), compiler_version(), job.seed,
                      sorted((name, value) for name, value in os.environ.items()
                             if name.startswith(_VARIABLES) and name not in _NO_MATTER))
        # Which simulator a job takes, and what it is asked, is known without elaborating the
        # design again while no source has changed that these depend on.
        self._index = key_of("job", identity_of(job), versions(), compiler_version())

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

    def kept(self, build: str, asked: Mapping[str, object], simulated: Callable[[], Outcome], *,
             fresh: bool) -> Outcome:
        """The outcome from the cache or else from the simulation, which is then kept."""
        if settled(*made_from(self._job)):
            cache.find_or_make("job", self._index, lambda folder: (
                folder / "job.json").write_text(json.dumps([build, asked])))
        key = self._key(build, asked)
        if fresh:
            cache.forget("outcome", key)
        ran: list[Outcome] = []

        def make(folder: Path) -> None:
            try:
                outcome = simulated()
            except OSError as error:  # which is none of the cache's
                raise _NotKeptError(error) from error
            ran.append(outcome)
            outcome.content = key
            if not (outcome.passed and settled(*self._modules) and self._nothing_else_was_read()):
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
                _stands_for(Path(line), files, self._folder.resolve()) for line in lines)
        except OSError:
            return False


def _stands_for(path: Path, files: frozenset[Path], folder: Path) -> bool:
    """Whether a key made from ``files`` stands for this file, too."""
    if any(path.is_relative_to(root) for root in roots().values()):
        if path.parent.name != "__pycache__":
            return path in files
        source = path.parents[1] / f"{path.name.partition('.')[0]}.py"
        # one that is older than its source may have been made from another text of equal length;
        # one that is not there was looked for, and not read
        return source in files and (
            not path.exists() or path.stat().st_mtime_ns > source.stat().st_ctime_ns)
    return any(path.is_relative_to(place) for place in (folder, *_installed()))


@functools.cache
def _installed() -> tuple[Path, ...]:
    """Paths of Python, of installed packages, and of the system's own files."""
    paths = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, sys.exec_prefix,
             *site.getsitepackages(), site.getusersitepackages(), "/proc", "/sys", "/dev", "/etc",
             "/usr"}
    return tuple(Path(file) for file in paths)


@functools.cache
def _packages() -> list[tuple[str, str]]:
    """All installed packages with their versions."""
    return sorted({(distribution.metadata["Name"] or "", distribution.version)
                   for distribution in importlib.metadata.distributions()} - {_own()})


def _own() -> tuple[str, str]:
    try:
        return "cyclebound", importlib.metadata.version("cyclebound")
    except importlib.metadata.PackageNotFoundError:
        return "", ""

