"""Arguments and options that the commands about SHMAC's programs share."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.golden.shmac.system import DEFAULT_RAM
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.files import compiled
from cyclebound.tools.shmac.compiler import Target
from cyclebound.tools.shmac.configuration import size_of
from cyclebound.tools.shmac.program import Program

__all__ = ["RAM_TEXT", "CompilerName", "Defines", "Endian", "Optimization", "ProgramFile", "Ram",
           "maker", "ram_of", "target_of", "tile_named"]

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
