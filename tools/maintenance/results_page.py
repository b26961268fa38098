"""Brings docs/results.md up to date: ``python -m cyclebound.tools.maintenance.results_page RUN...``

A run of the quick level takes the place of the quick level's tables. The full level takes hours, so
that it may run block by block: a run of it takes the place of what the page has of that run's
blocks, and each block's line says when, and at which commit, all of its simulations and proofs ran.
A run that fails, or has not all of its blocks' simulations and proofs in its level, is refused.
"""

import argparse
import itertools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.regression import baseline, table
from cyclebound.sim.regression.plan import Plan, jobs_of
from cyclebound.sim.regression.table import Run
from cyclebound.sim.report import markdown

__all__ = ["updated"]

_PAGE = Path(__file__).parents[2] / "docs" / "results.md"
_FULL, _AFTER = "\n## The full level\n", "\n## FPGA\n"
_NEVER = "| - | - | - | - | not yet | - |"


def updated(page: str, run: Run) -> str:
    """The page with what the run has. Raises `UserError` for a run that is no whole level."""
    baseline.records_of(run)
    quick, full = page.split(_FULL)
    if run.meta["level"] == "full":
        return quick + _FULL + _full(full, run)
    planned = {job.name for job in jobs_of(Plan(list(catalogue.load()), Path()))}
    if missing := sorted(planned - {job.name for job in run.jobs}):
        raise UserError(f"{run.folder} is not all of the quick level: {missing[0]} is not in it")
    about = quick.partition("\nRun of ")[0]
    tables = markdown.tables(run).replace("\n## ", "\n### ")
    return about + "\n" + tables.rstrip("\n") + "\n" + _FULL + full


def _full(page: str, run: Run) -> str:
    """The full level's part of the page: of the run's blocks what it has, of others as before."""
    tables, end = markdown.tables(run), page.index(_AFTER)
    order = {f"`{block.name}`": number for number, block in enumerate(catalogue.load())}
    ran = {_block(line) for line in _runs(run)}
    parts = [page[:page.index("\n### ")].rstrip("\n")]
    for title, rows in (("Runs", list(_runs(run))), ("Verdicts", _rows(tables, "## Verdicts")[2:]),
                        ("Proofs", _rows(tables, "## Proofs")[2:])):
        before = _rows(page, f"### {title} of the full level")
        now = [*rows, *(row for row in before[2:] if _block(row) in order.keys() - ran)]
        if title == "Runs":
            now += [f"| {name} {_NEVER}" for name in order.keys() - set(map(_block, now))]
        now.sort(key=lambda row: order[_block(row)])
        parts += [f"\n### {title} of the full level\n", *before[:2], *now]
    return "\n".join(parts) + "\n" + page[end:]


def _rows(page: str, title: str) -> list[str]:
    """The lines of the table under this title, its two heads first; none without the title."""
    after = page.partition(f"\n{title}\n\n")[2].splitlines()
    return list(itertools.takewhile(lambda line: line.startswith("|"), after))


def _block(row: str) -> str:
    return row[2:].partition(" | ")[0]


def _runs(run: Run) -> Iterable[str]:
    """A line for each block of the run."""
    created = str(run.meta["created"]).partition("T")[0]
    for name in dict.fromkeys([*(job.block for job in run.jobs),
                               *(proof["block"] for proof in run.proofs)]):
        jobs = [job for job in run.jobs if job.block == name]
        proofs = [proof for proof in run.proofs if proof["block"] == name]
        seconds = (sum(job.build_seconds + job.run_seconds for job in jobs)
                   + sum(proof["seconds"] for proof in proofs))
        yield (f"| `{name}` | {len(jobs)} | {len(proofs)} | {sum(job.cycles for job in jobs):,} | "
               f"{seconds / 60:.1f} | {created} | {run.meta['commit']} |")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN",
                        help="the folder of a finished regression")
    try:
        page = _PAGE.read_text()
        for folder in parser.parse_args(words).runs:
            page = updated(page, table.read(folder))
    except UserError as error:
        print(f"results_page: {error}", file=sys.stderr)
        return 2
    _PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
