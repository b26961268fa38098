"""Runs the simulator of a job in the job's folder, and reads what it has left there.

What comes out depends on the simulator, on the folder's ``job.json``, on the testbench, and on this
file: `cyclebound.sim.run.outcomes` keeps it by just these.
"""

import ctypes
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import cocotb_tools.config
import find_libpython

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.folders import fresh
from cyclebound.sim.run.observations import Misdeclared, ProbeRecords, grouped, read_requests
from cyclebound.tb import reads
from cyclebound.tb.probe import PRINTED

__all__ = ["HANGS", "Group", "Outcome", "Task", "die_with_parent", "job_environment", "outcome_of",
           "reason_of", "run"]


class Task(Protocol):
    """The fields of a job that the simulator needs; see `cyclebound.sim.run.job.Job`."""

    @property
    def name(self) -> str: ...
    @property
    def test(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def simulator(self) -> str: ...
    @property
    def wall_limit(self) -> float: ...


@dataclass(frozen=True)
class Group:
    """Requests of one kind, with equal parameters and equal latency; one of them by its cycles.

    ``first`` and ``last`` count from the start of ``test``, so that they hold for a run of that
    test alone. ``test`` is empty where no test shows it. A ``count`` of 0 is one that has not
    ended; with a latency of 0, a kind that was declared and of which none has ended.
    """

    what: str
    parameters: dict[str, int]
    latency: int
    count: int
    first: int
    last: int
    test: str

    @property
    def only_declared(self) -> bool:
        return not self.count and not self.latency


@dataclass
class Outcome:
    """The outcome of a job.

    Attributes
    ----------
    reason : str
        Why it failed; of a job that passed, which of its tests were skipped, and which measured
        nothing after a reset.
    compared, bits : int
        Comparisons with a model, and the bits of outputs in them
        (`cyclebound.tb.bench.Bench.compared`).
    tests : list of (str, bool)
        The tests that ran, and whether each passed.
    ran : str
        If it was kept from an earlier run, when it ran.
    content : str
        Stands for all that it depends on; empty if that is not known.
    layer : str
        Of a job that failed, which layer of checks noticed: ``comparison`` with a model,
        ``assertion`` of a checker, ``hang``, or ``testbench``, which is anything else that a test
        asks for at its end.
    """

    name: str
    passed: bool
    reason: str = ""
    groups: list[Group] = field(default_factory=list)
    compared: int = 0
    cycles: int = 0
    build_seconds: float = 0.0
    run_seconds: float = 0.0
    cached: bool = False
    waveform: str | None = None
    tests: list[tuple[str, bool]] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    ran: str = ""
    content: str = ""
    bits: int = 0
    layer: str = ""


# variables with which cocotb would leave out tests that the job has to run
_SELECTS = {"COCOTB_TEST_FILTER", "COCOTB_TESTCASE", "COCOTB_LIST_TESTS", "COCOTB_MAX_FAILURES"}


def library_path() -> dict[str, str]:
    """The environment in which a simulator finds cocotb's libraries, wherever they are installed.

    A path in the executable would tie it to one environment; without, all share the cache.
    """
    name = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
    before = [path for path in [os.environ.get(name)] if path]
    return {name: os.pathsep.join([str(cocotb_tools.config.libs_dir), *before])}


def job_environment(job: Task, folder: Path, module: str,
                    tests: Mapping[str, Sequence[str]] | None = None) -> dict[str, str]:
    """The environment in which a simulator runs the testbench ``module``.

    Parameters
    ----------
    folder : Path
        For what it leaves.
    tests : mapping or None
        ``only`` these tests of the module, or all of them ``without`` these; see
        `cyclebound.sim.describe.block.Testbench`. A job of one test runs that.
    """
    chosen = _filter(job.test, **tests or {})
    inherited = {name: value for name, value in os.environ.items() if name not in _SELECTS}
    return {
        **inherited, **library_path(),
        "CYCLEBOUND_JOB": str((folder / "job.json").resolve()),
        "COCOTB_TOPLEVEL": "top", "TOPLEVEL_LANG": "verilog",
        "COCOTB_TEST_MODULES": f"{reads.__name__},{module}",
        **({"COCOTB_TEST_FILTER": chosen} if chosen else {}),
        "COCOTB_RESULTS_FILE": str((folder / "cocotb.xml").resolve()),
        "COCOTB_RANDOM_SEED": str(job.seed),
        # Verilator applies writes at once, which saves a phase; with Icarus they would race.
        "COCOTB_TRUST_INERTIAL_WRITES": "1" if job.simulator == "verilator" else "0",
        # Icarus knows X. Where a testbench does not look it may be there; where it looks, a random
        # value is not the one expected.
        "COCOTB_RESOLVE_X": "random",
        "COCOTB_ANSI_OUTPUT": "0",
        # cocotb has pytest say what an assertion compared; plugins of pytest's have no part in it.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{find_libpython.find_libpython()};{cocotb_tools.config.pygpi_entry_point()}",
    }


def _filter(test: str, only: Sequence[str] = (), without: Sequence[str] = ()) -> str:
    """The regular expression of names of tests that cocotb is to run; empty: all of them."""
    if test or only:
        return rf"\.({test or '|'.join(only)})$"
    return rf"^(?!.*\.({'|'.join(without)})$)" if without else ""


def run(job: Task, command: Sequence[str], folder: Path, module: str) -> Outcome:
    """Run the simulator that ``command`` starts; ``folder`` has the job's ``job.json``."""
    results = folder / "cocotb.xml"
    printed = folder / PRINTED
    for written in (results, printed, folder / "log.txt", folder / reads.FILE):
        written.unlink(missing_ok=True)  # a link would be written through
    asked = json.loads((folder / "job.json").read_text())
    started = time.monotonic()
    with (folder / "log.txt").open("w") as log, printed.open("w") as requests:
        # cocotb imports from the current folder first: an empty one, whatever lies in the job's
        process = subprocess.Popen(command, cwd=fresh(folder / "cwd"), stdout=log,
                                   stderr=requests, stdin=subprocess.DEVNULL,
                                   env=job_environment(job, folder, module, asked.get("tests")),
                                   start_new_session=True,
                                   preexec_fn=functools.partial(die_with_parent, os.getpid()))
        try:
            status = process.wait(job.wall_limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:  # also on Ctrl-C
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    outcome = outcome_of(job, folder, status)
    outcome.run_seconds = time.monotonic() - started
    return outcome


def outcome_of(job: Task, folder: Path, status: int | None) -> Outcome:
    """The results that a simulator left in ``folder``, and whether the job has passed.

    ``status`` is that of its process, None if it was stopped after the job's limit.
    """
    outcome = Outcome(job.name, True)
    asked = json.loads((folder / "job.json").read_text())
    printed = read_requests(folder / PRINTED, asked["printed"])
    with (folder / "log.txt").open("a") as log:
        log.writelines(printed.others)
    metas = [_whole(path) for path in sorted(folder.glob("observed-*.json"))]
    lost = printed.lost_of({meta["counted"] for meta in metas} - {None})
    raised, silent, wrong = _read_observed(metas, outcome, [] if lost else printed.requests)
    _judge(outcome, folder / "cocotb.xml", status, folder / "log.txt", job.wall_limit,
           observes=asked["observes"] and not job.test,
           compares=asked["compares"], alone=bool(job.test), raised=raised, silent=silent,
           lost=lost, wrong=wrong,
           uncounted=[meta["test"] for meta in metas
                      if asked["printed"] and meta["counted"] is None],
           named=() if job.test else asked.get("tests", {}).get("only", ()))
    if lost or status == reads.UNWRITTEN:
        outcome.groups = []
    return outcome


def _whole(path: Path) -> dict:
    """What a test has left. Raises `UserError` if that is not whole."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not what a test has left: {error}") from error


HANGS = "still ran after"
"""Said of a test, or a simulator, that did not end."""

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # not to be loaded after a fork


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when ``parent``, which started it, ends (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # gone already
            os._exit(1)


def _read_observed(metas: Iterable[Mapping], outcome: Outcome, seen: Sequence[ProbeRecords]
                   ) -> tuple[dict[str, str], list[str], list[str]]:
    """Fill in what tests observed.

    Return the exceptions that ended tests, by the test's name, the tests that measured nothing
    after the last reset that interrupted them, and what tests declared and hardware did not see.
    """
    raised: dict[str, str] = {}
    silent, wrong = [], []
    for meta in metas:
        outcome.compared += meta["compared"]
        outcome.bits += meta["bits"]
        outcome.cycles += meta["cycles"]
        outcome.starts[meta["test"]] = meta["start"]
        if meta.get("raised"):
            raised[meta["test"]] = meta["raised"]
        try:
            outcome.groups += [Group(*row, meta["test"]) for row in grouped(seen, meta)]
        except Misdeclared as error:
            wrong.append(f"{meta['test']}: {error}")
            continue
        if meta.get("again") is not None:
            later = grouped(seen, {**meta, "start": meta["start"] + meta["again"]})
            if not any(count for _, _, _, count, *_ in later):
                silent.append(meta["test"])
    return raised, silent, wrong


# what cocotb logs of a test that fails, or raises, as its decorator says: test and exception
_COLOUR = r"(?:\x1b\[[\d;]*m)?"
_EXPECTED = re.compile(rf"cocotb\.regression .*?(\w+) {_COLOUR}x?(?:pass|fail)ed{_COLOUR}: "
                       r"(?:failed|errored) as expected \(result was (\w+)\)")
# what Verilator prints where an `Assert` or `Assume` does not hold: message, time in ps, module
_ASSERTED = re.compile(r"^(.*)\[(\d+)\] %Error: .*Assertion failed in ([\w.]+)", re.MULTILINE)


def _judge(outcome: Outcome, results: Path, status: int | None, log: Path, limit: float, *,
           observes: bool, compares: bool, alone: bool, named: Sequence[str] = (),
           raised: Mapping[str, str], silent: Sequence[str] = (), lost: str = "",
           uncounted: Sequence[str] = (), wrong: Sequence[str] = ()) -> None:
    """Fill in whether the job passed, and if not, why; all tests that are ``named`` have to run.

    A job that compared nothing has failed, unless another program compares what it leaves
    (``compares``). Of one test ``alone``, requests that it made are enough.

    Nothing passes of which observations were ``lost``, whose test ended before probes had counted
    them (``uncounted``), or of which a test declared what is ``wrong``. A test that an exception
    ended (``raised``) has not passed, whatever cocotb was told to expect. One that measured nothing
    after it was interrupted (``silent``) is only told.
    """
    text = log.read_text(errors="replace")
    # of cocotb's own tests, those without a `Bench`, only the log says so
    raised = dict(_EXPECTED.findall(text)) | dict(raised)
    asserted = [
        f"{message.strip() or 'an assertion failed'} (asserted by {module} at "
        f"{int(time) / 1000:g} ns)" for message, time, module in _ASSERTED.findall(text)[:1]]
    # an assertion ends its test and all after it, which say nothing of their own
    skipped, of_tests = _tests(outcome, results, raised, told=not asserted)
    failed = next((name for name, passed in outcome.tests if not passed), None)
    reasons = [f"{failed}: {reason}" if failed else reason for reason in asserted]
    if status == reads.UNWRITTEN:
        reasons.append(f"the simulator could not write to {results.parent}: the disk is full, or a "
                       "limit on files was reached; what it had observed is lost")
    elif lost:
        reasons.append(lost)
    if status is None:
        reasons.append(f"the simulator still ran after {limit:g} s, and was stopped")
    reasons += of_tests
    left_out = f"skipped: {', '.join(skipped)}" if skipped else ""
    observed = any(not group.only_declared for group in outcome.groups)
    if not reasons:
        first = filter(None, (
            _not_as_told(outcome, status, text, log, named, skipped),
            *(f"observations were lost: {name} ended without a count of them"
              for name in uncounted),
            *wrong,
            _nothing_seen(outcome, observed, observes=observes,
                          compares=compares and not (alone and observed))))
        reasons += [*first][:1]
    outcome.passed = not reasons
    if reasons:
        outcome.layer = ("assertion" if asserted else "hang" if status is None or HANGS in
                         reasons[0] else "comparison" if "Mismatch" in raised.values()
                         else "testbench")
    if silent and observes:
        left_out = "; ".join([*filter(None, [left_out]),
                              f"nothing measured after the last reset: {', '.join(silent)}"])
    outcome.reason = "; ".join(reasons) or left_out


def _tests(outcome: Outcome, results: Path, raised: Mapping[str, str], *, told: bool
           ) -> tuple[list[str], list[str]]:
    """Fill in which tests ran, and which passed.

    Return the names of those that were skipped, and why others did not pass; what they say
    themselves only if it is to be ``told``.
    """
    try:
        cases = [*ElementTree.parse(results).getroot().iter("testcase")]
    except (OSError, ElementTree.ParseError):
        cases = []
    skipped, reasons = [], []
    for case in cases:
        name = case.get("name", "?")
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        if any(child.tag == "skipped" for child in case):
            skipped.append(name)
            continue
        unexpected = raised.get(name, "") if problem is None else ""
        outcome.tests.append((name, problem is None and not unexpected))
        if unexpected:
            reasons.append(f"{name}: ended by {unexpected}, which it takes for a pass")
        if problem is not None and told:
            said = problem.get("error_msg") or problem.get("message") or problem.text or ""
            reasons.append(f"{name}: {reason_of(said)}")
    return skipped, reasons


def _not_as_told(outcome: Outcome, status: int | None, text: str, log: Path,
                 named: Sequence[str], skipped: Sequence[str]) -> str:
    """Why a simulator of which no test failed has still not run what it was to run; or nothing."""
    left_out = f"skipped: {', '.join(skipped)}"
    if not status and skipped and not outcome.tests:
        return f"no test ran; {left_out}"
    if status or not outcome.tests:
        imported = "" if outcome.tests else _raised(text)
        ended = f"was ended by {signal.Signals(-status).name}" if status and status < 0 else \
            f"ended with status {status}"
        return (f"{imported or f'the simulator {ended}'}"
                f"{'' if outcome.tests or imported else ' and reported no test'}; see {log}")
    ran = {name.partition("/")[0] for name, _ in outcome.tests}
    if missing := [name for name in named if name not in ran]:
        known = {name.partition("/")[0] for name in skipped}
        unknown = [name for name in missing if name not in known]
        return (f"the testbench has no test called {', '.join(unknown)}" if unknown else
                f"tests that have to run were {left_out}")
    return next((line.strip() for line in text.splitlines() if line.startswith("%Error")), "")


def _nothing_seen(outcome: Outcome, observed: bool, *, observes: bool, compares: bool) -> str:
    """What a job that passed has not done, and had to; or nothing."""
    if observes and not observed:
        return "0 requests observed"
    if compares and not outcome.compared:
        return ("0 comparisons: nothing that the hardware shows or leaves was compared with a "
                "model (Bench.check, Bench.compare)")
    return ""


def reason_of(said: str) -> str:
    """The message of a failed test, in one line.

    Of an ``assert`` its message, which stands before the comparison that pytest writes out; of
    anything else the last line.
    """
    lines = said.strip().splitlines() or ["failed"]
    compared = next((n for n, line in enumerate(lines) if line.startswith("assert ")), None)
    return lines[-1] if compared is None else lines[max(compared - 1, 0)]


def _raised(text: str) -> str:
    """The exception with which a testbench failed to import: the last that a log tells of."""
    told = text.rpartition("Traceback (most recent call last):\n")[2] if "Traceback" in text else ""
    error = re.search(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)$", told,
                      re.MULTILINE)
    where = re.findall(r'^ *File "([^"]+)", line (\d+)', told, re.MULTILINE)
    if not error or not where:
        return ""
    path, line = where[-1]
    return f"the testbench does not import: {Path(path).name}:{line}: {error[1].strip()[:300]}"
