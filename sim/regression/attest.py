"""An evidence package: what a run showed, of what code, with what tools, signed by who ran it.

`attest` writes a statement and a signature beside it (``ssh-keygen -Y sign``: the keys that people
have, and no network). `verify` checks the signature, then the run's files and this machine's
sources and packages against the statement, and runs a sample again that the verifier draws: a job
has to show the same requests with the same latencies, a proof the same verdict.
"""

import datetime
import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cyclebound.golden.user_files import in_bytes
from cyclebound.sim import catalogue
from cyclebound.sim.base import installed
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.secret import config_root
from cyclebound.sim.base.shape import cleaned
from cyclebound.sim.base.toolchain import versions
from cyclebound.sim.build.sources import all_files, commit, roots
from cyclebound.sim.regression.plan import ProofJob
from cyclebound.sim.regression.regress import prove_job
from cyclebound.sim.regression.results import FILE, Results
from cyclebound.sim.run.job import Group, Job
from cyclebound.sim.run.outcomes import outcome_of_job

__all__ = ["STATEMENT", "Check", "attest", "verify"]

VERSION = 1
_SPACE = "cyclebound"  # ssh-keygen's namespace: a signature for another use is none of a run
STATEMENT = "statement.json"
"""The name of a statement in its run's folder."""
# the results are told row by row
_LEFT_OUT = {"lock", FILE, f"{FILE}-journal", STATEMENT, f"{STATEMENT}.sig"}
_LARGEST = 256 << 20  # bytes of a statement
_FIELDS = {"version": int, "made": str, "commit": str, "sources": dict, "packages": dict,
           "everything": str, "compiler": str, "versions": dict, "run": dict, "jobs": list,
           "verdicts": list, "proofs": list, "fpga": list, "files": dict}
# what two runs of the same hardware may differ in
_TIMES = ("seconds", "cached", "trace")


@dataclass
class Check:
    """The result of a verification.

    Attributes
    ----------
    signer : str
        Who has signed, as ``ssh-keygen`` says it.
    wrong : list of str
        What is not as the statement says; empty: nothing.
    differs : list of str
        What this machine has that is different: sources and packages.
    ran : list of str
        The jobs and proofs that were run again.
    """

    signer: str = ""
    wrong: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)


def attest(run: Path, output: Path, key: Path | None = None) -> Path:
    """Write what the run in a folder showed to ``output``, and its signature beside it.

    Parameters
    ----------
    key : Path or None
        A private key of ssh's; None: one of the user's configuration, which is made at first.

    Returns the signature's path. Raises `UserError` if there is nothing to attest: no run, or one
    of other code than this.
    """
    statement = {"version": VERSION,
                 "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                 "commit": commit(), **_machine(), **_of_run(run)}
    signature = output.with_name(f"{output.name}.sig")
    try:
        output.write_text(json.dumps(statement, indent=1, sort_keys=True) + "\n")
        signature.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror or error}") from error
    _keygen(["-Y", "sign", "-f", str(key or _own_key()), "-n", _SPACE, str(output)])
    return signature


def verify(statement: Path, run: Path | None = None, *, signers: Path | None = None,
           signer: str = "", sample: int = 0, seed: int = 0,
           tell: Callable[[str], None] = lambda what: None) -> Check:
    """Check a statement: its signature, the run that it is about, and a sample of it run again.

    Parameters
    ----------
    run : Path or None
        The run's folder; None: it is not looked at.
    signers : Path or None
        Who may sign, as ssh's ``allowed_signers``; None: anyone, whose key is told.
    signer : str
        Which of them has to have signed; empty: any.
    sample : int
        Number of jobs and proofs that are run again.
    seed : int
        Which ones: drawn by the verifier, after the statement was written.
    tell : callable
        Is told of each before it runs.
    """
    told = _read(statement)
    check = Check(_signed(statement, signers, signer))
    if run is not None:
        check.wrong += _differences(told, _of_run(run), ("run", "jobs", "verdicts", "proofs",
                                                         "fpga", "files"))
    check.differs = _differences(told, _machine(), ("sources", "packages", "everything",
                                                    "compiler"))
    since = time.time()
    chosen = [("job", job) for job in told["jobs"] if job["passed"]] + [
        ("proof", proof) for proof in told["proofs"] if proof["status"] == "proved"]
    if not chosen and sample:
        raise UserError(f"{statement} has no job that passed, and no proof, to run again")
    for kind, row in random.Random(seed).sample(chosen, min(sample, len(chosen))):
        name = row["name"] if kind == "job" else _proof_name(row)
        tell(name)
        check.ran.append(name)
        again = _job_again(told, row, since) if kind == "job" else _proof_again(row, since)
        check.wrong += [f"{name}: {what}" for what in again]
    return check


# -- the statement ---------------------------------------------------------------------------------


def _machine() -> dict[str, Any]:
    """Sources, packages and tools, by content."""
    packages = {name: digest for place in reversed(installed.contents())
                for name, digest in place.items()}
    return {"sources": _sources(), "packages": packages, "everything": installed.everything(),
            "compiler": installed.compiler_content(), "versions": versions()}


def _sources() -> dict[str, str]:
    folders = roots()
    return {next(f"{package.partition('.')[2]}/{path.relative_to(folder)}"
                 for package, folder in folders.items() if path.is_relative_to(folder)):
            installed.digest(path) for path in all_files()}


def _of_run(run: Path) -> dict[str, Any]:
    """What a run showed: each job with a hash of its requests, verdicts, proofs, and its files."""
    with closing(Results(run)) as results:
        meta = results.meta
        rows = {job.name: job for job in results.jobs()}
        groups: dict[str, list[Group]] = {name: [] for name in rows}
        for block, configuration in sorted({(job.block, job.configuration)
                                            for job in rows.values()}):
            for name, group in results.observations(block, configuration):
                groups[name].append(group)
        jobs = [{"name": job.name, "block": job.block, "configuration": job.configuration,
                 "testbench": job.testbench, "seed": job.seed, "passed": job.passed,
                 "reason": job.reason, "content": job.content, "outcome": job.outcome,
                 "ran": job.ran, **_shown(job.compared, job.cycles, job.tests, groups[job.name])}
                for job in rows.values()]
        tables = {name: [_steady(row) for row in results.rows(table)]
                  for name, table in (("verdicts", "verdict"), ("proofs", "proof"),
                                      ("fpga", "fpga"))}
    if not jobs:
        raise UserError(f"{run} has no finished job to attest")
    facts = ("seed", "simulator", "code", "planned", "level", "commit", "options", "created")
    return {"run": {name: meta.get(name) for name in facts}, "jobs": jobs, **tables,
            "files": {str(path.relative_to(run)): installed.digest(path) for path in _files(run)}}


def _shown(compared: int, cycles: int, tests: Iterable, groups: Iterable[Group]) -> dict[str, Any]:
    """What a job showed: the same wherever it runs."""
    requests = sorted(json.dumps(asdict(group), sort_keys=True) for group in groups)
    return {"compared": compared, "cycles": cycles, "tests": [list(test) for test in tests],
            "requests": hashlib.sha256("\n".join(requests).encode()).hexdigest()}


def _steady(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _steady(value) if name == "certificate" else value
            for name, value in row.items() if name not in _TIMES}


def _files(run: Path) -> list[Path]:
    """The files of a run: logs, observations, waveforms, reports. Links are not followed."""
    found = []
    for here, folders, names in os.walk(run):
        folders.sort()
        found += [path for name in sorted(names) if (path := Path(here, name)).is_file()
                  and not path.is_symlink() and not (Path(here) == run and name in _LEFT_OUT)]
    return found


def _read(path: Path) -> dict[str, Any]:
    """A statement. Raises `UserError` if this is none."""
    try:
        if path.stat().st_size > _LARGEST:
            raise UserError(f"{path} is larger than {in_bytes(_LARGEST)}")
        told = cleaned(json.loads(path.read_bytes()))
        kinds = {name: type(told[name]) for name in _FIELDS}
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f"{path} is no statement of a run: {error!r}") from None
    if kinds != _FIELDS or told["version"] != VERSION:
        raise UserError(f"{path} is no statement of a run of version {VERSION}")
    rows = [("jobs", row, ("name", "block", "configuration", "testbench", "seed", "passed",
                           "requests", "compared", "cycles", "tests")) for row in told["jobs"]] + [
        ("proofs", row, ("block", "property", "parameters", "status")) for row in told["proofs"]]
    for thing, row, names in rows:
        if not isinstance(row, dict) or not set(names) <= row.keys():
            raise UserError(f"{path} is no statement of a run: a row of {thing} is not whole")
    return told


def _differences(told: Mapping[str, Any], found: Mapping[str, Any], names: Iterable[str]
                 ) -> list[str]:
    """What of these is not as told, each in a line."""
    lines = []
    for name in names:
        was, now = (_by_name(side[name]) for side in (told, found))
        if not isinstance(was, dict) or not isinstance(now, dict):
            lines += [f"{name} is another"] * (was != now)
            continue
        for key in sorted({*was, *now}):
            if key not in was or key not in now:
                lines.append(f"{name}: {key} is {'new' if key in now else 'not there'}")
            elif was[key] != now[key]:
                lines.append(f"{name}: {key} differs")
    return lines


def _by_name(value: Any) -> Any:
    """Rows by what they are of."""
    if not isinstance(value, list):
        return value
    names = "name", "block", "configuration", "bound", "what", "property", "target"
    return {" ".join([*(str(row[name]) for name in names if row.get(name) is not None),
                      *([str(row["parameters"])] if "property" in row else [])]): row
            for row in value}


# -- again -----------------------------------------------------------------------------------------


def _job_again(told: Mapping[str, Any], row: Mapping[str, Any], since: float) -> list[str]:
    """What a job does not show again."""
    options = told["run"].get("options") or {}
    if options.get("pages") or options.get("changes"):
        raise UserError("a run with pages of a user's, or with --set or --part, cannot be sampled")
    catalogue.load().find(row["block"])
    folder = tempfile.mkdtemp(prefix="cyclebound-again-")
    try:
        outcome = outcome_of_job(Job(row["block"], row["configuration"], row["testbench"],
                                     row["seed"], folder,
                                     simulator=str(told["run"].get("simulator"))), since)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not outcome.passed:
        return [f"failed now: {outcome.reason}"]
    shown = _shown(outcome.compared, outcome.cycles, outcome.tests, outcome.groups)
    return [f"{name} {'are' if name in ('tests', 'requests') else 'is'} not the same"
            for name, value in shown.items() if value != row[name]]


def _proof_again(row: Mapping[str, Any], since: float) -> list[str]:
    """What a proof does not show again."""
    proof = prove_job(ProofJob(row["block"], row["property"], row["parameters"]), (), since=since,
                        certify=bool(row.get("certificate")))
    if proof.status != row["status"]:
        return [f"is {proof.status} now, and was {row['status']}: {proof.detail}"]
    was, now = (fields.get("status") for fields in (row.get("certificate", {}), proof.certificate))
    return [] if was == now else [f"is {now} now, and was {was}: {proof.certificate['detail']}"]


def _proof_name(row: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name}={value}" for name, value in sorted(row["parameters"].items()))
    return f"{row['block']} property {row['property']} ({values})"


# -- signatures ------------------------------------------------------------------------------------


def _keygen(words: list[str], given: bytes = b"") -> str:
    """What ``ssh-keygen`` says. Raises `UserError` in its words."""
    tool = shutil.which("ssh-keygen")
    if tool is None:
        raise UserError("ssh-keygen is not installed; install OpenSSH, e.g. "
                        "`apt-get install openssh-client`")
    done = subprocess.run([tool, *words], input=given, capture_output=True)
    said = (done.stdout + done.stderr).decode(errors="replace").strip()
    if done.returncode:
        raise UserError(f"ssh-keygen: {(said.splitlines() or ['failed'])[-1]}")
    return said


def _own_key() -> Path:
    """The user's key for statements, made at first."""
    folder = config_root()
    path = folder / "attest_ed25519"
    if not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UserError(f"cannot keep a key in {folder}: {error.strerror or error}; set "
                            "CYCLEBOUND_CONFIG to a folder of yours") from error
        _keygen(["-q", "-t", "ed25519", "-N", "", "-C", "cyclebound attest", "-f", str(path)])
    return path


def _signed(statement: Path, signers: Path | None, signer: str) -> str:
    """Who has signed a statement. Raises `UserError` if it has no signature, or one by none of the
    signers."""
    signature = statement.with_name(f"{statement.name}.sig")
    if not signature.is_file():
        raise UserError(f"{statement} is not signed: there is no {signature.name} beside it")
    text = statement.read_bytes()
    if signers is None:
        return _keygen(["-Y", "check-novalidate", "-n", _SPACE, "-s", str(signature)], text)
    if not signers.is_file():
        raise UserError(f"there is no file {signers} of signers")
    names = [signer] if signer else _keygen(
        ["-Y", "find-principals", "-s", str(signature), "-f", str(signers)]).split()[:1]
    return _keygen(["-Y", "verify", "-f", str(signers), "-I", names[0], "-n", _SPACE, "-s",
                    str(signature)], text)
