"""The results of a run: one SQLite file in the run's folder.

Each finished job is one transaction. A run that is killed at any moment keeps every job that had
finished; reports and comparisons only read.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cyclebound.sim.errors import UserError
from cyclebound.sim.job import Group, Job, Outcome

__all__ = ["FILE", "JobRow", "Results", "unproved"]

FILE = "results.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS job (
    name TEXT PRIMARY KEY, block TEXT, configuration TEXT, testbench TEXT, seed INTEGER,
    content TEXT, passed INTEGER, reason TEXT, compared INTEGER, cycles INTEGER,
    build_seconds REAL, run_seconds REAL, cached INTEGER, folder TEXT, waveform TEXT, tests TEXT);
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
    block TEXT, configuration TEXT, bound TEXT, svg TEXT, command TEXT, key TEXT,
    PRIMARY KEY (block, configuration, bound));
CREATE TABLE IF NOT EXISTS picture (
    block TEXT, configuration TEXT, name TEXT, row TEXT,
    PRIMARY KEY (block, configuration, name));
"""


@dataclass(frozen=True)
class JobRow:
    """A finished job, as the results hold it."""

    name: str
    block: str
    configuration: str
    testbench: str
    seed: int
    content: str
    passed: bool
    reason: str
    compared: int
    cycles: int
    build_seconds: float
    run_seconds: float
    cached: bool
    folder: str
    waveform: str | None
    tests: list


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
        base = None
        try:
            if create:
                self.folder.mkdir(parents=True, exist_ok=True)
            # not read-only: a writer that was killed may have left a transaction to roll back
            base = sqlite3.connect(path if create else path.resolve().as_uri() + "?mode=rw",
                                   uri=not create)
            base.execute("PRAGMA foreign_keys = ON")
            if create:
                with base:
                    base.executescript(_SCHEMA)
            base.execute("SELECT count(*) FROM job")
        except (OSError, sqlite3.Error) as error:
            if base is not None:
                base.close()
            raise UserError(f"cannot use {path}: {error}") from error
        self._base = base

    @contextmanager
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

    def finished(self, job: Job, outcome: Outcome, content: str) -> None:
        """Keep a job's outcome. ``content`` identifies what ran, for a run that is resumed."""
        with self._writing() as base:
            base.execute("DELETE FROM job WHERE name = ?", (job.name,))
            base.execute(
                "INSERT INTO job VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (job.name, job.block, job.configuration, job.testbench, job.seed, content,
                 outcome.passed, outcome.reason, outcome.compared, outcome.cycles,
                 outcome.build_seconds, outcome.run_seconds, outcome.cached, job.folder,
                 outcome.waveform, json.dumps(outcome.tests)))
            base.executemany(
                "INSERT INTO observation VALUES (?,?,?,?,?,?,?,?)",
                [(job.name, g.what, json.dumps(g.parameters, sort_keys=True), g.latency, g.count,
                  g.first, g.last, g.test) for g in outcome.groups])

    def _keep(self, table: str, keys: tuple, row: object) -> None:
        marks = ",".join("?" * (len(keys) + 1))
        with self._writing() as base:
            base.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})",
                         (*keys, json.dumps(asdict(row))))

    def verdict(self, row) -> None:
        """Keep a `cyclebound.sim.verdict.Verdict`."""
        self._keep("verdict", (row.block, row.configuration, f"{row.bound} {row.what}"), row)

    def judged(self, block: str, configuration: str, rows: Iterable) -> None:
        """Keep all `cyclebound.sim.verdict.Verdict`s of a configuration, in place of older ones."""
        with self._writing() as base:
            base.execute("DELETE FROM verdict WHERE block = ? AND configuration = ?",
                         (block, configuration))
            base.executemany("INSERT INTO verdict VALUES (?,?,?,?)", [
                (block, configuration, f"{row.bound} {row.what}", json.dumps(asdict(row)))
                for row in rows])

    def forget(self) -> None:
        """Drop all that was found out, because it is about other code."""
        with self._writing() as base:
            for table in ("job", "verdict", "proof", "fpga", "waveform", "picture"):
                base.execute(f"DELETE FROM {table}")

    def proof(self, row) -> None:
        """Keep a `cyclebound.sim.prove.Proof`."""
        instance = json.dumps(row.parameters, sort_keys=True)
        self._keep("proof", (row.block, row.property, instance), row)

    def fpga(self, row) -> None:
        """Keep a `cyclebound.sim.fpga.Figures`."""
        self._keep("fpga", (row.block, row.configuration, row.target), row)

    def waveform(self, block: str, configuration: str, bound: str, svg: str,
                 command: str, key: str = "") -> None:
        """Keep the picture of a worst request, and the command that simulates it again.

        ``key`` identifies the request, for a run that is resumed.
        """
        with self._writing() as base:
            base.execute("INSERT OR REPLACE INTO waveform VALUES (?,?,?,?,?,?)",
                         (block, configuration, bound, svg, command, key))

    def picture(self, row) -> None:
        """Keep a `cyclebound.sim.drawing.Drawing`."""
        self._keep("picture", (row.block, row.configuration, row.name), row)

    def absorb(self, folder: Path) -> None:
        """Take over all that the run in ``folder`` found out."""
        try:
            self._base.execute("ATTACH ? AS part", (str(Path(folder) / FILE),))
            with self._base as base:
                base.execute("DELETE FROM job WHERE name IN (SELECT name FROM part.job)")
                for table in ("job", "observation", "verdict", "proof", "fpga", "waveform",
                              "picture"):
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
    def meta(self) -> dict[str, object]:
        return {key: json.loads(value) for key, value in self._rows("SELECT key, value FROM meta")}

    def jobs(self) -> list[JobRow]:
        """All finished jobs, by name."""
        rows = self._rows("SELECT * FROM job ORDER BY name")
        return [JobRow(*row[:6], bool(row[6]), *row[7:12], bool(row[12]), *row[13:15],
                       json.loads(row[15])) for row in rows]

    def done(self) -> dict[str, str]:
        """Names of the jobs that passed, each with its content."""
        return dict(self._rows("SELECT name, content FROM job WHERE passed = 1"))

    def observations(self, block: str, configuration: str) -> Iterator[tuple[str, Group]]:
        """All groups of requests, each with its job's name."""
        query = ("SELECT job.name, what, parameters, latency, count, first, last, test "
                 "FROM observation JOIN job ON job.name = observation.job "
                 "WHERE block = ? AND configuration = ? ORDER BY job.name, observation.rowid")
        for name, what, parameters, *rest in self._rows(query, block, configuration):
            yield name, Group(what, json.loads(parameters), *rest)

    def rows(self, table: str) -> list[Mapping[str, object]]:
        """The rows of ``verdict``, ``proof``, ``fpga`` or ``picture``, in the order of keeping."""
        if table not in ("verdict", "proof", "fpga", "picture"):
            raise ValueError(f"no table of rows called {table!r}")
        return [json.loads(row) for (row,) in self._rows(
            f"SELECT row FROM {table} ORDER BY rowid")]

    def waveforms(self) -> dict[tuple[str, str, str], tuple[str, str, str]]:
        """(block, configuration, bound) -> (SVG, command, key)."""
        return {(b, c, n): (svg, command, key) for b, c, n, svg, command, key in
                self._rows("SELECT * FROM waveform")}


def unproved(proofs: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Those rows of proofs that show less than was asked for.

    They have a counterexample, or hold no further than their bounded check, though induction was
    asked for.
    """
    return [row for row in proofs
            if row["status"] == "failed" or (row["status"] == "bounded" and row.get("asked"))]
