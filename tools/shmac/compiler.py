"""C for a tile of SHMAC: from sources to an ELF file, with the small library in the folder ``c``.

The compiler is ``ziglang`` from PyPI (clang; ``pip install 'cyclebound[shmac]'``) or Debian's
``mips-linux-gnu-gcc``. Either makes MIPS-I; every word of the code is then looked up in the table
of the core's instructions (`cyclebound.golden.shmac.isa`), so that nothing else gets through.

A program begins at its tile's `entry_of`, has its handler of exceptions at
`VECTOR_OFFSET`, and its stack at the end of the tile's memory, which grows towards the heap.
"""

import importlib.util
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cyclebound.golden.shmac.address_map import LOCAL_BITS, SYSTEM_BASE, tile_base
from cyclebound.tools.shmac.configuration import LEAST_RAM
from cyclebound.tools.shmac.disassembler import what_it_is
from cyclebound.tools.shmac.program import Program, ProgramError, load_elf, unknown_instructions

__all__ = ["COMPILERS", "CompileError", "Objects", "Target", "compile_c",
           "compiler_named"]

COMPILERS = ("zig", "gcc")
_LIBRARY = Path(__file__).parent / "c"
_SOURCES = ("start.c", "stdlib.c", "stdio.c", "string.c", "long.c")
_STACK = 0x400  # bytes that the heap leaves to the stack, at least
_WARNINGS = ("MIPS-I support is experimental",)  # of zig, always
_SECONDS = 120
_MOST_BYTES = 1 << 26  # of a file that a compiler writes

Objects = dict[tuple[str, ...], bytes]
"""Compiled sources, by the command that compiled them."""

_library: Objects = {}

_SCRIPT = """
OUTPUT_ARCH(mips)
ENTRY(_start)
PHDRS {{ text PT_LOAD FLAGS(5); rodata PT_LOAD FLAGS(4); data PT_LOAD FLAGS(6); }}
SECTIONS
{{
  . = {base:#x};
  .text : {{ KEEP(*(.text.start)) *(.text .text.*) . = ALIGN(8); }} :text =0
  .rodata : ALIGN(8) {{ *(.rodata .rodata.*) . = ALIGN(8); }} :rodata
  .data : ALIGN(8) {{ *(.data .data.* .sdata .sdata.* .got .got.*) . = ALIGN(8); }} :data
  .bss (NOLOAD) : ALIGN(8) {{ __bss = .; *(.bss .bss.* .sbss .sbss.* COMMON) . = ALIGN(8); }} :data
  __bss_end = .;
  __heap = ALIGN(8);
  __stack_top = {top:#x};
  __heap_end = {top:#x} - {stack:#x};
  /DISCARD/ : {{ *(.MIPS.abiflags .reginfo .comment .pdr .gnu.attributes .eh_frame* .note*
                   .mdebug*) }}
}}
"""


class CompileError(ValueError):
    """Sources that are no program for a tile. ``log`` is what the compiler said."""

    def __init__(self, text: str, log: str = "") -> None:
        super().__init__(text)
        self.log = log


@dataclass(frozen=True)
class Target:
    """What a program is compiled for.

    Attributes
    ----------
    row, column : int
        The tile.
    ram : int
        Bytes of its memory.
    big_endian : bool
        Byte order of the core.
    """

    row: int = 0
    column: int = 0
    ram: int = 1 << 16
    big_endian: bool = True

    def __post_init__(self) -> None:
        """Raises `ValueError`."""
        for name, value in (("row", self.row), ("column", self.column)):
            if not 0 <= value <= 15:
                raise ValueError(f"{name} must be 0 to 15, not {value}")
        if not LEAST_RAM <= self.ram <= 1 << LOCAL_BITS or self.ram % 8:
            raise ValueError(f"memory must be {LEAST_RAM:,} to {1 << LOCAL_BITS:,} bytes, a "
                             f"multiple of 8, not {self.ram:,}")


def compiler_named(name: str = "") -> str:
    """The compiler to take: that of this name, else the first of `COMPILERS` that is installed.

    Raises `CompileError` if there is none.
    """
    there = {"zig": importlib.util.find_spec("ziglang") is not None,
             "gcc": shutil.which("mips-linux-gnu-gcc") is not None}
    if name:
        if name not in COMPILERS:
            raise CompileError(f"a compiler is {' or '.join(COMPILERS)}, not {name!r}")
        if there[name]:
            return name
    elif found := [name for name in COMPILERS if there[name]]:
        return found[0]
    missing = {"zig": "pip install 'cyclebound[shmac]'",
               "gcc": "apt-get install gcc-mips-linux-gnu"}
    raise CompileError(f"there is no compiler for MIPS-I: {missing[name or 'zig']}")


def compile_c(sources: Sequence[Path], target: Target, output: Path, *, compiler: str = "",
              optimize: str = "2", defines: Sequence[str] = (), cache: Path | None = None,
              objects: Objects | None = None) -> tuple[Program, str]:
    """Compile and link C sources into an ELF file; the program in it, and what the compiler said.

    Parameters
    ----------
    compiler : str
        One of `COMPILERS`; empty: whichever is installed.
    optimize : str
        ``0``, ``1``, ``2``, ``3`` or ``s``.
    defines : sequence of str
        Macros, as NAME or NAME=VALUE.
    cache : Path, optional
        Where zig keeps what it has compiled.
    objects : dict, optional
        What is compiled, and what has been: of programs for several tiles, only the last step, to
        link them, is done for each.

    Raises
    ------
    CompileError
        What the compiler refuses, and what the core or the tile cannot have.
    """
    if optimize not in ("0", "1", "2", "3", "s"):
        raise CompileError(f"optimization is 0, 1, 2, 3 or s, not {optimize!r}")
    compiler = compiler_named(compiler)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        script = folder / "tile.ld"
        top = min(tile_base(target.row, target.column) + target.ram, SYSTEM_BASE)
        script.write_text(_SCRIPT.format(base=tile_base(target.row, target.column), top=top,
                                         stack=_STACK))
        run = _Compiler(compiler, target, optimize, tuple(defines), folder, cache)
        parts = [run.object(source, folder / f"{number}.o", {} if objects is None else objects,
                            own=True) for number, source in enumerate(sources)]
        parts += [run.object(_LIBRARY / name, folder / f"lib-{name}.o", _library)
                  for name in _SOURCES]
        linked = folder / "program.elf"
        run.link(parts, script, linked)
        content = linked.read_bytes()
    name = output.name
    try:
        program = load_elf(content, name)
        program.check_fits(target.ram)
    except ProgramError as error:
        raise CompileError(str(error), run.log) from None
    heap = program.symbol("__heap")
    if heap is None or heap.address > top - _STACK:
        used = program.end - tile_base(target.row, target.column)
        raise CompileError(f"{name}: it takes {used:,} of {target.ram:,} bytes, and leaves less "
                           f"than {_STACK:,} for the stack", run.log)
    for address, word in unknown_instructions(program):
        raise CompileError(f"{name}: {word:#010x} at {program.where(address)} is "
                           f"{what_it_is(word)}", run.log)
    try:
        output.write_bytes(content)
    except OSError as error:
        raise CompileError(f"cannot write {output}: {error.strerror}", run.log) from None
    return program, run.log


def _limited() -> None:
    """In a compiler's process: no file is larger, whatever a source makes of a few characters."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    limit = _MOST_BYTES if most == resource.RLIM_INFINITY else min(_MOST_BYTES, most)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))


class _Compiler:
    """A compiler's command lines."""

    def __init__(self, kind: str, target: Target, optimize: str, defines: tuple[str, ...],
                 folder: Path, cache: Path | None) -> None:
        self.kind, self.log, self.folder = kind, "", folder
        common = [f"-O{optimize}", "-g0", "-fno-pic", "-fomit-frame-pointer", "-ffunction-sections",
                  "-fdata-sections", "-fno-asynchronous-unwind-tables", f"-I{_LIBRARY}",
                  "-fno-common", "-std=c11", "-UNDEBUG"]
        if kind == "zig":
            order = "mips" if target.big_endian else "mipsel"
            self.command = [sys.executable, "-m", "ziglang", "cc", "-target",
                            f"{order}-freestanding-none", "-mcpu=mips1"]
            self.flags = [*common, "-Xclang", "-target-feature", "-Xclang", "+noabicalls",
                          "-Xclang", "-target-feature", "-Xclang", "+soft-float",
                          "-fno-sanitize=all", "-fno-stack-protector", "-G0", "-mllvm",
                          "-mno-check-zero-division"]
            self.linking = ["-Wl,--entry=_start"]
        else:
            self.command = ["mips-linux-gnu-gcc", "-EB" if target.big_endian else "-EL",
                            "-march=mips1", "-mabi=32", "-mfp32", "-msoft-float"]
            self.flags = [*common, "-mno-abicalls", "-fno-stack-protector", "-fno-pie", "-G0",
                          "-mno-check-zero-division", "-mno-llsc"]
            self.linking = ["-no-pie", "-Wl,--build-id=none"]
        self.defines = [f"-D{define}" for define in defines]
        kept = str(cache or folder)
        self.environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": kept,
                            "ZIG_LOCAL_CACHE_DIR": kept, "LC_ALL": "C"}

    def object(self, source: Path, output: Path, objects: Objects, *, own: bool = False) -> Path:
        """Compile one source, unless it is among the objects; ``own``: it is the user's."""
        # hosted: main() returns 0 by itself
        more = (["-fhosted", "-Wall", "-Wno-unused-command-line-argument", *self.defines] if own
                else ["-w", "-ffreestanding", "-fno-builtin"])
        words = (*self.command, *self.flags, *more, "-c", str(source))
        if words not in objects:
            self.run([*self.flags, *more, "-c", str(source), "-o", str(output)],
                     f"{source} does not compile")
            objects[words] = output.read_bytes()
        output.write_bytes(objects[words])
        return output

    def link(self, objects: list[Path], script: Path, output: Path) -> None:
        try:
            self.run([*self.linking, "-nostdlib", "-static", f"-Wl,-T,{script}",
                      "-Wl,--gc-sections", "-Wl,-z,max-page-size=4", "-Wl,--no-warn-mismatch"
                      if self.kind == "gcc" else "-Wl,-z,norelro", *map(str, objects), "-o",
                      str(output)], "it does not link")
        except CompileError as error:
            missing = sorted(set(re.findall(
                r"undefined (?:symbol: |reference to [`'\"])([\w.]+)", error.log)))
            if not missing:
                raise
            floats = [name for name in missing if re.fullmatch(
                r"__\w*[sdt]f[sdtx]?[i2345]?\w*", name)]
            if floats:
                raise CompileError(f"the core has no floating point, and the library none either: "
                                   f"{', '.join(floats)}") from None
            raise CompileError(f"the program and its library do not have "
                               f"{', '.join(missing)}") from None

    def run(self, words: list[str], what: str) -> None:
        try:
            done = subprocess.run([*self.command, *words], env=self.environment, text=True,
                                  capture_output=True, errors="replace", timeout=_SECONDS,
                                  stdin=subprocess.DEVNULL, preexec_fn=_limited)
        except subprocess.TimeoutExpired:
            raise CompileError(f"{what}: {self.kind} took more than {_SECONDS} seconds") from None
        except OSError as error:
            raise CompileError(f"{what}: {self.kind} cannot be run: {error.strerror}") from None
        said = "".join(line for line in done.stderr.splitlines(keepends=True)
                       if not any(known in line for known in _WARNINGS))
        self.log += said
        if done.returncode:
            raise CompileError(what, said or done.stdout)
