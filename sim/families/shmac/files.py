"""Layouts, configurations and programs for SHMAC's tiles, from a user's files."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from cyclebound.golden.shmac.layout import Kind, Layout, LayoutError, parse_layout
from cyclebound.golden.user_files import bytes_in, text_in
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.toolchain import cache_root
from cyclebound.tools.shmac.assembler import AssemblyError
from cyclebound.tools.shmac.compiler import CompileError, Objects, Target, compile_c
from cyclebound.tools.shmac.configuration import (
    Configuration,
    ConfigurationError,
    parse_configuration,
)
from cyclebound.tools.shmac.installed import PROGRAMS, program_path
from cyclebound.tools.shmac.program import Program, ProgramError, assembled, load_elf

__all__ = ["SOURCES", "compiled", "load_configuration", "load_layout", "load_program",
           "program_file"]

SOURCES = (".c", ".s")
"""How files end that are made into a program for each tile; others are ELF files."""

_LAYOUT = 1 << 16  # bytes, of a configuration too
_SOURCE = 1 << 22
_ELF = 1 << 26
_SHORT = "".join(re.escape(kind.value) for kind in Kind)


def _read(path: Path, read: Callable, most: int):
    try:
        return read(path, most)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} must be UTF-8") from None


def load_layout(given: str) -> Layout:
    """The layout in a file, or rows with ``/`` between them (``PP/RL``). Raises `UserError`."""
    short = re.fullmatch(f"[{_SHORT}/]+", given) and not Path(given).is_file()
    if not short and not Path(given).exists():
        raise UserError(f"--grid: there is no file {given}; a layout itself has only the "
                        f"characters {' '.join(kind.value for kind in Kind)} and / between rows")
    try:
        if short:
            return Layout(tuple(given.split("/")))
        return parse_layout(_read(Path(given), text_in, _LAYOUT))
    except LayoutError as error:
        raise UserError(f"{'--grid' if short else given}: {error}") from None


def load_configuration(path: Path, layout: Layout) -> Configuration:
    """What a file says of a grid's tiles. Raises `UserError`."""
    try:
        return parse_configuration(_read(path, text_in, _LAYOUT), layout)
    except ConfigurationError as error:
        raise UserError(f"{path}: {error}") from None


def program_file(name: str) -> Path:
    """The file of a program: one of the user's, or one that is installed, by name. Raises
    `UserError`."""
    path = Path(name)
    if path.is_file() or path.suffix or "/" in name:
        return path
    if name in PROGRAMS:
        return program_path(name)
    raise unknown("program (a file that ends in .c or .s, an ELF file, or one that is installed)",
                  name, PROGRAMS)


def load_program(path: Path, target: Target, make: Callable[[Path, Target], Program]) -> Program:
    """The program of a file for a tile.

    ``.c`` is compiled by ``make``, ``.s`` assembled; all else must be an ELF file, which says
    itself which tile and byte order it is for. Raises `UserError`.
    """
    if path.suffix == ".c":
        return make(path, target)
    try:
        if path.suffix == ".s":
            text = _read(path, text_in, _SOURCE)
            program = assembled(text, str(path), target.row, target.column,
                                big_endian=target.big_endian)
        else:
            program = load_elf(_read(path, bytes_in, _ELF), str(path))
            program.check_begins()
        program.check_fits(target.ram)
    except AssemblyError as error:
        raise UserError(f"{path}: {error}") from None
    except ProgramError as error:
        raise UserError(str(error)) from None
    return program


def compiled(sources: Sequence[Path], target: Target, output: Path, *, compiler: str = "",
             optimize: str = "2", defines: Sequence[str] = (), objects: Objects | None = None
             ) -> Program:
    """Compile C, as `compile_c` does; what the compiler says is printed on standard error. Raises
    `UserError`.
    """
    for source in sources:
        _read(source, text_in, _SOURCE)
    try:
        program, log = compile_c(sources, target, output, compiler=compiler, optimize=optimize,
                                 defines=defines, cache=cache_root() / "zig", objects=objects)
    except CompileError as error:
        sys.stderr.write(error.log)
        raise UserError(str(error)) from None
    sys.stderr.write(log)
    return program
