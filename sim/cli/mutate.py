"""The command that mutates a block, to measure which faults its testbenches and proofs find."""

import datetime
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.cli import base as cli
from cyclebound.sim.cli.base import (
    AsJson,
    BlockName,
    ConfigurationName,
    Workers,
    app,
    console,
    progress_bars,
    the_catalogue,
)
from cyclebound.sim.cli.run import new_folder

with lazily():
    from cyclebound.sim.base import stop as stopping
    from cyclebound.sim.base import toolchain as tools
    from cyclebound.sim.mutation import mutate as mutants
    from cyclebound.sim.mutation import rows
    from cyclebound.sim.regression import results as run_results

_MOST = 100_000


@app.command()
def mutate(
    block: BlockName, configuration: ConfigurationName = None,
    count: Annotated[int, typer.Option(
        "-n", metavar="N", min=1, max=_MOST, help="How many mutants; the RTL may have fewer.")
    ] = 100,
    seed: Annotated[int, typer.Option(
        "--seed", metavar="S", min=0, max=(1 << 31) - 1, help="Seed of their choice.")] = 1,
    testbenches: Annotated[list[str] | None, typer.Option(
        "--testbench", metavar="T", help="Only this testbench; may be repeated. The default is "
        "all that simulate the block itself within seconds.")] = None,
    patience: Annotated[float, typer.Option(
        "--patience", metavar="SECONDS", min=1, max=100_000,
        help="Time limit of a property's bounded check; one that takes longer is left out.")
    ] = 300,
    at_least: Annotated[float | None, typer.Option(
        "--at-least", metavar="PERCENT", min=0, max=100,
        help="Exit status 1 if the score is below.")] = None,
    workers: Workers = None,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="The run's folder; the default is runs/<time>. "
        "Mutants that are settled in it already are not run again.")] = None,
    as_json: AsJson = False,
) -> int:
    """Change the block's RTL in many small ways, and count which changes its checks detect.

    Each mutant runs on the block's testbenches with its bound checker, then against its bounds and
    properties, until the first failure. A mutant that none of these detects is either proved
    equivalent to the block, or has survived. The score is the percentage killed of all mutants not
    proved equivalent. The run names the checks that were used, and those left out, with reasons.
    docs/mutation.md explains how to read the result.
    """
    the_block = the_catalogue().find(block)
    name, _ = the_block.configuration(configuration)
    benches = [the_block.testbench(bench) for bench in dict.fromkeys(testbenches or ())]
    _check(the_block.name, name, benches)
    if not benches:
        mutants.benches_of(the_block, name)  # a mistake shows before a folder is made
    folder = output or new_folder()
    _note(folder)
    with stopping.on_sigterm() as terminated:
        try:
            with progress_bars() as report:
                campaign = mutants.mutate(
                    the_block, name, run=folder, count=count, seed=seed, testbenches=benches,
                    workers=workers or 1, patience=patience, pages=tuple(cli.pages), report=report,
                    tell=(lambda row: None) if as_json else
                    lambda row: _tell(report.console, row))
        except KeyboardInterrupt:
            again = shlex.join(["cyclebound", "mutate", the_block.name, "-c", name,
                                "-n", str(count), "--seed", str(seed), "-o", str(folder),
                                *(["--patience", f"{patience:g}"] if patience != 300 else [])])
            cli.fail(f"{'terminated' if terminated else 'interrupted'}; what was settled is kept, "
                     f"continue with `{again}`", 143 if terminated else 130)
    if as_json:
        print(json.dumps({
            "block": the_block.name, "configuration": name, "seed": seed, "tally": campaign.tally,
            "score": campaign.score, "layers": campaign.layers, "judged_by": campaign.judged,
            "left_out": {judge.judge: judge.left_out for judge in campaign.left_out},
            "mutants": [asdict(row) for _, row in sorted(campaign.rows.items())]}, indent=2))
    else:
        _summary(campaign, folder)
    return 1 if at_least is not None and (campaign.score or 0) < at_least else 0


def _check(block: str, configuration: str, benches: list) -> None:
    """Raise `UserError` for a testbench that cannot run mutants."""
    for bench in benches:
        if not bench.runs_on(configuration):
            raise UserError(f"testbench {bench.name} of {block} does not run on configuration "
                            f"{configuration}")
        if bench.top is not None:
            raise UserError(f"testbench {bench.name} of {block} simulates a top of its own; only "
                            "those that simulate the block itself run mutants")


def _note(folder: Path) -> None:
    """Make the folder a run, unless it is one already."""
    results = run_results.Results(folder, create=True)
    try:
        if "command" not in results.meta:
            results.note(command=shlex.join(["cyclebound", *sys.argv[1:]]), jobs=0,
                         created=datetime.datetime.now().isoformat(timespec="seconds"),
                         versions=tools.versions())
    finally:
        results.close()


def _tell(screen, row) -> None:
    """Print a mutant that needs attention as soon as its fate is known."""
    if isinstance(row, rows.Judge):
        if row.left_out:
            screen.print(_left_out(row), soft_wrap=True, highlight=False)
    elif row.fate in ("survived", "unknown", "timeout"):
        screen.print(_line(row), soft_wrap=True, highlight=False)


def _line(row) -> str:
    said = "; ".join(filter(None, [row.by, row.detail]))
    return f"{row.fate:10} {row.source or '-'}: {row.mutation}" + (f" ({said})" if said else "")


def _left_out(judge) -> str:
    return f"left out   {judge.judge}: {judge.left_out}"


def _summary(campaign, folder: Path) -> None:
    screen = console()
    killers: dict[str, int] = {}
    for row in campaign.rows.values():
        if row.fate in ("killed", "timeout"):
            killers[row.by] = killers.get(row.by, 0) + 1
    by = ", ".join(f"{killer} {number}" for killer, number in killers.items())
    tally = ", ".join(f"{number} {fate}" for fate, number in campaign.tally.items() if number)
    score = "no score" if campaign.score is None else f"score {campaign.score:.1f} %"
    screen.print(f"{campaign.block} {campaign.configuration}: {score} of "
                 f"{len(campaign.rows)} mutants: {tally}", soft_wrap=True)
    if by:
        screen.print(f"killed by: {by}", soft_wrap=True)
    if layers := campaign.layers:
        screen.print("by layer: " + ", ".join(f"{layer} {number}" for layer, number in
                                              layers.items()), soft_wrap=True)
    screen.print(f"judged by: {', '.join(campaign.judged)}", soft_wrap=True)
    if left_out := campaign.left_out:
        screen.print(f"not by: {', '.join(judge.judge for judge in left_out)}", soft_wrap=True)
    screen.print(f"folder {folder}; `cyclebound report {folder}` shows all", soft_wrap=True)
