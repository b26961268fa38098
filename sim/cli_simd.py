"""Commands about kernels of the SIMD accelerator."""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cyclebound.golden.simd.isa import Instruction, decode, encode
from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.sim.cli import GROUPS, app
from cyclebound.sim.errors import UserError
from cyclebound.sim.simd_files import load_program
from cyclebound.tools.simd import disassembler, isa_page

simd = typer.Typer(no_args_is_help=True, help=GROUPS["simd"][1])
app.add_typer(simd, name="simd")

KernelFile = Annotated[str, typer.Argument(
    metavar="KERNEL", help="A .sas file, or the name of a kernel that is installed "
    "(`cyclebound simd kernels`).")]


@simd.command()
def isa() -> None:
    """The instruction set: every operation with its operands, encoding and timing, in Markdown."""
    print(isa_page.page(), end="")


@simd.command()
def asm(
    kernel: KernelFile,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Write the instructions, 64 bits each, the lowest "
        "byte first.")] = None,
) -> None:
    """Assemble a kernel: address, bits and text of each instruction.

    Every line that does not assemble is named, with file, line, column and rule. Exit status 2.
    """
    program = load_program(kernel)
    words = [encode(each) for each in program.instructions]
    if output is None:
        print(disassembler.listing(program.instructions, words), end="")
        return
    try:
        output.write_bytes(np.array(words, dtype="<u8").tobytes())
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None
    print(f"{output}: {len(words)} instructions")


@simd.command()
def disasm(
    file: Annotated[Path, typer.Argument(
        metavar="FILE", help="Instructions as `asm -o` writes them, or a .sas file.")],
) -> None:
    """Disassemble: instructions as the assembler reads them."""
    if file.suffix == ".sas":
        print(disassembler.source(load_program(str(file))), end="")
        return
    instructions = _decoded(file)
    print(disassembler.listing(instructions, [encode(each) for each in instructions]), end="")


def _decoded(file: Path) -> list[Instruction]:
    """The instructions of a binary file. Raises `UserError`."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from None
    if len(content) % 8 or not 8 <= len(content) <= 8 * INSTRUCTIONS:
        raise UserError(f"{file}: a kernel must have 1 to {INSTRUCTIONS} instructions of 8 bytes, "
                        f"not {len(content)} bytes")
    found = []
    for index, word in enumerate(np.frombuffer(content, dtype="<u8").tolist()):
        try:
            found.append(decode(word))
        except ValueError as error:
            print(f"{file}: instruction {index}: {error}", file=sys.stderr)
    if len(found) < len(content) // 8:
        raise UserError(f"{file}: {len(content) // 8 - len(found)} of {len(content) // 8} "
                        "patterns are no instructions")
    return found
