"""Commands about tiles that share a DRAM."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cyclebound.golden.bound import NotCovered
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, app, console
from cyclebound.sim.families.gpu.files import reading
from cyclebound.sim.families.system.jobs import SYSTEM_EXAMPLE, bounded, parse_tiled
from cyclebound.tools.simd.wcet.graph import WcetError

system = Commands(no_args_is_help=True, help=GROUPS["system"][1] + """

Start with `cyclebound system wcet example`.""")
app.add_typer(system, name="system")
system.callback()(lambda: None)  # a group, although it has a single command


@system.command("wcet")
def wcet(
    file: Annotated[str, typer.Argument(
        metavar="SYSTEM", help="Tiles and jobs in TOML, or `example`.")],
    show: Annotated[bool, typer.Option(
        "--show", help="Print the example, as a start for your own.")] = False,
    as_json: AsJson = False,
) -> None:
    """Bound each job of a SIMD and a systolic accelerator on one DRAM, and all of them together.

        cyclebound system wcet example --show > mine.toml
        cyclebound system wcet mine.toml

    A job is a product of int8 matrices on the systolic accelerator, or a kernel on the SIMD
    accelerator, over a product's result if you like. Each is bounded by its own analysis, in which
    a request waits for the other tile's longest one at most, or for its window. Two jobs that may
    run beside each other and map the same words are refused. Exit status 2: there is no bound; the
    message says why.
    """
    if show:
        print(SYSTEM_EXAMPLE, end="")
        return
    try:
        found = (parse_tiled(SYSTEM_EXAMPLE, Path()) if file == "example"
                 else reading(Path(file), lambda text: parse_tiled(text, Path(file).parent)))
        bounds = bounded(found)
    except (NotCovered, WcetError, ValueError) as error:
        raise UserError(str(error)) from None
    last = max(one.ends for one in bounds)
    if as_json:
        print(json.dumps({
            "part": found.part.name, "period": found.period, "clocks": last,
            "microseconds": last * found.part.tck_ps / 1e6,
            "jobs": [{"name": one.job.name, "tile": one.job.tile, "after": list(one.job.after),
                      "longest_request": one.longest, "wait": one.wait, "clocks": one.job.clocks,
                      "ends": one.ends} for one in bounds]}, indent=2))
        return
    screen = console()
    table = Table(title=f"{found.part.name}, {_shared(found.windows)}; DRAM clocks")
    for heading in ("job", "tile", "after"):
        table.add_column(heading)
    for heading in ("a request waits", "bound", "has ended by"):
        table.add_column(heading, justify="right")
    for one in bounds:
        table.add_row(one.job.name, one.job.tile, ", ".join(one.job.after) or "-",
                      f"{one.wait:,}", f"{one.job.clocks:,}", f"{one.ends:,}")
    screen.print(table)
    screen.print(f"All have ended after {last:,} clocks, {last * found.part.tck_ps / 1e6:.1f} µs.",
                 highlight=False)


def _shared(windows: tuple[int, int] | None) -> str:
    """How the tiles share the controller."""
    return "requests by turns" if windows is None else f"windows of {windows[0]} and {windows[1]}"
