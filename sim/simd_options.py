"""What commands about kernels share on the command line."""

from typing import Annotated

import typer

from cyclebound.sim.errors import UserError

__all__ = ["KernelFile", "numbered", "sizes_of"]

KernelFile = Annotated[str, typer.Argument(
    metavar="KERNEL", help="A .sas file, or the name of a kernel that is installed "
    "(`cyclebound simd kernels`).")]


def numbered(option: str, given: list[str] | None, what: str) -> dict[int, str]:
    """Options of the form NUMBER=TEXT."""
    found: dict[int, str] = {}
    for each in given or ():
        number, equals, text = each.partition("=")
        if not equals or not number.isdecimal() or not text:
            raise UserError(f"{option} takes BUFFER={what}, not {each!r}")
        if int(number) in found:
            raise UserError(f"{option} names buffer {int(number)} twice")
        found[int(number)] = text
    return found


def sizes_of(given: list[str] | None) -> dict[int, tuple[int, int]]:
    """Options of the form NUMBER=X,Y."""
    found = {}
    for number, text in numbered("--size", given, "X,Y").items():
        x, comma, y = text.partition(",")
        if not x.isdecimal() or not (y if comma else "1").isdecimal():
            raise UserError(f"--size takes BUFFER=X,Y, whole numbers, not {text!r}")
        found[number] = int(x), int(y) if comma else 1
    return found
