"""The command that lets GDB debug SHMAC's cores."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import console, progress_bars
from cyclebound.sim.families.shmac.debugger import Debugger
from cyclebound.sim.families.shmac.gdb_server import serve
from cyclebound.sim.families.shmac.options import (
    RAM_TEXT,
    CompilerName,
    ConfigurationFile,
    Defines,
    Endian,
    GridLayout,
    Lines,
    Optimization,
    ProgramOfAll,
    Ram,
    maker,
    setup_of,
    tile_named,
)
from cyclebound.sim.families.shmac.run import started

_LAST = 65_535


def gdb(
    program: ProgramOfAll = None,
    grid: GridLayout = "P",
    configuration: ConfigurationFile = None,
    tiles: Annotated[list[str] | None, typer.Option(
        "--tile", "-t", metavar="ROW,COLUMN", help="This core has a port for a debugger; may be "
        "repeated. The default: all cores with a program.")] = None,
    port: Annotated[int, typer.Option(
        "--port", metavar="N", min=0, max=_LAST, help="Of the first of these cores; the others "
        "have the following ones. 0: any that are free.")] = 3333,
    ram: Ram = RAM_TEXT,
    endian: Endian = "big",
    compiler: CompilerName = "",
    optimize: Optimization = "2",
    defines: Defines = None,
    limit: Annotated[int, typer.Option(
        "--limit", metavar="N", min=1, help="Once all debuggers have detached: stop after so many "
        "more rounds.")] = 10_000_000,
) -> None:
    """Let GDB debug programs on a grid of tiles, on the functional model.

        cyclebound shmac compile ring.c --tile 0,1 -o ring.elf
        cyclebound shmac gdb ring --grid PPPP --tile 0,1
        gdb-multiarch ring.elf -ex "target remote localhost:3333"

    Each core has a port of its own on this machine, one debugger at a time. A core stands before
    its first instruction until its debugger lets it go: step, continue, breakpoints, watchpoints on
    its own loads and stores, Ctrl-C; registers and the memories of all tiles, to read and to write.
    Of the devices nothing is read, since some change when they are.

    While a core with a debugger goes, the cores without one go, too, an instruction each in a
    round; when none goes, everything stands. So what happens depends only on what the debuggers
    say. A debugger that detaches leaves its core to itself; one whose connection breaks leaves it
    stopped for the next one. The command ends when each has detached or seen its program end, and
    the other programs have ended; or when a debugger says kill.

    GDB has to know MIPS: gdb-multiarch, or any GDB for mips. Where the ELF file does not say it:
    set architecture mips:3000, set endian big.
    """
    screen = console()
    lines = Lines(screen.print, many=True)
    with progress_bars() as tell:
        setup = setup_of(program, grid, configuration, (), ram, endian,
                         maker(compiler, optimize, defines), tell)
    chosen = [tile_named(text) for text in tiles or ()] or list(setup.programs)
    for tile in chosen:
        if tile not in setup.programs:
            raise UserError(f"--tile {tile[0]},{tile[1]} has no core with a program in this grid")
    chosen = list(dict.fromkeys(chosen))
    if port and port + len(chosen) - 1 > _LAST:
        raise UserError(f"--port must leave {len(chosen)} ports up to {_LAST:,}, not begin at "
                        f"{port}")
    system = started(setup, console=lines)
    killed = asyncio.run(serve(Debugger(system, chosen), port, say=lambda text: screen.print(
        text, highlight=False, soft_wrap=True)))
    if not killed:
        system.run(limit)
    lines.end()
    failed = killed
    for tile, loaded in setup.programs.items():
        core = system.cores[tile]
        failed |= core.status != 0
        said = (f"ended with status {core.status}" if core.status is not None
                else f"had not ended: at {loaded.where(core.machine.pc)}")
        screen.print("({}, {}) {}: {} after {:,} instructions".format(
            *tile, Path(loaded.name).name, said, core.instructions), highlight=False,
            soft_wrap=True)
    if failed:
        raise typer.Exit(1)
