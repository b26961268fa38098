"""Commands about the user's own kernels on the fabric of units."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from cyclebound.golden.dataflow.counters import EVENTS, UNITS
from cyclebound.golden.dataflow.energy import (
    LEAKS,
    PUBLIC,
    Cost,
    costs_in,
    counts_in,
    energy_of,
)
from cyclebound.golden.dataflow.kernel import Kernel
from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.cli.base import (
    GROUPS,
    AsJson,
    Commands,
    app,
    console,
    progress_bars,
)
from cyclebound.sim.cli.kernel_options import (
    ArrayFiles,
    ArrayZeros,
    KernelName,
    KernelPath,
    Settings,
    Threads,
    arrays_of,
    numbers_of,
)
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.dataflow.run import (
    ENGINES,
    Hardware,
    KernelRun,
    Timing,
    hardware,
    load_kernel,
    run_kernel,
)

_COSTS = 1 << 20  # bytes of a file of costs or counts

dataflow = Commands(no_args_is_help=True, help=GROUPS["dataflow"][1])
app.add_typer(dataflow, name="dataflow")


@dataflow.command()
def run(
    file: KernelPath,
    data: ArrayFiles = None,
    zeros: ArrayZeros = None,
    settings: Settings = None,
    threads: Threads = None,
    grid: Annotated[str, typer.Option(
        "--grid", "-g", metavar="GRID", help="A configuration of dataflow.fabric (`cyclebound list "
        "dataflow.fabric`), or rows of units, as in SLLL/SCKL/LLLT.")] = "five_by_five",
    depth: Annotated[int | None, typer.Option(
        "--depth", metavar="N", help="Entries of all buffers: 2, 4, 8 or 16.")] = None,
    tid_width: Annotated[int | None, typer.Option(
        "--tid-width", metavar="BITS", help="Width of a thread's identifier: 2**BITS threads at "
        "most.")] = None,
    address_width: Annotated[int | None, typer.Option(
        "--address-width", metavar="BITS", help="Width of an address: 2**BITS words for all arrays."
        )] = None,
    on: Annotated[str, typer.Option(
        "--on", metavar="ENGINE", help="interpreter: results only, without timing. golden: the "
        "fabric's model, cycle by cycle. rtl: the hardware, on Verilator.")] = "golden",
    kernel: KernelName = None,
    hit: Annotated[int, typer.Option(metavar="CYCLES", help="Latency of a hit.")] = 4,
    miss: Annotated[int, typer.Option(metavar="CYCLES", help="Latency of a miss.")] = 40,
    miss_rate: Annotated[float, typer.Option(
        "--miss-rate", metavar="SHARE", help="Share of accesses that miss: 0 to 1.")] = 0.1,
    banks: Annotated[int, typer.Option(
        metavar="N", help="Banks of memory; 0: each load/store unit has a port of its own.")] = 32,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="Write every array afterwards, as DIR/NAME.npy."
        )] = None,
    counts: Annotated[Path | None, typer.Option(
        "--counts", metavar="FILE.json", help="Write how often each event was, for `cyclebound "
        "dataflow energy`.")] = None,
    picture: Annotated[Path | None, typer.Option(
        "--picture", metavar="FILE", help="Draw the mapped grid: .svg, .png or .pdf; of several "
        "configurations FILE-1, FILE-2 and so on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a kernel of your own: its result, its cycles, and their bound.

        cyclebound dataflow run saxpy.py --data x=x.csv --data y=y.csv \\
            --set a=2.5 --on rtl -o out

    The bound is computed before anything runs. The final memory is compared with the
    interpreter's. Exit status 1: they differ, or the bound is exceeded; 2: it cannot be run.
    """
    if on not in ENGINES:
        raise unknown("engine", on, ENGINES)
    if picture is not None and picture.suffix not in FORMATS:
        raise UserError(f"--picture takes a file that ends in {', '.join(FORMATS)}, not {picture}")
    if picture is not None and on == "interpreter":
        raise UserError("--picture shows a mapped grid, which the interpreter lacks; take "
                        "--on golden")
    if counts is not None and on == "interpreter":
        raise UserError("--counts is of a fabric, which the interpreter lacks; take --on golden")
    program = load_kernel(file, kernel)
    fabric = hardware(grid, depth=depth, tid_width=tid_width, address_width=address_width)
    try:
        timing = Timing(hit, miss, miss_rate, banks)
    except ValueError as error:
        raise UserError(str(error)) from None
    arrays, constants = arrays_of(program, data, zeros), numbers_of(program, settings)
    if output is not None:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make {output}: {error.strerror}") from None
    with progress_bars() as tell:
        ran = run_kernel(program, arrays, constants=constants, threads=threads, on=on,
                         fabric=fabric, timing=timing, tell=tell, count=counts is not None)
    written = _write(ran, output) if output is not None else []
    if counts is not None:
        written.append(_count(ran, program, fabric, counts))
    pictures = _draw(ran, picture) if picture is not None else []
    if as_json:
        print(json.dumps({
            "kernel": program.name, "on": on, "arrays": {
                name: array.tolist() for name, array in ran.arrays.items()},
            "cycles": ran.cycles, "bounds": ran.bounds, "problem": ran.problem,
            "loading": ran.loading, "faults": ran.faults, "shared": ran.shared,
            "differs": ran.differs, "written": written, "pictures": pictures}, indent=2))
    else:
        _say(ran, on, written + pictures)
    if ran.differs or ran.exceeded:
        raise typer.Exit(1)


def _write(ran: KernelRun, output: Path) -> list[str]:
    written = []
    for name, array in ran.arrays.items():
        try:
            np.save(output / f"{name}.npy", array)
        except OSError as error:
            raise UserError(f"cannot write {output / name}.npy: {error.strerror}") from None
        written.append(str(output / f"{name}.npy"))
    return written


def _count(ran: KernelRun, kernel: Kernel, fabric: Hardware, path: Path) -> str:
    events: Counter[str] = Counter()
    for part in ran.events:
        events.update(part)
    kinds = Counter(UNITS[fabric.grid.kind(unit)] for unit in fabric.grid.units)
    units = {**kinds, "switch": len(fabric.grid.switches), "cache": 1}
    content = {"kernel": kernel.name, "cycles": sum(ran.cycles) + ran.loading * len(ran.parts),
               "units": {name: units[name] for name in LEAKS if name in units},
               "events": {name: events[name] for name in EVENTS if events[name]}}
    try:
        path.write_text(json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    return str(path)


def _costs(names: list[str]) -> dict[str, dict[str, Cost]]:
    """The costs of these tables; of two that have the same, the later one's."""
    costs: dict[str, dict[str, Cost]] = {"event": {}, "leakage": {}}
    for name in names:
        path = PUBLIC.get(name, Path(name))
        if name not in PUBLIC and path.suffix != ".toml":
            raise unknown("cost table", name, [*PUBLIC, "FILE.toml"])
        try:
            found = costs_in(text_in(path, _COSTS))
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from None
        except ValueError as error:
            raise UserError(f"{path}: {error}") from None
        for kind, own in found.items():
            costs[kind] |= own
    return costs


@dataflow.command()
def energy(
    file: Annotated[Path, typer.Argument(
        metavar="COUNTS.json", help="What `cyclebound dataflow run --counts` wrote.")],
    tables: Annotated[list[str], typer.Option(
        "--costs", "-c", metavar="COSTS.toml", help="pJ of each event, and what leaks in a cycle: "
        "a file, or one of the public tables horowitz and aladdin. Of several, a later one has "
        "its way.")],
    as_json: AsJson = False,
) -> None:
    """The energy of a run: its total, pJ per instruction, and how much each cost matters.

        cyclebound dataflow run saxpy.py ... --counts counts.json
        cyclebound dataflow energy counts.json --costs horowitz

    Instructions are firings of compute, special and load/store units. The last two columns are
    pJ per instruction, if the cost were half as much and twice as much.
    """
    costs = _costs(tables)
    try:
        counts = counts_in(text_in(file, _COSTS))
        result = energy_of(counts, costs)
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{file}: {error}") from None
    terms = sorted(result.terms, key=lambda term: -term.pj)
    if as_json:
        print(json.dumps({
            "kernel": counts.kernel, "pJ": result.pj, "instructions": result.instructions,
            "pJ_per_instruction": result.per_instruction,
            "instructions_per_joule": result.instructions_per_joule if result.pj else None,
            "terms": [{"name": term.name, "count": term.count, "cost": term.cost.pj,
                       "source": term.cost.source, "pJ": term.pj,
                       "half": result.at(term, 0.5), "twice": result.at(term, 2)}
                      for term in terms]}, indent=2))
        return
    table = Table("what", "count", "pJ each", "pJ", "share", "x 0.5", "x 2", "source",
                  box=None, pad_edge=False)
    for column in table.columns[1:7]:
        column.justify = "right"
    for term in terms:
        half, twice = result.sensitivity(term)
        table.add_row(term.name, f"{term.count:,}", f"{term.cost.pj:g}", f"{term.pj:,.1f}",
                      f"{term.pj / result.pj if result.pj else 0:.1%}", f"{half:.2f}",
                      f"{twice:.2f}", term.cost.source)
    screen = console()
    screen.print(table, highlight=False)
    for line in ((f"{counts.kernel}: {result.pj:,.1f} pJ in {counts.cycles:,} cycles, loading "
                 "included"),
                 (f"{result.instructions:,} instructions, {result.per_instruction:.2f} pJ each, "
                 f"{result.instructions_per_joule:.3g} per joule")):
        screen.print(line, highlight=False, markup=False, soft_wrap=True)


def _draw(ran: KernelRun, picture: Path) -> list[str]:
    from cyclebound.sim.pictures.mapped import picture_of  # matplotlib takes a second to load
    written = []
    for number, part in enumerate(ran.parts):
        path = picture if len(ran.parts) == 1 else picture.with_stem(
            f"{picture.stem}-{number + 1}")
        busy = ran.busy[number] if ran.busy else {}
        write(picture_of(part, busy, ran.cycles[number]), path, "--picture")
        written.append(str(path))
    return written


def _say(ran: KernelRun, on: str, written: list[str]) -> None:
    screen = console()

    def line(text: str, *, style: str | None = None) -> None:
        screen.print(text, highlight=False, markup=False, soft_wrap=True, style=style)

    for name, array in ran.arrays.items():
        more = f" ... ({len(array)} elements)" if len(array) > 8 else ""
        line(f"{name}: {' '.join(map(str, array[:8]))}{more}")
    for fault in ran.faults[:8]:
        line(f"outside of its array, not made: {fault}", style="yellow")
    if len(ran.faults) > 8:
        line(f"and {len(ran.faults) - 8} more accesses outside of arrays", style="yellow")
    for warning in ran.warnings:
        line(warning, style="yellow")
    if on != "interpreter":
        for number, part in enumerate(ran.parts):
            most = f", bound {ran.bounds[number]}" if ran.bounds else ""
            line(f"configuration {number + 1}: {len(part.places)} of {len(part.grid.units)} units, "
                 f"{ran.cycles[number]} cycles{most}")
        total = ran.problem or f"bound {ran.bound}"
        line(f"{sum(ran.cycles)} cycles from start to done, {total}; loading a configuration takes "
             f"{ran.loading} more")
    for path in written:
        line(f"written: {path}")
    if ran.exceeded:
        line("the bound is exceeded", style="red")
    for name in ran.differs:
        line(f"{name} is not what the interpreter makes of it", style="red")
