"""Commands about SHMAC: programs for its tiles, and grids that run them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cyclebound.golden.shmac.gate_table import meetings
from cyclebound.golden.shmac.tracking import TYPES, Track, Tracker
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.print_table import print_table
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, Progress, app, console, progress_bars
from cyclebound.sim.cli.shmac_gdb import gdb
from cyclebound.sim.cli.shmac_wcet import wcet
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.shmac.checkpoints import load_checkpoint, save_checkpoint
from cyclebound.sim.families.shmac.files import (
    compiled,
    load_layout,
    load_program,
    program_file,
)
from cyclebound.sim.families.shmac.options import (
    RAM_TEXT,
    CompilerName,
    ConfigurationFile,
    Defines,
    Endian,
    GridLayout,
    Lines,
    Optimization,
    ProgramFile,
    ProgramOfAll,
    Ram,
    maker,
    ram_of,
    setup_of,
    target_of,
    tile_named,
)
from cyclebound.sim.families.shmac.rtl import run_rtl
from cyclebound.sim.families.shmac.run import (
    CycleRun,
    Setup,
    ShmacRun,
    run_cycles,
    run_model,
    switch,
)
from cyclebound.sim.families.shmac.tracks import choice_of, flows, packet_trace
from cyclebound.sim.families.shmac.wcet_files import gates_of
from cyclebound.tools.shmac.disassembler import listing
from cyclebound.tools.shmac.installed import PROGRAMS, program_path

_NAMES = {"functional": "functional model", "cycle": "model by cycles", "rtl": "RTL"}
_TRACKED = 100_000  # packets that are kept

shmac = Commands(no_args_is_help=True, help=GROUPS["shmac"][1])
app.add_typer(shmac, name="shmac")

shmac.command()(wcet)
shmac.command()(gdb)


@shmac.command()
def run(
    program: ProgramOfAll = None,
    grid: GridLayout = "P",
    configuration: ConfigurationFile = None,
    tiles: Annotated[list[str] | None, typer.Option(
        "--tile", "-t", metavar="ROW,COLUMN", help="Only this core gets PROGRAM; may be repeated."
        )] = None,
    ram: Ram = RAM_TEXT,
    endian: Endian = "big",
    compiler: CompilerName = "",
    optimize: Optimization = "2",
    defines: Defines = None,
    model: Annotated[str, typer.Option(
        "--model", metavar="NAME", help="functional: one instruction of each core after the other, "
        "without any timing; cycle: the golden model of the hardware, cycle by cycle; rtl: the "
        "hardware.")] = "functional",
    bypass: Annotated[bool, typer.Option(
        "--bypass/--no-bypass", help="Of cycle and rtl: cores reach their own memory past the "
        "router (thesis, 5.1), or by it (2.3).")] = True,
    limit: Annotated[int, typer.Option(
        "--limit", metavar="N", min=1, help="Stop after so many rounds, or cycles.")] = 10_000_000,
    seed: Annotated[int | None, typer.Option(
        "--random", metavar="SEED", help="In each round, cores execute their instructions in "
        "random order.")] = None,
    track: Annotated[list[str] | None, typer.Option(
        "--track", metavar="PACKETS", help="Follow these packets through the network, of cycle and "
        "rtl: all, or 'from=0,1 to=1,1 address=0x11000000..0x110000ff type=read,write', of which "
        "each term may be left out. Types: " + ", ".join(TYPES) + " (a fetch is a read). May be "
        "repeated.")] = None,
    chart: Annotated[Path | None, typer.Option(
        "--chart", metavar="FILE", help="Draw the stations of the first tracked packets: .svg, "
        ".png or .pdf.")] = None,
    trace: Annotated[Path | None, typer.Option(
        "--trace", metavar="FILE", help="Write the stations of the tracked packets for Perfetto "
        f"(ui.perfetto.dev): .json; of the first {_TRACKED:,}.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(
        "--checkpoint", metavar="FILE", help="Write the whole state before cycle --at into a file, "
        "and go on; of --model cycle.")] = None,
    at: Annotated[int | None, typer.Option(
        "--at", metavar="CYCLE", min=0, help="When --checkpoint is written.")] = None,
    resume: Annotated[Path | None, typer.Option(
        "--resume-from", metavar="FILE", help="Go on from a checkpoint, which has grid and "
        "programs; with --model cycle.")] = None,
    switch_at: Annotated[str | None, typer.Option(
        "--switch-at", metavar="PLACE", help="Begin on the functional model, and go on with "
        "--model cycle as soon as a core is about to execute the instruction at this address or "
        "function.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run programs on a grid of tiles, on a model or on the RTL.

        cyclebound shmac run hello.c
        cyclebound shmac run hello.c --model rtl
        cyclebound shmac run hello --grid PP/PP
        cyclebound shmac run barrier --grid PPP/PLP/PPP
        cyclebound shmac run ring --grid PP/PP --model cycle --track "to=0,1 type=write"
        cyclebound shmac run sort --model cycle --switch-at main --checkpoint c.json --at 5000
        cyclebound shmac run --model cycle --resume-from c.json

    C is compiled for each tile that runs it. A program begins at main(), prints on its tile's
    console with printf(), and finds clock, tile number, locks and other tiles' memory in shmac.h.

    On the functional model, one instruction of each running core is a round; the clock of the tiles
    counts rounds, which are no cycles of any hardware. On the other two it counts cycles, the same
    ones. The simulator of a grid's RTL is built once, which takes a minute for four cores.

    A table shows the tracked packets by source, target and type: how many, and how many cycles from
    the first in which the core offers one to the one in which it has the response, or, of a plain
    write, in which the slave takes it; and how many of these it waited for other packets.

    What is initialised for long before it becomes interesting runs on the functional model up to
    --switch-at, and on by cycles from there, with empty networks and clocks that go on from the
    number of rounds. A run from a checkpoint is the same as the one that wrote it, cycle by cycle.

    Exit status 1: a program ended with another status than 0, or not at all; 2: a mistake in a file
    or in the call, which is named with its place.
    """
    if model not in _NAMES:
        raise UserError(f"--model is functional, cycle or rtl, not {model!r}")
    if model != "functional" and seed is not None:
        raise UserError("--random is an order of the functional model's; the hardware has its own")
    if track and model == "functional":
        raise UserError("--track follows packets, and the functional model has none: give --model "
                        "cycle or --model rtl")
    for option, path in (("--chart", chart), ("--trace", trace)):
        if path is not None and not track:
            raise UserError(f"{option} shows packets: give --track all, or which ones")
    if trace is not None and trace.suffix != ".json":
        raise UserError(f"--trace takes a file that ends in .json, not {trace}")
    if chart is not None and chart.suffix not in FORMATS:
        raise UserError(f"--chart takes a file that ends in {', '.join(FORMATS)}, not {chart}")
    _check_states(model, checkpoint, at, resume, switch_at)
    if resume is not None and (program is not None or configuration is not None or tiles
                               or grid != "P"):
        raise UserError("--resume-from has its grid and programs; name none")
    if resume is not None and track:
        raise UserError("--track cannot follow packets that were under way at a checkpoint; track "
                        "them in the run that wrote it")
    tracker = Tracker(map(choice_of, track), most=_TRACKED) if track else None
    switched = ""
    with progress_bars() as tell:
        if resume is not None:
            going = load_checkpoint(resume)
            setup = going.setup
        else:
            setup = setup_of(program, grid, configuration,
                             [tile_named(text) for text in tiles or ()], ram, endian,
                             maker(compiler, optimize, defines), tell)
        lines = Lines(tell.console.print, many=len(setup.programs) > 1, silent=as_json)
        if model == "rtl":
            done = run_rtl(setup, limit=limit, bypass=bypass, console=lines, tracker=tracker,
                           tell=tell)
        elif model == "cycle":
            if resume is None:
                going = CycleRun(setup, bypass=bypass, tracker=tracker)
            going.console = lines
            if switch_at is not None:
                rounds = switch(going, _places(switch_at, setup), limit=limit, tell=tell)
                switched = f"switched from the functional model after {rounds:,} rounds"
            if checkpoint is not None and at is not None:
                _save(going, checkpoint, at, limit, tell)
            done = run_cycles(going, limit=limit, tell=tell)
        else:
            done = run_model(setup, limit=limit, seed=seed, console=lines, tell=tell)
        lines.end()
    unit = "rounds" if model == "functional" else "cycles"
    written = _write(tracker.tracks, chart, trace) if tracker is not None else []
    if as_json:
        print(json.dumps({
            "model": model, unit: done.rounds, "ended": done.ended,
            "tiles": [{"tile": list(tile), **asdict(result),
                       "console": result.console.decode("utf-8", "replace")}
                      for tile, result in done.tiles.items()],
            "uarts": [{"tile": list(tile), "sent": sent.decode("utf-8", "replace")}
                      for tile, sent in done.sent.items()],
            **({} if tracker is None else {
                "flows": [asdict(flow) for flow in flows(tracker.tracks)],
                "left_out": tracker.left_out})}, indent=2))
    else:
        _show(done, limit, model=model, unit=unit)
        if switched:
            console().print(switched, highlight=False)
        if tracker is not None:
            _show_flows(tracker, written)
    if done.failed:
        raise typer.Exit(1)


def _show(done: ShmacRun, limit: int, *, model: str, unit: str) -> None:
    table = Table()
    counted = model != "functional"
    for heading in ("tile", "program", "exit status", *(["cycles"] if counted else []),
                    "instructions", "exceptions",
                    *(["CPI"] if counted else ["failed stores"])):
        table.add_column(heading, justify="left" if heading in ("tile", "program") else "right")
    for tile, result in done.tiles.items():
        status = "not ended" if result.status is None else str(result.status)
        table.add_row(f"({tile[0]}, {tile[1]})", Path(result.program).name, status,
                      *([f"{result.cycles:,}"] if counted else []),
                      f"{result.instructions:,}", f"{result.exceptions:,}",
                      f"{(result.cycles or 0) / max(result.instructions, 1):.2f}" if counted
                      else f"{result.failed_stores:,}",
                      style=None if result.status == 0 else "red")
    screen = console()
    print_table(table, screen)
    total = sum(result.instructions for result in done.tiles.values())
    screen.print(f"{_NAMES[model]}: {done.rounds:,} {unit}, {total:,} "
                 f"instructions in {done.seconds:.1f} CPU-s", highlight=False)
    for tile, result in done.tiles.items():
        if result.status is None:
            screen.print(f"tile ({tile[0]}, {tile[1]}) had not ended after {limit:,} {unit}: it "
                         f"was at {result.at}; --limit N allows more", highlight=False,
                         soft_wrap=True)


def _check_states(model: str, checkpoint: Path | None, at: int | None, resume: Path | None,
                  switch_at: str | None) -> None:
    for option, given in (("--checkpoint", checkpoint), ("--resume-from", resume),
                          ("--switch-at", switch_at)):
        if given is not None and model != "cycle":
            raise UserError(f"{option} is of the golden model by cycles: give --model cycle")
    if (checkpoint is None) != (at is None):
        raise UserError("--checkpoint FILE and --at CYCLE go together")
    if resume is not None and switch_at is not None:
        raise UserError("--switch-at begins on the functional model, and --resume-from does not")


def _places(text: str, setup: Setup) -> dict[tuple[int, int], int]:
    """Where ``--switch-at`` is, in each core's program. Raises `UserError`."""
    try:
        place = int(text, 0)
    except ValueError:
        found = {tile: symbol.address for tile, program in setup.programs.items()
                 if (symbol := program.symbol(text)) is not None}
        if not found:
            raise unknown("address, and no function of these programs,", text, sorted({
                symbol.name for program in setup.programs.values() for symbol in program.symbols
                if symbol.kind == "function"})) from None
        return found
    if not 0 <= place < 1 << 32 or place % 4:
        raise UserError("--switch-at takes a function, or an address of 32 bits, a multiple of 4, "
                        f"not {text}")
    return dict.fromkeys(setup.programs, place)


def _save(run: CycleRun, path: Path, at: int, limit: int, tell: Progress) -> None:
    """Go on to a cycle, and write a checkpoint. Raises `UserError`."""
    if not run.cycle <= at <= limit:
        raise UserError(f"--at must be {run.cycle:,} to {limit:,}, the cycles of this run, "
                        f"not {at:,}")
    run_cycles(run, limit=at, tell=tell)
    if run.cycle < at:
        raise UserError(f"--at {at:,} is never: all programs had ended after {run.cycle:,} cycles")
    save_checkpoint(run, path)


def _write(tracks: list[Track], chart: Path | None, trace: Path | None) -> list[str]:
    """Draw tracked packets; the files that were written. Raises `UserError`."""
    if chart is not None:
        from cyclebound.sim.pictures.packets import packets  # matplotlib takes a second to load

        write(packets(tracks), chart, "--chart")
    if trace is not None:
        try:
            trace.write_text(json.dumps(packet_trace(tracks)), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {trace}: {error.strerror}") from None
    return [str(path) for path in (chart, trace) if path is not None]


def _show_flows(tracker: Tracker, written: list[str]) -> None:
    screen, table = console(), Table()
    for heading in ("from", "to", "type", "packets", "least", "mean", "most", "waited, mean",
                    "under way"):
        table.add_column(heading, justify="left" if heading in ("from", "to", "type") else "right")
    for flow in flows(tracker.tracks):
        seen = ([f"{flow.least:,}", f"{flow.mean:,.1f}", f"{flow.most:,}", f"{flow.waited:,.1f}"]
                if flow.packets else ["-"] * 4)
        table.add_row("({}, {})".format(*flow.source), "({}, {})".format(*flow.target), flow.type,
                      f"{flow.packets:,}", *seen, f"{flow.under_way:,}")
    if tracker.tracks:
        print_table(table, screen)
    more = (f", and {tracker.left_out:,} after these that are not in the table"
            if tracker.left_out else "")
    screen.print(f"tracked: {len(tracker.tracks):,} packets{more}; latencies in cycles",
                 highlight=False)
    for path in written:
        screen.print(f"written: {path}", highlight=False, soft_wrap=True)


@shmac.command()
def gates(
    grid: GridLayout = "P",
    period: Annotated[int | None, typer.Option(
        "--period", metavar="CYCLES", help="After which the table repeats; the default is the "
        "least that there is.")] = None,
    bypass: Annotated[bool, typer.Option(
        "--bypass/--no-bypass", help="Cores reach their own memory past the router, or by it.")
        ] = True,
    as_json: AsJson = False,
) -> None:
    """A table of TDMA gates: when each core's requests may go, so that none ever meet.

        cyclebound shmac gates --grid PP/PP

    With these gates a program takes the same cycles whatever others do. The table is checked by
    another way than the one in which it was found.
    """
    layout = load_layout(grid)
    found = gates_of(layout, bypass=bypass, period=period)
    for met in meetings(layout, found, bypass=bypass):
        raise AssertionError(f"{met}: the solver is wrong")
    if as_json:
        print(json.dumps({"period": found.period, "opens": list(found.opens.values())}))
        return
    print(f"period: {found.period} cycles")
    for tile, opens in found.opens.items():
        print("core ({}, {}): cycle {}".format(*tile, opens))


@shmac.command("compile")
def compile_(
    sources: Annotated[list[Path], typer.Argument(
        metavar="FILE.c", help="C sources.")],
    tile: Annotated[str, typer.Option(
        "--tile", "-t", metavar="ROW,COLUMN", help="The tile that it is linked for.")] = "0,0",
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE", help="The ELF file; the default is the first source's "
        "name with .elf.")] = None,
    ram: Ram = RAM_TEXT,
    endian: Endian = "big",
    compiler: CompilerName = "",
    optimize: Optimization = "2",
    defines: Defines = None,
) -> None:
    """Compile C for a tile: an ELF file with start-up code and a small library.

        cyclebound shmac compile hello.c --tile 1,1 -o hello.elf

    The library: stdio.h (printf on the tile's console), stdlib.h (malloc from the tile's memory),
    string.h, assert.h, and shmac.h (clock, tile number, locks, other tiles' memory). Floating point
    is refused; 64-bit integers are there. Every word of the code is looked up in the table of the
    core's instructions.
    """
    target = target_of(tile_named(tile), ram_of(ram), endian)
    for source in sources:
        if source.suffix != ".c":
            raise UserError(f"a C source must end in .c, and {source} does not")
    path = output or Path(sources[0].with_suffix(".elf").name)
    made = compiled(sources, target, path, compiler=compiler, optimize=optimize,
                    defines=defines or ())
    code = sum(region.size for region in made.code)
    used = sum(region.size for region in made.regions)
    console().print(f"{path}: for tile ({target.row}, {target.column}), {code:,} bytes of "
                    f"instructions, {used:,} of {target.ram:,} bytes of memory", highlight=False)


@shmac.command()
def disassemble(
    program: ProgramFile,
    tile: Annotated[str, typer.Option(
        "--tile", "-t", metavar="ROW,COLUMN", help="The tile that C and assembly language are "
        "for.")] = "0,0",
    ram: Ram = RAM_TEXT,
    endian: Endian = "big",
    compiler: CompilerName = "",
    optimize: Optimization = "2",
    defines: Defines = None,
) -> None:
    """A program's code: labels, addresses, words, instructions."""
    target = target_of(tile_named(tile), ram_of(ram), endian)
    path = program_file(program)
    for line in listing(load_program(path, target, maker(compiler, optimize, defines))):
        print(line)


@shmac.command()
def programs() -> None:
    """The installed programs: name, and file."""
    for name in PROGRAMS:
        print(f"{name:12} {program_path(name)}")
