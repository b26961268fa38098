"""The results of a run: one SQLite file in the run's folder.

Each finished job is one transaction. A run that is killed at any moment keeps every job that had
finished; reports and comparisons only read.

A results file is data that may come from anywhere: its version, its tables, and the type of every
value in it are checked as it is read. Whatever does not fit is a `UserError`, never a guess.
`VERSION` stands for all of it, and is raised when a table or a field of a row changes.
"""

import contextlib
import functools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cyclebound.golden.user_files import in_bytes, parsing
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.secret import mac, made_here
from cyclebound.sim.base.shape import cleaned, fields_of, misfit, row_misfit, shown
from cyclebound.sim.drawing.drawing import Drawing
from cyclebound.sim.fpga.placement import Figures
from cyclebound.sim.judge.cross_check import CrossChecked
from cyclebound.sim.judge.verdict import VERDICTS, Verdict
from cyclebound.sim.proof.prove import Certificate, Proof
from cyclebound.sim.run.job import Group, Job, Outcome

__all__ = ["FILE", "ROWS", "VERSION", "JobRow", "Results", "unproved"]

FILE = "results.sqlite"
VERSION = 9
_LARGEST = 1 << 30  # bytes of a file
_CELL = 64 << 20  # bytes of one of its values
ROWS = {"verdict": Verdict, "proof": Proof, "fpga": Figures, "picture": Drawing,
        "cross_check": CrossChecked}
_META = {"seed": int, "versions": dict[str, str], "simulator": str, "code": str,
         "planned": list[str], "jobs": int, "options": dict, "command": str, "created": str}
_WORDS = {"verdict": ("verdict", VERDICTS),
          "proof": ("status", ("proved", "bounded", "failed"))}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS job (
    name TEXT PRIMARY KEY, block TEXT, configuration TEXT, testbench TEXT, seed INTEGER,
    content TEXT, passed INTEGER, reason TEXT, compared INTEGER, bits INTEGER, cycles INTEGER,
    build_seconds REAL, run_seconds REAL, cached INTEGER, folder TEXT, waveform TEXT, tests TEXT,
    ran TEXT, outcome TEXT, guard TEXT);
CREATE TABLE IF NOT EXISTS observation (
    job TEXT REFERENCES job(name) ON DELETE CASCADE, what TEXT, parameters TEXT,
    latency INTEGER, count INTEGER, first INTEGER, last INTEGER, test TEXT);
CREATE INDEX IF NOT EXISTS observation_job ON observation (job);
CREATE TABLE IF NOT EXISTS verdict (
    block TEXT, configuration TEXT, bound TEXT, row TEXT,
    PRIMARY KEY (block, configuration, bound));
CREATE TABLE IF NOT EXISTS proof (
    block TEXT, property TEXT, instance TEXT, row TEXT,
    PRIMARY KEY (block, property, instance));
CREATE TABLE IF NOT EXISTS fpga (
    block TEXT, configuration TEXT, target TEXT, row TEXT,
    PRIMARY KEY (block, configuration, target));
CREATE TABLE IF NOT EXISTS waveform (
    block TEXT, configuration TEXT, bound TEXT, lanes TEXT, command TEXT, key TEXT,
    PRIMARY KEY (block, configuration, bound));
CREATE TABLE IF NOT EXISTS cross_check (name TEXT PRIMARY KEY, row TEXT);
CREATE TABLE IF NOT EXISTS picture (
    block TEXT, configuration TEXT, name TEXT, row TEXT,
    PRIMARY KEY (block, configuration, name));
"""


@dataclass(frozen=True)
class JobRow:
    """A finished job, as the results hold it.

    Attributes
    ----------
    reason : str
        Why it failed; of one that passed, what it left out: tests that were skipped, and that
        measured nothing after a reset.
    content : str
        Stands for all code and tools that there were when it finished.
    ran : str
        If its outcome is of an earlier run: when that was.
    outcome : str
        Stands for what the outcome depends on; empty if that is not known.
    guard : str
        As of `cyclebound.sim.regression.baseline.guard_of`.
    """

    name: str
    block: str
    configuration: str
    testbench: str
    seed: int
    content: str
    passed: bool
    reason: str
    compared: int
    bits: int
    cycles: int
    build_seconds: float
    run_seconds: float
    cached: bool
    folder: str
    waveform: str | None
    tests: list
    ran: str
    outcome: str
    guard: str


@dataclass(frozen=True)
class _Tightest:
    """The request closest to its bound, as `Verdict.tightest` holds it."""

    latency: int
    allowed: int
    parameters: dict


@dataclass(frozen=True)
class _Mutation:
    """As `Verdict.mutation` holds it."""

    score: float
    mutants: int


def _groups(outcome: Outcome) -> list[tuple]:
    return [(group.what, json.dumps(group.parameters, sort_keys=True), group.latency,
             group.count, group.first, group.last, group.test) for group in outcome.groups]


def _sealed(job: Job, outcome: Outcome, content: str) -> str:
    """A job's content, and a code over all that it showed."""
    facts = (job.name, content, outcome.compared, outcome.cycles, json.dumps(outcome.tests),
             _groups(outcome))
    return f"{content}.{mac(*_seals(*facts))}"


def _seals(*facts: object) -> tuple[str, ...]:
    """What the code of a job is of: its name, content, and all that it showed."""
    return "job", json.dumps(facts, default=str)


class Results:
    """The results of one run.

    Parameters
    ----------
    folder : Path
        The run's folder.
    create : bool
        Whether a new file is made where there is none.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.folder = Path(folder)
        path = self.folder / FILE
        if not create and not path.is_file():
            raise UserError(f"{folder} holds no run: there is no {FILE} in it")
        if not create and path.stat().st_size > _LARGEST:
            raise UserError(f"{path} is larger than {in_bytes(_LARGEST)}")
        base: sqlite3.Connection | None = None
        try:
            if create:
                self.folder.mkdir(parents=True, exist_ok=True)
            # not read-only: a writer that was killed may have left a transaction to roll back
            base = sqlite3.connect(path if create else path.resolve().as_uri() + "?mode=rw",
                                   uri=not create)
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _CELL)
            base.execute("PRAGMA foreign_keys = ON")
            base.execute("PRAGMA trusted_schema = OFF")
            self._base = base
            if create and not _tables(base):
                with base:
                    base.executescript(_SCHEMA)
                    base.execute(f"PRAGMA user_version = {VERSION}")
            with contextlib.nullcontext() if create else parsing(path):
                self._check()
        except (OSError, sqlite3.Error, UserError) as error:
            if base is not None:
                base.close()
            if isinstance(error, UserError):
                raise
            raise UserError(f"cannot use {path}: {getattr(error, 'strerror', None) or error}"
                            ) from error

    def _check(self) -> None:
        """Raise `UserError` unless this is a results file of a version that is known here."""
        path = self.folder / FILE
        version, = self._base.execute("PRAGMA user_version").fetchone()
        tables = _tables(self._base)
        if not tables:
            raise UserError(f"{path} is empty: no result was kept in it")
        foreign = tables != _own_tables()
        if version != VERSION and (version or not foreign):
            raise UserError(f"{path} is of version {version}, and this cyclebound reads version "
                            f"{VERSION}; read it with the cyclebound that wrote it")
        if foreign:
            odd = sorted({name for _, name, _ in tables ^ _own_tables()})
            raise UserError(f"{path} has other tables than a run: {shown(', '.join(odd))} differ")
        self.jobs()
        _ = self.meta

    def _refuse(self, wrong: str) -> UserError:
        return UserError(f"{self.folder / FILE} is no results file of this cyclebound: {wrong}")

    def _decoded(self, text: object, thing: str) -> Any:
        """The value of a cell that holds JSON."""
        try:
            if not isinstance(text, str | bytes):
                raise TypeError
            return cleaned(json.loads(text, parse_constant=_no_number))
        except (TypeError, ValueError, RecursionError):
            raise self._refuse(f"{thing} must be JSON, not {shown(text)}") from None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; what was committed before stays whatever happens in it."""
        try:
            with self._base:
                yield self._base
        except sqlite3.Error as error:
            raise UserError(f"cannot write {self.folder / FILE}: {error}; "
                            "what had finished before is kept") from error

    def close(self) -> None:
        self._base.close()

    # -- what a run writes ---------------------------------------------------------------------

    def note(self, **values: object) -> None:
        """Keep facts about the run itself."""
        with self._writing() as base:
            base.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)",
                             [(key, json.dumps(value)) for key, value in values.items()])

    def finished(self, job: Job, outcome: Outcome, content: str, guard: str = "") -> None:
        """Keep a job's outcome. ``content`` identifies what ran, for a run that is resumed;
        ``guard`` as of `cyclebound.sim.regression.baseline.guard_of`.

        With it goes a code over all that the job showed: what was edited since, or was kept by
        someone else, is not `done`. Nor is a job without a content; see `identified`.
        """
        groups, tests = _groups(outcome), json.dumps(outcome.tests)
        content = content and _sealed(job, outcome, content)
        with self._writing() as base:
            base.execute("DELETE FROM job WHERE name = ?", (job.name,))
            base.execute(
                "INSERT INTO job VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (job.name, job.block, job.configuration, job.testbench, job.seed, content,
                 outcome.passed, outcome.reason, outcome.compared, outcome.bits, outcome.cycles,
                 outcome.build_seconds, outcome.run_seconds, outcome.cached, job.folder,
                 outcome.waveform, tests, outcome.ran, outcome.content, guard))
            base.executemany("INSERT INTO observation VALUES (?,?,?,?,?,?,?,?)",
                             [(job.name, *group) for group in groups])

    def identified(self, jobs: Iterable[tuple[Job, Outcome, str]]) -> None:
        """Say of jobs that are kept, with their outcomes, what ran."""
        with self._writing() as base:
            base.executemany("UPDATE job SET content = ? WHERE name = ?", [
                (_sealed(job, outcome, content), job.name) for job, outcome, content in jobs])

    def _keep(self, table: str, keys: tuple, row: Any) -> None:
        marks = ",".join("?" * (len(keys) + 1))
        with self._writing() as base:
            base.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})",
                         (*keys, json.dumps(asdict(row))))

    def verdict(self, row) -> None:
        """Keep a `cyclebound.sim.judge.verdict.Verdict`."""
        self._keep("verdict", (row.block, row.configuration, f"{row.bound} {row.what}"), row)

    def judged(self, block: str, configuration: str, rows: Iterable) -> None:
        """Keep all verdicts (`Verdict`) of a configuration, in place of older ones."""
        with self._writing() as base:
            base.execute("DELETE FROM verdict WHERE block = ? AND configuration = ?",
                         (block, configuration))
            base.executemany("INSERT INTO verdict VALUES (?,?,?,?)", [
                (block, configuration, f"{row.bound} {row.what}", json.dumps(asdict(row)))
                for row in rows])

    def forget(self) -> None:
        """Drop all that was found out, because it is about other code."""
        with self._writing() as base:
            for table in ("job", "verdict", "proof", "fpga", "waveform", "picture", "cross_check"):
                base.execute(f"DELETE FROM {table}")

    def proof(self, row) -> None:
        """Keep a `cyclebound.sim.proof.prove.Proof`."""
        instance = json.dumps(row.parameters, sort_keys=True)
        own = self._proofs_are_own()
        self._keep("proof", (row.block, row.property, instance), row)
        if own:
            self.note(proofs=mac("proofs", self._all_proofs()))

    def _all_proofs(self) -> str:
        return json.dumps([*self._rows(
            "SELECT * FROM proof ORDER BY block, property, instance")])

    def _proofs_are_own(self) -> bool:
        code, proofs = str(self.meta.get("proofs", "")), self._all_proofs()
        return proofs == "[]" or made_here(code, "proofs", proofs)

    def distrust(self) -> None:
        """Drop the proofs, if another user has proved them, or they were edited: a run that is
        resumed proves them again."""
        if not self._proofs_are_own():
            with self._writing() as base:
                base.execute("DELETE FROM proof")

    def fpga(self, row) -> None:
        """Keep a `cyclebound.sim.fpga.placement.Figures`."""
        self._keep("fpga", (row.block, row.configuration, row.target), row)

    def cross_check(self, row) -> None:
        """Keep a `cyclebound.sim.judge.cross_check.CrossChecked`."""
        self._keep("cross_check", (row.table,), row)

    def waveform(self, block: str, configuration: str, bound: str, lanes: str,
                 command: str, key: str = "") -> None:
        """Keep the waveform of a worst request, and the command that simulates it again.

        ``lanes`` is a `cyclebound.sim.drawing.lanes.Lanes` as text, or says why there is none;
        ``key`` identifies the request, for a run that is resumed.
        """
        with self._writing() as base:
            base.execute("INSERT OR REPLACE INTO waveform VALUES (?,?,?,?,?,?)",
                         (block, configuration, bound, lanes, command, key))

    def picture(self, row) -> None:
        """Keep a `cyclebound.sim.drawing.drawing.Drawing`."""
        self._keep("picture", (row.block, row.configuration, row.name), row)

    def absorb(self, folder: Path) -> None:
        """Take over all that the run in ``folder`` found out."""
        try:
            self._base.execute("ATTACH ? AS part", (str(Path(folder) / FILE),))
            with self._base as base:
                base.execute("DELETE FROM job WHERE name IN (SELECT name FROM part.job)")
                for table in ("job", "observation", "verdict", "proof", "fpga", "waveform",
                              "picture", "cross_check"):
                    base.execute(f"INSERT OR REPLACE INTO {table} SELECT * FROM part.{table}")
            self._base.execute("DETACH part")
        except sqlite3.Error as error:
            raise UserError(f"cannot take over {folder}: {error}") from error

    # -- what reports read ---------------------------------------------------------------------

    def _rows(self, query: str, *values: object) -> Iterator[tuple]:
        try:
            yield from self._base.execute(query, values)
        except sqlite3.Error as error:
            raise UserError(f"cannot read {self.folder / FILE}: {error}") from error

    @property
    def meta(self) -> dict[str, Any]:
        values = {}
        for key, text in self._rows("SELECT key, value FROM meta"):
            values[key] = self._decoded(text, f"meta {shown(key)}")
            if wrong := misfit(values[key], _META.get(key, object), f"meta {key}"):
                raise self._refuse(wrong)
        return values

    def jobs(self, *place: str) -> list[JobRow]:
        """All finished jobs, by name; of a ``place``, a block and a configuration, only its own."""
        rows = []
        of = "WHERE block = ? AND configuration = ? " if place else ""
        for row in self._rows(f"SELECT * FROM job {of}ORDER BY name", *place):
            fields = dict(zip(fields_of(JobRow), map(cleaned, row), strict=True))
            thing = f"job {shown(fields['name'])}"
            for name in ("passed", "cached"):
                if fields[name] not in (0, 1):
                    raise self._refuse(f"{name} of {thing} must be 0 or 1, "
                                       f"not {shown(fields[name])}")
                fields[name] = bool(fields[name])
            fields["content"] = str(fields["content"]).partition(".")[0]
            fields["tests"] = self._decoded(fields["tests"], f"tests of {thing}")
            wrong = (row_misfit(fields, JobRow, thing)
                     or misfit(fields["tests"], list[tuple[str, bool]], f"tests of {thing}"))
            job = Job(fields["block"], fields["configuration"], fields["testbench"], fields["seed"],
                      folder="")
            if not wrong and fields["name"] != job.name:
                wrong = f"{thing} must have the name {shown(job.name)}"
            if wrong:
                raise self._refuse(wrong)
            rows.append(JobRow(**fields))
        return rows

    def done(self) -> dict[str, str]:
        """Names of the jobs that passed, as this user ran them, each with its content."""
        found = {}
        for name, whole, *facts in self._rows(
                "SELECT name, content, compared, cycles, tests FROM job WHERE passed = 1"):
            content, _, code = str(whole).partition(".")
            groups = [*self._rows("SELECT what, parameters, latency, count, first, last, test FROM "
                                  "observation WHERE job = ? ORDER BY rowid", name)]
            if made_here(code, *_seals(name, content, *facts, groups)):
                found[name] = content
        return found

    def observations(self, block: str, configuration: str) -> Iterator[tuple[str, Group]]:
        """All groups of requests, each with its job's name."""
        query = ("SELECT job.name, what, parameters, latency, count, first, last, test "
                 "FROM observation JOIN job ON job.name = observation.job "
                 "WHERE block = ? AND configuration = ? ORDER BY job.name, observation.rowid")
        for name, what, parameters, *rest in self._rows(query, block, configuration):
            thing = f"an observation of {shown(name)}"
            group = dict(zip(fields_of(Group), (cleaned(what), self._decoded(parameters, thing),
                                                *map(cleaned, rest)), strict=True))
            if wrong := row_misfit(group, Group, thing):
                raise self._refuse(wrong)
            yield name, Group(**group)

    def kinds(self) -> dict[tuple[str, str, str], set[str]]:
        """By block, configuration and request, the kinds that were observed, as JSON.

        Those of which a request has ended: a count of 0 is one that has not.
        """
        query = ("SELECT DISTINCT block, configuration, what, parameters FROM observation "
                 "JOIN job ON job.name = observation.job WHERE count > 0")
        kinds: dict[tuple[str, str, str], set[str]] = {}
        for row in self._rows(query):
            thing = f"an observation of {shown(row[0])} {shown(row[1])}"
            parameters = self._decoded(row[3], thing)
            if wrong := (misfit(row[:3], tuple[str, str, str], thing)
                         or misfit(parameters, dict[str, int], thing)):
                raise self._refuse(wrong)
            kinds.setdefault(tuple(map(cleaned, row[:3])), set()).add(
                json.dumps(parameters, sort_keys=True))
        return kinds

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table of `ROWS`, in the order of keeping."""
        if table not in ROWS:
            raise ValueError(f"no table of rows called {table!r}")
        rows = []
        for number, (text,) in enumerate(self._rows(
                f"SELECT row FROM {table} ORDER BY rowid"), 1):
            thing = f"{table} row {number}"
            row = self._decoded(text, thing)
            wrong = row_misfit(row, ROWS[table], thing)
            if not wrong and table in _WORDS:
                name, words = _WORDS[table]
                if row[name] not in words:
                    wrong = (f"{name} of {thing} must be one of {', '.join(words)}, "
                             f"not {shown(row[name])}")
            if not wrong and table == "verdict":
                wrong = next(filter(None, (
                    misfit(row[name], kind, f"{name} of {thing}")
                    for name, kind in (("histogram", list[tuple[int, int]]),
                                       ("points", list[tuple[int, int]]),
                                       ("ratios", list[float]), ("sums", list[int])))), None)
                if not wrong and row["mutation"]:
                    wrong = row_misfit(row["mutation"], _Mutation, f"mutation of {thing}")
                if not wrong and len(row["sums"]) not in (0, 2):
                    wrong = f"sums of {thing} must be two, not {len(row['sums'])}"
                if not wrong and row["tightest"]:
                    wrong = row_misfit(row["tightest"], _Tightest, f"tightest of {thing}")
                if not wrong and len(row["ratios"]) not in (0, 3):
                    wrong = f"ratios of {thing} must be three, not {len(row['ratios'])}"
            if not wrong and table == "proof":
                wrong = misfit(row["claims"], list[tuple[str, dict[str, object], int]],
                               f"claims of {thing}")
                if not wrong and row["certificate"]:
                    wrong = row_misfit(row["certificate"], Certificate, f"certificate of {thing}")
            if wrong:
                raise self._refuse(wrong)
            rows.append(row)
        return rows

    def waveforms(self) -> dict[tuple[str, str, str], tuple[str, str, str]]:
        """(block, configuration, bound) -> (lanes, command, key)."""
        waveforms = {}
        for row in self._rows("SELECT * FROM waveform"):
            if wrong := misfit(row, tuple[str, str, str, str, str, str], "a waveform row"):
                raise self._refuse(wrong)
            waveforms[row[:3]] = tuple(map(cleaned, row[3:]))
        return waveforms


def _no_number(word: str) -> None:
    raise ValueError(f"JSON has no number {word}")


def _tables(base: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Kind, name and definition of all that a database holds."""
    return frozenset((kind, name, " ".join(sql.split())) for kind, name, sql in base.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


@functools.cache
def _own_tables() -> frozenset[tuple[str, str, str]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.executescript(_SCHEMA)
        return _tables(base)


def unproved(proofs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of proofs that show less than was asked for.

    They have a counterexample, or hold no further than their bounded check, though induction was
    asked for.
    """
    return [row for row in proofs
            if row["status"] == "failed" or (row["status"] == "bounded" and row.get("asked"))]
