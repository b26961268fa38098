"""Findings for code hosts: SARIF 2.1.0, and a badge.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, 2020; sections in
brackets.
"""

import importlib.metadata
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.block import Block
from cyclebound.sim.regression.results import unproved
from cyclebound.sim.regression.table import Run
from cyclebound.tb.tally import Finding

__all__ = ["RULES", "Problem", "badge", "of_trace", "place_of", "problems_of", "sarif", "write"]

RULES = {
    "violated": "A request took longer than its bound.",
    "wrong": "A request took another time than was predicted.",
    "refuted": "A proof's counterexample breaks the bound.",
    "not covered": "A request was seen of which no bound speaks.",
    "unobserved": "No request of the claim was seen.",
    "void": "A simulation failed or is missing, so that it shows nothing.",
    "weaker": "A claim rests on less than its baseline.",
    "changed": "A claim rests on something else than its baseline.",
    "unclear": "The signals are no sequence of requests.",
    "failed simulation": "A testbench found hardware and model to differ, or could not run.",
    "unproved": "A property has a counterexample, or its induction does not close.",
    "second source": "A table differs from its second source.",
    "unfinished": "A job of the run has not finished.",
}
"""In a sentence each: the verdicts that fail, and what else makes a run fail."""
_COLORS = {"passing": "#2e7d32", "failing": "#c62828"}
_GLYPH = 6.6  # pixels that a character of a badge takes, at most, in Verdana of 11 px
Place = tuple[str, int]  # a file as a path from the current folder, and a line; 0: none


@dataclass(frozen=True)
class Problem:
    """A finding.

    Attributes
    ----------
    rule : str
        Of `RULES`.
    what : str
        What it is about; equal in the next run, so that a code host knows it again.
    says : str
        The finding in a sentence.
    place : (str, int) or None
        Where it is shown in the sources.
    properties : dict
        More of it, for programs.
    """

    rule: str
    what: str
    says: str
    place: Place | None = None
    properties: dict[str, Any] = field(default_factory=dict)


def place_of(block: Block, what: str = "") -> Place | None:
    """The formula of the block's bound on the requests ``what``, or its hardware; None if neither
    lies below the current folder."""
    found: list[tuple[str | None, int]] = [
        _source(binding.bound.function) for binding in block.bounds if binding.what == what]
    found += [(source, 1) for source in block.sources]
    found.append(_source(block.component))
    for path, line in found:
        if path is not None and Path(path).resolve().is_relative_to(Path.cwd()):
            return Path(path).resolve().relative_to(Path.cwd()).as_posix(), line
    return None


def _source(thing: object) -> tuple[str | None, int]:
    try:
        return inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]  # type: ignore[arg-type]
    except (TypeError, OSError):
        return None, 0


def problems_of(run: Run, where: Callable[[str, str], Place | None]) -> list[Problem]:
    """Every reason why a run is no success; ``where`` is from a block's name and its requests."""
    found = [Problem("failed simulation", job.name, f"{job.name}: {job.reason}",
                     where(job.block, "")) for job in run.jobs if not job.passed]
    for row in run.verdicts:
        if row.failed:
            what = f"{row.block} {row.configuration} {row.what}: {row.bound}"
            found.append(Problem(row.verdict, what, f"{what}: {row.verdict}: {row.detail}",
                                 where(row.block, row.what), {
                                     "worst": row.worst, "allowed": row.allowed,
                                     "parameters": row.parameters, "unit": row.unit,
                                     "formula": row.formula, "job": row.job, "first": row.first,
                                     "last": row.last}))
    for proof in unproved(run.proofs):
        what = f"{proof['block']}: property {proof['property']} {proof['parameters']}"
        found.append(Problem("unproved", what, f"{what}: {proof['detail'] or 'counterexample'}",
                             where(proof["block"], "")))
    found += [Problem("second source", row["table"], f"{row['table']}: {row['says']}: "
                      f"{row['detail']}") for row in run.cross_checks if not row["passed"]]
    if run.unfinished:
        found.append(Problem("unfinished", "jobs", f"{run.unfinished} jobs did not finish"))
    return found


def of_trace(trace: Path, finding: Finding) -> list[Problem]:
    """What is wrong with the requests of a trace; nothing if they keep their bound."""
    if not finding.failed:
        return []
    path = trace.resolve()
    place = ((path.relative_to(Path.cwd()).as_posix(), 0)
             if path.is_relative_to(Path.cwd()) else None)
    what = f"{finding.name} within {finding.bound}"
    return [Problem(finding.verdict, what, f"{what}: {finding.verdict}: {finding.detail}", place, {
        "worst": finding.worst, "allowed": finding.allowed, "parameters": finding.parameters,
        "first": finding.first, "last": finding.last})]


def sarif(problems: Iterable[Problem]) -> str:
    """A log with one run [3.13, 3.14]; each result has its rule, a level, a message, and where it
    is, by a path from the root of the sources [3.27]."""
    results = []
    for problem in problems:
        result: dict[str, Any] = {
            "ruleId": problem.rule.replace(" ", "-"), "level": "error",
            "message": {"text": problem.says},
            "partialFingerprints": {"claim/v1": f"{problem.rule}: {problem.what}"}}
        if problem.place:
            path, line = problem.place
            physical: dict[str, Any] = {
                "artifactLocation": {"uri": quote(path), "uriBaseId": "SRCROOT"}}
            if line:
                physical["region"] = {"startLine": line}
            result["locations"] = [{"physicalLocation": physical}]
        if problem.properties:
            result["properties"] = problem.properties
        results.append(result)
    rules = [{"id": rule.replace(" ", "-"), "name": rule.title().replace(" ", ""),
              "shortDescription": {"text": says}} for rule, says in RULES.items()]
    return json.dumps({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
        "runs": [{"tool": {"driver": {
            "name": "Cyclebound", "semanticVersion": importlib.metadata.version("cyclebound"),
            "rules": rules}}, "results": results}]},
        indent=2) + "\n"


def badge(run: Run) -> str:
    """An SVG of a line: how many claims hold, or that the run fails."""
    kept = sum(not row.failed for row in run.verdicts)
    state = "failing" if run.problems else "passing"
    words = f"{kept:,} of {len(run.verdicts):,} hold" if run.verdicts else state
    left, right = ("bounds", words)
    a, b = (round(_GLYPH * len(text)) + 14 for text in (left, right))
    label = escape(f"{left}: {right}, {state}", {'"': "&quot;"})
    text = ('<text x="{}" y="14" fill="#fff" text-anchor="middle" font-size="11" '
            'font-family="Verdana,DejaVu Sans,sans-serif">{}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="20" role="img" '
            f'aria-label="{label}"><title>{label}</title>'
            f'<rect width="{a}" height="20" fill="#444"/>'
            f'<rect x="{a}" width="{b}" height="20" fill="{_COLORS[state]}"/>'
            f'{text.format(a / 2, escape(left))}{text.format(a + b / 2, escape(right))}</svg>\n')


def write(path: Path, text: str) -> None:
    """Raises `UserError` where it cannot."""
    try:
        path.write_text(text)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
