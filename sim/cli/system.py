"""Commands about tiles that share a DRAM."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cyclebound.golden.bound import NotCovered
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, app, console, progress_bars
from cyclebound.sim.families.gpu.files import reading
from cyclebound.sim.families.system.jobs import (
    SYSTEM_EXAMPLE,
    Bounded,
    TiledFile,
    parse_tiled,
    planned,
)
from cyclebound.sim.families.system.map import map_jobs, mapped_text
from cyclebound.sim.families.system.run import TiledRun, run_tiled
from cyclebound.tools.simd.wcet.graph import WcetError
from cyclebound.tools.system.mapping import NoMapping

system = Commands(no_args_is_help=True, help=GROUPS["system"][1] + """

Start with `cyclebound system wcet example`.""")
app.add_typer(system, name="system")

File = Annotated[str, typer.Argument(
    metavar="SYSTEM", help="Tiles and jobs in TOML, or `example`.")]


def _read(file: str) -> TiledFile:
    return (parse_tiled(SYSTEM_EXAMPLE, Path()) if file == "example"
            else reading(Path(file), lambda text: parse_tiled(text, Path(file).parent)))


@system.command("wcet")
def wcet(
    file: File,
    show: Annotated[bool, typer.Option(
        "--show", help="Print the example, as a start for your own.")] = False,
    as_json: AsJson = False,
) -> None:
    """Bound each job of tiles on one DRAM, and all of them together.

        cyclebound system wcet example --show > mine.toml
        cyclebound system wcet mine.toml

    A job is a product of int8 matrices on the systolic accelerator, a kernel on the SIMD
    accelerator, over another job's result if you like, or a kernel's threads on the dataflow core.
    Each is bounded by its own analysis, in which a request waits for the longest one of each other
    tile at most, or for its window. Two jobs that may run beside each other and map the same words
    are refused. Exit status 1: a job may end after its `deadline`; 2: there is no bound, and the
    message says why.
    """
    if show:
        print(SYSTEM_EXAMPLE, end="")
        return
    try:
        found = _read(file)
        bounds = planned(found).bounds
    except (NotCovered, WcetError, TypeError, ValueError) as error:
        raise UserError(str(error)) from None
    late = _show_bounds(found, bounds, as_json)
    if late:
        raise typer.Exit(1)


def _show_bounds(found: TiledFile, bounds: Sequence[Bounded], as_json: bool, said: str = "",
                 more: Mapping[str, object] = {}) -> list[str]:
    """The jobs that may end after their deadline."""
    last = max(one.ends for one in bounds)
    late = [one.job.name for one in bounds
            if one.ends > found.deadlines.get(one.job.name, one.ends)]
    if as_json:
        print(json.dumps({
            "part": found.part.name, "period": found.period, "clocks": last,
            "microseconds": last * found.part.tck_ps / 1e6, "late": late, **more,
            "jobs": [{"name": one.job.name, "tile": one.job.tile, "after": list(one.job.after),
                      "longest_request": one.longest, "wait": one.wait, "clocks": one.job.clocks,
                      "ends": one.ends, "deadline": found.deadlines.get(one.job.name)}
                     for one in bounds]}, indent=2))
        return late
    screen = console()
    table = Table(title=f"{found.part.name}, {_shared(found.windows)}; DRAM clocks")
    for heading in ("job", "tile", "after"):
        table.add_column(heading)
    for heading in ("a request waits", "bound", "has ended by",
                    *(["deadline"] if found.deadlines else [])):
        table.add_column(heading, justify="right")
    for one in bounds:
        due = found.deadlines.get(one.job.name)
        table.add_row(one.job.name, one.job.tile, ", ".join(one.job.after) or "-",
                      f"{one.wait:,}", f"{one.job.clocks:,}", f"{one.ends:,}",
                      *(["-" if due is None else f"{due:,}"] if found.deadlines else []))
    screen.print(table)
    screen.print(f"All have ended after {last:,} clocks, {last * found.part.tck_ps / 1e6:.1f} µs."
                 + said, highlight=False)
    for name in late:
        screen.print(f"{name} may end after its deadline", style="red", markup=False,
                     highlight=False)
    return late


@system.command("map")
def map_(
    file: File,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the system with the forms and the order that "
        "were found, for `system wcet` and `system run`: .toml, beside SYSTEM.")] = None,
    picture: Annotated[Path | None, typer.Option(
        "--picture", metavar="FILE", help="Draw when each tile runs which job at the latest: "
        ".svg, .png or .pdf.")] = None,
    seconds: Annotated[float, typer.Option(
        "--seconds", metavar="S", min=0.1, max=86_400, help="Time for the search.")] = 60.0,
    seed: Annotated[int, typer.Option(
        "--seed", metavar="N", min=0, max=2**31 - 1, help="Seed of the search.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Choose tiles and order of jobs so that all have ended soonest, by their bounds.

        cyclebound system map mine.toml -o mapped.toml
        cyclebound system run mapped.toml

    A job that may run on several tiles has other forms in a list `or`, each a table as of a job of
    that kind: `or = [{ dataflow = "add.py", threads = 640, address = 0x200000 }]`. `deadline`, in
    clocks from the start, is kept. A job comes after those that its `after` names, and of two
    that map a word in common, one comes after the other; the order is otherwise free. The bounds
    depend on the choice, since a request waits for the longest one of each other tile.

    Exit status 1: no choice keeps all deadlines; 2: a job has no bound in any form.
    """
    beside = Path(file).parent
    if output is not None and (output.suffix != ".toml" or output.resolve().parent
                               != beside.resolve()):
        raise UserError(f"--output takes a .toml file beside {file}, whose jobs may name files "
                        f"there, not {output}")
    if picture is not None and picture.suffix not in (".svg", ".png", ".pdf"):
        raise UserError(f"--picture takes a file that ends in .svg, .png or .pdf, not {picture}")
    text = SYSTEM_EXAMPLE if file == "example" else reading(Path(file), str)
    try:
        with progress_bars() as tell:
            found = map_jobs(_read(file), seconds=seconds, seed=seed, tell=tell)
    except NoMapping as error:
        console(stderr=True).print(f"cyclebound: {error}", soft_wrap=True, highlight=False)
        raise typer.Exit(1) from None
    except (NotCovered, WcetError, TypeError, ValueError) as error:
        raise UserError(str(error)) from None
    _show_bounds(found.file, found.planned.bounds, as_json,
                 " No other choice or order ends sooner." if found.optimal else
                 " It is the best that was found; --seconds gives the search more time.",
                 {"optimal": found.optimal})
    try:
        if output is not None:
            output.write_text(mapped_text(text, found), encoding="utf-8")
        if picture is not None:
            from cyclebound.sim.pictures.tiles import figure  # matplotlib takes a second
            figure(found.planned.bounds, found.file.deadlines).savefig(picture)
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None


@system.command("run")
def run(
    file: File,
    seed: Annotated[int, typer.Option(
        "--seed", metavar="S", min=0,
        help="Of the matrices, arrays, and buffers of installed kernels.")] = 1,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="Keep the simulation's files there.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run the jobs of a system on the RTL: their results, and how long each takes of its bound.

        cyclebound system run example

    A host starts each job when all that it comes after have ended, as it sees in a look every 64
    clocks. A product's matrices are random, a dataflow core's arrays are, too, or files; a kernel's
    buffers are a job's result, what its `.data` names, or random where it is installed. Results are
    compared with numpy's and the kernels' models, byte by byte. The simulator takes a minute or two
    to build, once for a system.

    Exit status 1: a result differs, or a job takes longer than its bound; 2: it cannot be run.
    """
    try:
        with progress_bars() as tell:
            ran = run_tiled(found := _read(file), seed=seed, folder=output, tell=tell)
    except (NotCovered, WcetError, TypeError, ValueError) as error:
        raise UserError(str(error)) from None
    above = [job.bounded.job.name for job in ran.jobs if job.clocks > job.bounded.job.clocks]
    if as_json:
        print(json.dumps({
            "part": found.part.name, "period": found.period, "clocks": ran.clocks,
            "wrong": list(ran.wrong), "above": above,
            "jobs": [{"name": one.bounded.job.name, "tile": one.bounded.job.tile,
                      "started": one.asked, "clocks": one.clocks, "bound": one.bounded.job.clocks}
                     for one in ran.jobs]}, indent=2))
    else:
        _say(found, ran, above)
    if ran.wrong or above:
        raise typer.Exit(1)


def _say(found: TiledFile, ran: TiledRun, above: list[str]) -> None:
    screen = console()
    table = Table(title=f"{found.part.name}\n{_shared(found.windows)}; DRAM clocks")
    for heading in ("job", "tile"):
        table.add_column(heading)
    for heading in ("started", "took", "bound", "of it"):
        table.add_column(heading, justify="right")
    for one in ran.jobs:
        job = one.bounded.job
        table.add_row(job.name, job.tile, f"{one.asked:,}", f"{one.clocks:,}", f"{job.clocks:,}",
                      f"{one.clocks / job.clocks:.2f}")
    screen.print(table)
    screen.print(f"All were seen to have ended after {ran.clocks:,} clocks, "
                 f"{ran.clocks * found.part.tck_ps / 1e6:.1f} µs.", highlight=False)
    for line in ran.wrong:
        screen.print(f"wrong: {line}", style="red", markup=False, highlight=False)
    for name in above:
        screen.print(f"{name} took longer than its bound", style="red", markup=False,
                     highlight=False)
    if not ran.wrong:
        screen.print("Every byte is as numpy and the kernels' models have it.", highlight=False)


def _shared(windows: tuple[int, ...] | None) -> str:
    """How the tiles share the controller."""
    if windows is None:
        return "requests by turns"
    *first, last = windows
    return f"windows of {', '.join(map(str, first))} and {last}"
