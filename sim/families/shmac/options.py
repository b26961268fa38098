"""Arguments and options that the commands about SHMAC's programs share."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.golden.shmac.address_map import LOCAL_BITS
from cyclebound.golden.shmac.layout import Kind
from cyclebound.golden.shmac.system import DEFAULT_RAM
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.files import (
    SOURCES,
    compiled,
    load_configuration,
    load_layout,
    load_program,
    program_file,
)
from cyclebound.sim.families.shmac.run import Setup
from cyclebound.tools.shmac.compiler import Target
from cyclebound.tools.shmac.configuration import Configuration, size_of
from cyclebound.tools.shmac.program import Program

__all__ = ["RAM_TEXT", "CompilerName", "ConfigurationFile", "Defines", "Endian", "GridLayout",
           "Lines", "Optimization", "ProgramFile", "ProgramOfAll", "Ram", "maker", "ram_of",
           "setup_of", "target_of", "tile_named"]

ProgramFile = Annotated[str, typer.Argument(
    metavar="PROGRAM", help="C (.c), assembly language (.s), an ELF file, or the name of a program "
    "that is installed (`cyclebound shmac programs`).")]
Ram = Annotated[str, typer.Option(
    "--ram", metavar="BYTES", help="Memory of a tile, also with K or M.")]
Endian = Annotated[str, typer.Option(
    "--endian", metavar="ORDER", help="big or little: of C and assembly language. An ELF file says "
    "it itself.")]
CompilerName = Annotated[str, typer.Option(
    "--compiler", metavar="NAME", help="zig (pip install 'cyclebound\\[shmac]') or gcc (Debian's "
    "gcc-mips-linux-gnu); the default is the first that is installed.")]
Optimization = Annotated[str, typer.Option(
    "--optimize", "-O", metavar="LEVEL", help="0, 1, 2, 3 or s.")]
Defines = Annotated[list[str] | None, typer.Option(
    "--define", "-D", metavar="NAME[=VALUE]", help="A macro for C; may be repeated.")]
ProgramOfAll = Annotated[str | None, typer.Argument(
    metavar="PROGRAM", help="C (.c), assembly language (.s), an ELF file, or the name of a "
    "program that is installed; for all cores that --configuration gives none.")]
GridLayout = Annotated[str, typer.Option(
    "--grid", "-g", metavar="LAYOUT", help="A file with a character for each tile, or its rows "
    "with / between them: P core with RAM, R RAM, L RAM with LL/SC unit, J jump, C clock, U "
    "UART, . router only.")]
ConfigurationFile = Annotated[Path | None, typer.Option(
    "--configuration", "-c", metavar="FILE", help="Which tile has which program and memory: "
    "lines as `1,2: program = sort.c`, `*: ram = 128K`.")]
RAM_TEXT = f"{DEFAULT_RAM >> 10}K"


def tile_named(text: str) -> tuple[int, int]:
    """A tile as ROW,COLUMN. Raises `UserError`."""
    row, comma, column = text.partition(",")
    if not (comma and row.isdecimal() and column.isdecimal()
            and len(row) < 4 and len(column) < 4 and int(row) < 16 and int(column) < 16):
        raise UserError(f"--tile takes ROW,COLUMN, each 0 to 15, not {text!r}")
    return int(row), int(column)


def target_of(tile: tuple[int, int], ram: int, endian: str) -> Target:
    """What a program is compiled for. Raises `UserError`."""
    if endian not in ("big", "little"):
        raise UserError(f"--endian is big or little, not {endian!r}")
    return Target(*tile, ram=ram, big_endian=endian == "big")


def ram_of(text: str) -> int:
    """Bytes of a memory. Raises `UserError`."""
    try:
        return size_of(text)
    except ValueError as error:
        raise UserError(f"--ram {error}") from None


def maker(compiler: str, optimize: str, defines: list[str] | None
          ) -> Callable[[Path, Target], Program]:
    """What compiles a source into a program, and keeps no file of it."""
    def make(source: Path, target: Target) -> Program:
        with tempfile.TemporaryDirectory() as folder:
            made = compiled([source], target, Path(folder) / f"{source.stem}.elf",
                            compiler=compiler, optimize=optimize, defines=defines or ())
        return replace(made, name=str(source))

    return make


def setup_of(program: str | None, grid: str, configuration: Path | None,
             chosen: Sequence[tuple[int, int]], ram: str, endian: str,
             make: Callable[[Path, Target], Program],
             tell: Callable[[str, int, int], None]) -> Setup:
    """A grid with its programs, as options name them: ``program`` for the ``chosen`` cores, or for
    all, that the configuration gives none. Raises `UserError`.
    """
    layout = load_layout(grid)
    given = Configuration()
    if configuration is not None:
        given = load_configuration(configuration, layout)
    size = ram_of(ram)
    cores = layout.tiles(Kind.CORE)
    for tile in chosen:
        if tile not in cores:
            raise UserError(f"--tile {tile[0]},{tile[1]} has no core in this grid")
    if chosen and program is None:
        raise UserError("--tile is for PROGRAM, and there is none")
    sizes = {tile: given.ram.get(tile, size) for tile in layout.tiles()
             if (kind := layout.kind(tile)) is not None and kind.has_memory}
    files = {tile: configuration.parent / name for tile, name in given.programs.items()
             if configuration is not None}
    if program is not None:
        path = program_file(program)
        if path.suffix in SOURCES:
            for tile in chosen or cores:
                files.setdefault(tile, path)
        else:  # it says itself for which
            linked = load_program(path, target_of((0, 0), 1 << LOCAL_BITS, endian), make).tile
            if linked not in (chosen or cores):
                raise UserError(f"{path} is linked for tile ({linked[0]}, {linked[1]}), which "
                                + ("--tile does not name" if chosen else "has no core here"))
            files[linked] = path
    if not files:
        raise UserError("there is no program: name one, or a --configuration that does"
                        if cores else "there is no core P in this grid")
    programs: dict[tuple[int, int], Program] = {}
    for number, (tile, path) in enumerate(files.items()):
        tell("programs", number, len(files))
        loaded = load_program(path, target_of(tile, sizes[tile], endian), make)
        if loaded.tile != tile:
            raise UserError(f"{path} is linked for tile ({loaded.tile[0]}, {loaded.tile[1]}), "
                            f"not for ({tile[0]}, {tile[1]})")
        programs[tile] = loaded
    return Setup(layout, programs, sizes, given.jump)


class Lines:
    """What programs print, line by line; if there are many, each line with its tile.

    Parameters
    ----------
    show : callable
        Prints a line: ``rich.console.Console.print``.
    many, silent : bool
        Lines begin with their tile; nothing is printed.
    """

    def __init__(self, show: Callable[..., None], *, many: bool, silent: bool = False) -> None:
        self._show, self._many, self._silent = show, many, silent
        self._begun: dict[tuple[int, int], bytearray] = {}

    def __call__(self, tile: tuple[int, int], byte: int) -> None:
        line = self._begun.setdefault(tile, bytearray())
        if byte != 10:
            line.append(byte)
        if byte == 10 or len(line) >= 1 << 16:
            self._print(tile)

    def _print(self, tile: tuple[int, int]) -> None:
        if not self._silent:
            text = self._begun[tile].decode("utf-8", "replace")
            self._show(f"({tile[0]}, {tile[1]}) {text}" if self._many else text,
                       highlight=False, soft_wrap=True)
        self._begun[tile].clear()

    def end(self) -> None:
        """Print lines that have not ended."""
        for tile, line in self._begun.items():
            if line:
                self._print(tile)
