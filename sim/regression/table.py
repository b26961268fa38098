"""The verdict table: for a terminal, as JSON, as JUnit XML; and what differs between two runs."""

import contextlib
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.print_table import print_table
from cyclebound.sim.base.shape import cleaned
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Certificate
from cyclebound.sim.regression.results import JobRow, Results, unproved

__all__ = ["Run", "difference_words", "differences", "print_differences", "print_run", "read",
           "write_junit"]

_STYLE = {"exact": "green", "right": "green", "held": "cyan"}
_UNPRINTABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML
_MOST_NAMED = 3  # of kinds, tests or claims in a row of differences
_OF_VERDICT = ("verdict", "sums", "worst", "allowed", "evidence", "domain", "requests", "claim",
               "formula", "environment", "assumes", "unit")
_OF_PROOF = ("status", "depth", "induction", "says", "assumes", "detail")
_OF_FPGA = ("mhz", "luts", "flip_flops", "block_rams", "multipliers")
_VERDICT_RANK = ("exact", "right", "held")  # of one claim: the strongest first
_EVIDENCE_RANK = ("proved", "exhaustive", "searched", "sampled")
_PROOF_RANK = ("proved", "bounded")
_BAR = 10  # characters of the tightness bar

JSON_FORMAT = 2
"""Of `Run.as_json`: raised when a field goes or means something else. 2: ``worst`` is the largest
latency, and ``tightest`` the request closest to its bound, which ``worst`` was in 1."""


class Run:
    """A finished run, read from its folder."""

    def __init__(self, folder: Path) -> None:
        results = Results(folder)
        self.folder = folder
        self.meta = results.meta
        self.jobs: list[JobRow] = results.jobs()
        self.verdicts = [Verdict(**row) for row in results.rows("verdict")]
        self.proofs = results.rows("proof")
        self.fpga = results.rows("fpga")
        self.cross_checks = results.rows("cross_check")
        results.close()

    def kinds(self) -> dict[tuple[str, str, str], set[str]]:
        """As `cyclebound.sim.regression.results.Results.kinds`."""
        with contextlib.closing(Results(self.folder)) as results:
            return results.kinds()

    @property
    def unfinished(self) -> int:
        """Jobs of the run that never finished."""
        return int(self.meta.get("jobs", len(self.jobs))) - len(self.jobs)

    @property
    def problems(self) -> list[str]:
        """Every reason why the run is no success, a line each; void claims have their jobs."""
        return self.problems_without()

    def problems_without(self, *verdicts: str) -> list[str]:
        """As `problems`, but for claims with these verdicts."""
        lines = [f"{job.name}: {job.reason}" for job in self.jobs if not job.passed]
        lines += [f"{row.block} {row.configuration}: {row.verdict}: {row.detail}"
                  for row in self.verdicts if row.failed and row.verdict not in ("void", *verdicts)]
        lines += [f"{proof['block']}: property {proof['property']} "
                  f"({_words(proof['parameters'])}): {proof['detail'] or 'counterexample'}"
                  for proof in unproved(self.proofs)]
        lines += [f"table {row['table']} differs from its second source, {row['says']}: "
                  f"{row['detail']}" for row in self.cross_checks if not row["passed"]]
        if self.unfinished:
            lines.append(f"{self.unfinished} jobs did not finish; "
                         f"continue with `cyclebound regress --resume {self.folder}`")
        return lines

    @property
    def skipped(self) -> list[str]:
        """Of each simulation that passed without all of its tests, which were skipped."""
        return [f"{job.name}: {job.reason}" for job in self.jobs if job.passed and job.reason]

    @property
    def kept(self) -> list[str]:
        """When each simulation ran whose outcome is taken from an earlier run; sorted."""
        return sorted(job.ran for job in self.jobs if job.ran)

    def speed(self, row: Verdict) -> tuple[int, float]:
        """Cycles, and cycles per second, of all jobs of the verdict's configuration."""
        mine = [job for job in self.jobs
                if (job.block, job.configuration) == (row.block, row.configuration)]
        cycles, seconds = sum(j.cycles for j in mine), sum(j.run_seconds for j in mine)
        return cycles, cycles / seconds if seconds else 0.0

    def as_json(self) -> str:
        """All of it, for a program."""
        rows = []
        for row in self.verdicts:
            cycles, rate = self.speed(row)
            rows.append({**asdict(row), "tightness": row.tightness, "strength": row.strength,
                         "cycles": cycles,
                         "cycles_per_second": round(rate)})
        return json.dumps({"format": JSON_FORMAT, "folder": str(self.folder), **self.meta,
                           "verdicts": rows, "jobs": [asdict(job) for job in self.jobs],
                           "proofs": self.proofs, "fpga": self.fpga,
                           "cross_checks": self.cross_checks, "skipped": self.skipped,
                           "problems": self.problems}, indent=2)


def read(folder: Path) -> Run:
    """The run in ``folder``. Raises `UserError` if there is none."""
    return Run(folder)


def _words(parameters: dict) -> str:
    return ", ".join(f"{key}={value}" for key, value in parameters.items())


def _bar(row: Verdict) -> Text:
    """The tightest request over its bound; of many kinds also the loosest and the median."""
    if row.tightness is None:
        return Text("-")
    full = min(_BAR, int(row.tightness * _BAR))
    ratios = row.ratios if row.kinds > 1 and row.ratios[0] != row.ratios[-1] else [row.tightness]
    return Text(f"{'█' * full}{'·' * (_BAR - full)} "
                + "/".join(f"{ratio:.2f}" for ratio in ratios))


def _verdict(row: Verdict) -> Text:
    text = row.verdict if row.verdict != "held" or row.kinds < 2 else \
        f"held {row.kinds_reached}/{row.kinds}"
    return Text(text, style=_STYLE.get(row.verdict, "bold red"))


def print_run(run: Run, console: Console) -> None:
    """The verdict table, and every problem below it."""
    table = Table(title=f"Measured against bound: {run.folder}", title_justify="left")
    columns: tuple[tuple[str, JustifyMethod], ...] = (
        ("block", "left"), ("configuration", "left"), ("claim", "left"),
        ("requests", "right"), ("worst", "right"), ("allowed", "right"),
        ("tightness", "left"), ("verdict", "left"), ("evidence", "left"),
        ("strength", "left"), ("cycles", "right"), ("cycles/s", "right"))
    for name, justify in columns:
        table.add_column(name, justify=justify, no_wrap=name not in ("evidence", "strength"),
                         min_width=_BAR + 5 if name == "tightness" else None)
    for row in run.verdicts:
        cycles, rate = run.speed(row)
        table.add_row(
            row.block, row.configuration, f"{row.claim} {row.bound} ({row.what})",
            f"{row.requests:,}",
            "-" if row.worst is None else f"{row.worst:,}",
            "-" if row.allowed is None else f"{row.allowed:,}", _bar(row),
            _verdict(row), row.evidence + (f": {row.domain}" if row.domain else ""),
            row.strength, f"{cycles:,}", f"{rate:,.0f}")
    print_table(table, console)
    if tables := [row for row in run.cross_checks if row["passed"]]:
        console.print(Text(cleaned("equal to their second source: " + ", ".join(
            f"{row['table']} ({row['entries']:,} entries)" for row in tables))), soft_wrap=True)
    if words := _certified(run.proofs):
        console.print(Text(cleaned(words)), soft_wrap=True)
    if kept := run.kept:
        when = kept[0] if kept[0] == kept[-1] else f"{kept[0]} to {kept[-1]}"
        console.print(Text(cleaned(
            f"{len(kept)} of {len(run.jobs)} simulations are kept from earlier runs, of {when}; "
            "`--fresh` runs them again")), soft_wrap=True)
    for line in run.skipped:
        console.print(Text(cleaned(line), style="yellow"), soft_wrap=True)
    for line in run.problems:
        console.print(Text(cleaned(line), style="red"), soft_wrap=True)


def _certified(proofs: Sequence[Mapping[str, Any]]) -> str:
    """How many proofs have certificates; empty if none was asked for."""
    rows = [Certificate(**proof["certificate"]) for proof in proofs if proof["certificate"]]
    if not rows:
        return ""
    done = [row for row in rows if row.status == "certified"]
    left = [f"{proof['block']} property {proof['property']} ({_words(proof['parameters'])})"
            for proof in proofs if proof["certificate"].get("status", "certified") != "certified"]
    return (f"certified: {len(done)} of {len(rows)} proofs, with {sum(d.lines for d in done):,} "
            "lines that a checker has followed" + "; not: " * bool(left) + ", ".join(left))


def differences(old: Run, new: Run) -> list[dict[str, Any]]:
    """Differences between two runs in what they show: whatever is weaker now first.

    Each has ``block``, ``configuration``, ``bound`` (what it is about), ``weaker`` (the new run
    shows less of it), and how it ``was`` and is ``now``; None: absent. These are of a claim: fields
    of its verdict, and ``kinds``, the kinds of requests that only this run has observed. Of a
    simulation: whether it passed, its tests, and how many cycles it compared. Of a proof: its
    status, its depths, and the bounds that it claims. And FPGA figures.
    """
    before, after = _shown(old), _shown(new)
    changed = []
    for key in dict.fromkeys([*before, *after]):
        was, now = before.get(key), after.get(key)
        if was == now:
            continue
        was, now = _with_own_kinds(was, now), _with_own_kinds(now, was)
        changed.append({"block": key[0], "configuration": key[1], "bound": key[2],
                        "weaker": _weaker(was, now), "was": was, "now": now})
    # rows of a run stand in the order in which its jobs ended
    return sorted(changed, key=lambda row: (not row["weaker"], row["block"], row["configuration"],
                                            row["bound"]))


def _with_own_kinds(told: dict[str, Any] | None, other: dict[str, Any] | None
                    ) -> dict[str, Any] | None:
    """What is shown of a claim with only those kinds that the other run has not observed."""
    if not told or "kinds" not in told:
        return told
    mine = told["kinds"] - (other["kinds"] if other else set())
    return {**told, "kinds": [json.loads(kind) for kind in sorted(mine)]}


def _shown(run: Run) -> dict[tuple[str, ...], dict[str, Any]]:
    """All that a run shows, by block, configuration and name; a claim's kinds as sets of JSON."""
    kinds = run.kinds()
    shown: dict[tuple[str, ...], dict[str, Any]] = {}
    for v in run.verdicts:
        shown[v.block, v.configuration, v.bound, v.what] = {
            **{name: getattr(v, name) for name in _OF_VERDICT},
            "kinds": kinds.get((v.block, v.configuration, v.what), set())}
    for job in run.jobs:
        shown[job.block, job.configuration, f"job {job.testbench} {job.seed}", "job"] = {
            "job": ("passed" + f", {job.reason}" * bool(job.reason) if job.passed
                    else f"failed: {job.reason}"),
            "tests": sorted(name for name, passed in job.tests if passed),
            "compared": job.compared}
    for proof in run.proofs:
        claims = sorted(f"{what} with {_words(kind) or 'no parameters'}: {limit}"
                        for what, kind, limit in proof["claims"])
        shown[proof["block"], _words(proof["parameters"]), f"property {proof['property']}",
              "proof"] = {**{name: proof[name] for name in _OF_PROOF}, "claims": claims}
    for row in run.fpga:
        shown[row["block"], row["configuration"], f"on {row['target']}", "fpga"] = {
            name: row[name] for name in _OF_FPGA}
    return shown


def _weaker(was: dict[str, Any] | None, now: dict[str, Any] | None) -> bool:
    """Whether the later run shows less than the earlier one."""
    if was is None or now is None:
        return now is None and was is not None and "mhz" not in was
    if "verdict" in was:
        return (_rank(_VERDICT_RANK, now["verdict"]) > _rank(_VERDICT_RANK, was["verdict"])
                or _rank(_EVIDENCE_RANK, now["evidence"]) > _rank(_EVIDENCE_RANK, was["evidence"])
                or bool(was["kinds"]) or now["requests"] < was["requests"])
    if "job" in was:
        return ((was["job"] != now["job"] and now["job"] != "passed")
                or not {*was["tests"]} <= {*now["tests"]} or now["compared"] < was["compared"])
    if "status" in was:
        return (_rank(_PROOF_RANK, now["status"]) > _rank(_PROOF_RANK, was["status"])
                or (now["status"] == "bounded" and now["depth"] < was["depth"])
                or not {*was["claims"]} <= {*now["claims"]})
    return False


def _rank(order: tuple[str, ...], word: str) -> int:
    """Place of a word, the strongest first; words that are not there come last."""
    return order.index(word) if word in order else len(order)


def print_differences(changed: list[dict[str, Any]], console: Console) -> None:
    """Print the differences, one row each."""
    if not changed:
        console.print("nothing changed")
        return
    table = Table(title="What changed", title_justify="left")
    for name in ("block", "configuration", "bound", "was", "now", ""):
        table.add_column(name)
    for row in changed:
        table.add_row(row["block"], row["configuration"], row["bound"],
                      difference_words(row["was"], row["now"]),
                      difference_words(row["now"], row["was"]), "weaker" if row["weaker"] else "")
    print_table(table, console)


def difference_words(values: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> str:
    """The fields of one side of a difference that the other side does not have like this."""
    if values is None:
        return "absent"
    said = {name: _some(value, other.get(name) if other else None)
            for name, value in values.items() if other is None or other.get(name) != value}
    return ", ".join(f"{name} {words}" if words else f"no {name}" for name, words in said.items()
                     if words or (other is not None and not isinstance(values[name], list)))


def _some(value: object, other: object) -> str:
    """A value, empty for None; of a list the first few items that the other list does not have, and
    their number."""
    if not isinstance(value, list):
        return "" if value is None else str(value)
    items = [item for item in value if not isinstance(other, list) or item not in other]
    words = [_words(item) or "no parameters" if isinstance(item, dict) else str(item)
             for item in items[:_MOST_NAMED]]
    more = len(items) - len(words)
    return "; ".join(words) + (f"; and {more:,} more" if more else "")


def write_junit(run: Run, path: Path) -> None:
    """JUnit XML for CI systems: a case for each job, each verdict and each proof."""
    suite = ElementTree.Element("testsuite", name="cyclebound")
    cases = [(job.block, job.name, job.run_seconds, "" if job.passed else job.reason)
             for job in run.jobs]
    cases += [(row.block, f"{row.configuration}: {row.what} within {row.bound}", 0.0,
               f"{row.verdict}: {row.detail}" if row.failed and row.verdict != "void" else "")
              for row in run.verdicts]
    less = unproved(run.proofs)
    cases += [(proof["block"], f"{proof['property']} ({_words(proof['parameters'])})",
               proof["seconds"], proof["detail"] or "counterexample" if proof in less else "")
              for proof in run.proofs]
    cases += [("cross-check", f"{row['table']}: {row['says']}", row["seconds"],
               "" if row["passed"] else row["detail"]) for row in run.cross_checks]
    for block, name, seconds, problem in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=block, name=name,
                                      time=f"{seconds:.3f}")
        if problem:
            problem = _UNPRINTABLE.sub("?", problem)
            ElementTree.SubElement(case, "failure", message=problem.splitlines()[-1]).text = problem
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(bool(problem) for *_, problem in cases)))
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
