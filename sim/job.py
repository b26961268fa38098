"""One job: a block, a configuration, a testbench and a seed, in a folder of its own.

`run_job` is all that a worker does, in a process pool or on a cluster: it builds (or finds the
build), simulates, and returns plain data.
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
import traceback
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import cocotb_tools.config
import find_libpython
import numpy as np
from amaranth.lib import wiring

from cyclebound.sim import catalogue
from cyclebound.sim.block import Block, Configuration, Testbench
from cyclebound.sim.build import (
    Build,
    BuildError,
    build_verilator,
    library_path,
    trace_format,
)
from cyclebound.sim.cache import key_of
from cyclebound.sim.elaborate import FlatTop, fields_json, leave_unused
from cyclebound.sim.errors import UserError
from cyclebound.sim.folders import fresh
from cyclebound.sim.observations import Seen, grouped, read_requests
from cyclebound.sim.sources import sources
from cyclebound.sim.variant import UNCHANGED, Changes, varied
from cyclebound.tb.expression import ExpressionError
from cyclebound.tb.probe import PRINTED, Probe

__all__ = ["PRINTED", "Group", "Job", "Outcome", "design", "die_with_parent", "job_environment",
           "outcome_of", "reason_of", "run_job", "simulate", "write_job"]



@dataclass(frozen=True)
class Job:
    """What to run. Plain data: it travels to other processes and machines.

    Attributes
    ----------
    test : str
        Run only this test of the testbench; empty: all.
    wall_limit : float
        Seconds after which the simulator is taken to hang, and stopped.
    pages : tuple[str, ...]
        Catalogue pages besides this project's own, as module names.
    changes : Changes
        Parameters with other values than the catalogue's; ``configuration`` is one of `varied`.
    """

    block: str
    configuration: str
    testbench: str
    seed: int
    folder: str
    waves: bool = False
    test: str = ""
    simulator: str = "verilator"
    wall_limit: float = 900.0
    pages: tuple[str, ...] = ()
    changes: Changes = UNCHANGED

    @property
    def name(self) -> str:
        return f"{self.block}/{self.configuration}/{self.testbench}/{self.seed}"


@dataclass(frozen=True)
class Group:
    """Requests of one kind, with equal parameters and equal latency; one of them by its cycles.

    ``first`` and ``last`` count from the start of ``test``, so that they hold for a run of that
    test alone. Requests that hardware counted have no such witness; ``test`` is empty then.
    """

    what: str
    parameters: dict[str, int]
    latency: int
    count: int
    first: int
    last: int
    test: str


@dataclass
class Outcome:
    """What became of a job."""

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


def run_job(job: Job) -> Outcome:
    """Build and simulate. Never raises for what the block or its testbench did wrong."""
    try:
        block = varied(catalogue.load(job.pages).find(job.block), job.changes).block
        # All sources of this project's blocks are known; a user's may import from anywhere.
        return simulate(block, job, identity=None if job.pages else identity_of(job))
    except (UserError, ExpressionError) as error:
        return Outcome(job.name, False, str(error))
    except OSError as error:
        return Outcome(job.name, False, f"{error.filename or job.folder}: "
                                        f"{error.strerror or error}")
    except Exception as error:  # a worker must hand every failure back, whatever it is
        if job.changes and isinstance(error, TypeError | ValueError):  # of what is inside the block
            return Outcome(job.name, False, job.changes.without_paths(f"cannot be: {error}"))
        return Outcome(job.name, False, traceback.format_exc(limit=8))


def identity_of(job: Job) -> str:
    """What stands for all that a job of this project's own blocks is made from."""
    return key_of(sources(()), job.block, job.configuration, job.testbench,
                  *([asdict(job.changes)] if job.changes else []))


def design(block: Block, job: Job) -> tuple[wiring.Component, FlatTop]:
    """What the job simulates: the component, and the top that it is in, with its checker."""
    testbench = block.testbench(job.testbench)
    parameters = dict(block.configuration(job.configuration)[1].parameters)
    component = (testbench.top or block.component)(**parameters)
    watches = testbench.checker or (None if testbench.top else block.checker)
    probed = testbench.probed(component) if testbench.probed else (
        None if testbench.top else component)
    return component, FlatTop(component, watches(component) if watches else None,
                              probes=(probes_of(block, job.configuration)
                                      if probed is not None else None),
                              probed=probed, classed=_classed(block, parameters))


def _classed(block: Block, parameters: Mapping[str, object]) -> Iterator[str]:
    """Probes whose bounds ask for what neither the configuration says nor ports show."""
    for entry in block.bounds:
        if entry.probe is not None:
            known = {*parameters, *entry.probe.request}
            if entry.probe.classed or entry.probe.declared() or entry.bound.required() - known:
                yield entry.what


def probes_of(block: Block, configuration: str) -> dict[str, Probe]:
    """The probes of the bounds on what this configuration does, by what they see."""
    return {entry.what: entry.probe for entry in block.bounds if entry.probe is not None
            and (not entry.configurations or configuration in entry.configurations)}


def simulate(block: Block, job: Job, *, identity: str | None = None) -> Outcome:
    """Build ``block`` as the job says, and run its testbench.

    ``identity`` stands for all that the block is made from; see `build_verilator`.
    """
    configuration = block.configuration(job.configuration)[1]
    testbench = block.testbench(job.testbench)
    folder = Path(job.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("observed-*"):
        old.unlink()
    for picture in block.pictures:  # a test may add to what another one left
        if picture.kept:
            (folder / picture.kept).unlink(missing_ok=True)
    component, top = design(block, job)
    write_job(folder, job, configuration, testbench, component, top)
    try:
        if job.simulator == "icarus":
            from cyclebound.sim.icarus import build_icarus
            build = build_icarus(top, ports=top.ports, waves=job.waves)
        else:
            build = build_verilator(top, ports=top.ports,
                                    trace=trace_format() if job.waves else None,
                                    identity=identity)
    except BuildError as error:
        return Outcome(job.name, False, str(error))
    leave_unused(top)  # a known build is not elaborated
    outcome = _run(job, build, folder, testbench, top)
    outcome.cached, outcome.build_seconds = build.cached, build.seconds
    return outcome


def write_job(folder: Path, job: Job, configuration: Configuration, testbench: Testbench,
              component: wiring.Component, top: FlatTop, **more: object) -> None:
    """Write what `cyclebound.tb.bench.Bench` reads; ``more`` is for it, too."""
    (folder / "job.json").unlink(missing_ok=True)  # a link would be written through
    (folder / "job.json").write_text(json.dumps({
        "parameters": dict(configuration.parameters), "seed": job.seed,
        "max_cycles": testbench.max_cycles,
        "domain": {name: (min(values), max(values))
                   for name, values in configuration.values.items()},
        "folder": str(folder.resolve()), "fields": json.loads(fields_json(component)),
        "probes": {name: [*top.places(name)] for name in top.probes},
        "declared": top.declared_fields(), "observes": testbench.observes, **more}))


def job_environment(job: Job, folder: Path, testbench: Testbench) -> dict[str, str]:
    """The environment in which a simulator runs ``testbench``, with ``folder`` for what it leaves.
    """
    return {
        **os.environ, **library_path(),
        "CYCLEBOUND_JOB": str((folder / "job.json").resolve()),
        "COCOTB_TOPLEVEL": "top", "TOPLEVEL_LANG": "verilog",
        "COCOTB_TEST_MODULES": testbench.module,
        **({"COCOTB_TEST_FILTER": rf"\.{job.test}$"} if job.test else {}),
        "COCOTB_RESULTS_FILE": str((folder / "cocotb.xml").resolve()),
        "COCOTB_RANDOM_SEED": str(job.seed),
        # Verilator applies writes at once, which saves a phase; with Icarus they would race.
        "COCOTB_TRUST_INERTIAL_WRITES": "1" if job.simulator == "verilator" else "0",
        # Icarus knows X. Where a testbench does not look it may be there; where it looks, a random
        # value is not the one expected.
        "COCOTB_RESOLVE_X": "random",
        "COCOTB_ANSI_OUTPUT": "0",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYGPI_PYTHON_BIN": sys.executable,
        "GPI_USERS": f"{find_libpython.find_libpython()};{cocotb_tools.config.pygpi_entry_point()}",
    }


def _run(job: Job, build: Build, folder: Path, testbench: Testbench, top: FlatTop) -> Outcome:
    results = folder / "cocotb.xml"
    printed = folder / PRINTED
    for written in (results, printed, folder / "log.txt"):  # a link would be written through
        written.unlink(missing_ok=True)
    waveform = folder / f"wave.{build.trace}" if build.trace else None
    started = time.monotonic()
    with (folder / "log.txt").open("w") as log, printed.open("w") as requests:
        # cocotb imports from the current folder first: an empty one, whatever lies in the job's
        process = subprocess.Popen(build.command(waveform), cwd=fresh(folder / "cwd"), stdout=log,
                                   stderr=requests, stdin=subprocess.DEVNULL,
                                   env=job_environment(job, folder, testbench),
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
    outcome = outcome_of(job, folder, status, top)
    outcome.run_seconds = time.monotonic() - started
    if waveform and waveform.exists():
        outcome.waveform = str(waveform)
    return outcome


def outcome_of(job: Job, folder: Path, status: int | None, top: FlatTop) -> Outcome:
    """What a simulator of ``top`` left in ``folder``, and whether the job has passed.

    ``status`` is that of its process, None if it was stopped after the job's limit.
    """
    outcome = Outcome(job.name, True)
    seen, others = read_requests(folder / PRINTED, top)
    with (folder / "log.txt").open("a") as log:
        log.writelines(others)
    _read_observed(folder, outcome, seen)
    _judge(outcome, folder / "cocotb.xml", status, folder / "log.txt", job.wall_limit,
           observes=json.loads((folder / "job.json").read_text())["observes"])
    return outcome


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # not to be loaded after a fork


def die_with_parent(parent: int) -> None:
    """Let the kernel stop this process when ``parent``, which started it, is gone (Linux only)."""
    if _LIBC is not None:
        _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # gone already
            os._exit(1)


def _read_observed(folder: Path, outcome: Outcome, seen: Sequence[Seen]) -> None:
    for path in sorted(folder.glob("observed-*.json")):
        meta = json.loads(path.read_text())
        outcome.compared += meta["compared"]
        outcome.cycles += meta["cycles"]
        outcome.starts[meta["test"]] = meta["start"]
        outcome.groups += [Group(*row, 0, 0, "") for row in meta["counted"]]
        outcome.groups += [Group(*row, meta["test"]) for row in grouped(seen, meta)]
        with np.load(path.with_suffix(".npz")) as arrays:
            for number, (what, parameters) in enumerate(meta["kinds"]):
                first, last, latencies = arrays[f"kind_{number}"]
                latency, index, count = np.unique(latencies, return_index=True,
                                                  return_counts=True)
                outcome.groups += [
                    Group(what, parameters, int(lat), int(n), int(first[i]), int(last[i]),
                          meta["test"])
                    for lat, i, n in zip(latency, index, count, strict=True)]


# what Verilator prints where an `Assert` or `Assume` does not hold: message, time in ps, module
_ASSERTED = re.compile(r"^(.*)\[(\d+)\] %Error: .*Assertion failed in ([\w.]+)", re.MULTILINE)


def _judge(outcome: Outcome, results: Path, status: int | None, log: Path, limit: float, *,
           observes: bool) -> None:
    """Fill in whether the job passed, and if not, why."""
    text = log.read_text(errors="replace")
    reasons = [f"{message.strip() or 'an assertion failed'} (asserted by {module} at "
               f"{int(time) / 1000:g} ns)" for message, time, module in _ASSERTED.findall(text)[:1]]
    asserted = bool(reasons)
    if status is None:
        reasons.append(f"the simulator still ran after {limit:g} s, and was stopped")
    try:
        cases = ElementTree.parse(results).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        cases = iter(())
    for case in cases:
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        outcome.tests.append((case.get("name", "?"), problem is None))
        if problem is not None and not asserted:  # an assertion ends this test and all after it
            said = problem.get("error_msg") or problem.get("message") or problem.text or ""
            reasons.append(f"{case.get('name')}: {reason_of(said)}")
    if asserted:
        failed = next((name for name, passed in outcome.tests if not passed), None)
        reasons[0] = f"{failed}: {reasons[0]}" if failed else reasons[0]
    if not reasons and (status or not outcome.tests):
        ended = f"ended with status {status}" if status is None or status >= 0 else \
            f"was ended by {signal.Signals(-status).name}"
        reasons.append(f"the simulator {ended}{'' if outcome.tests else ' and reported no test'}; "
                       f"see {log}")
    if not reasons:
        reasons += [line.strip() for line in text.splitlines() if line.startswith("%Error")][:1]
    if not reasons and not outcome.groups and (observes or not outcome.compared):
        reasons.append("0 requests observed" if observes else "0 cycles compared")
    outcome.reason = "; ".join(reasons)
    outcome.passed = not reasons


def reason_of(said: str) -> str:
    """What a failed test said, in a line.

    Of an ``assert`` its message, which stands before the comparison that pytest writes out; of
    anything else the last line.
    """
    lines = said.strip().splitlines() or ["failed"]
    compared = next((n for n, line in enumerate(lines) if line.startswith("assert ")), None)
    return lines[-1] if compared is None else lines[max(compared - 1, 0)]
