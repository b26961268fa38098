"""Arguments and options that the commands about kernels share."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.tools.simd.wcet.timings import TIMINGS

__all__ = ["DataRoot", "GridText", "KernelFile", "KernelsFolder", "MachineName", "MostWords",
           "PartName", "Sizes", "Timing", "Width", "numbered", "policy_named", "sizes_of",
           "timed_grid"]

KernelFile = Annotated[str, typer.Argument(
    metavar="KERNEL", help="A .sas file, or the name of a kernel that is installed "
    "(`cyclebound simd kernels`).")]

KernelsFolder = Annotated[Path | None, typer.Option(
    "--kernels", metavar="DIR", help="The folder with the .sas files of Sim-D's authors, in a copy "
    "of their sources (github.com/RSpliet/Sim-D: src/kernels): take theirs instead of ours.")]

DataRoot = Annotated[Path | None, typer.Option(
    "--data-root", metavar="DIR", exists=True, file_okay=False, help="Where the files are that "
    ".data names; the default is the kernel's folder. Those above it are looked through, too.")]

GridText = Annotated[str | None, typer.Option(
    "--grid", "-g", metavar="X[,Y]", help="Items; an installed kernel has a grid of its own.")]

Width = Annotated[int | None, typer.Option(
    "--width", metavar="W", help="Width of a work-group in items; the default is the widest "
    "that is no wider than the grid.")]

Sizes = Annotated[list[str] | None, typer.Option(
    "--size", metavar="BUFFER=X,Y", help="Another size than the source's; all buffers are then "
    "laid out anew.")]

MachineName = Annotated[str, typer.Option(
    "--machine", metavar="NAME", help="paper: 128 lanes, 1,024 items. small: 8 and 64. With "
    "changes: 'small lanes=4 items=16 vectors=32 scratchpad_words=4096'.")]

PartName = Annotated[str, typer.Option(
    "--part", metavar="PART", help="The DRAM (`cyclebound dram parts`).")]

Timing = Annotated[str, typer.Option(
    "--timing", metavar="MODEL", help="Constants: "
    + "; ".join(f"{name}: {timing.says}" for name, timing in TIMINGS.items()) + ".")]


MostWords = Annotated[int, typer.Option(
    "--follow", metavar="WORDS", min=0, help="Words of accesses index by index that are followed "
    "one by one, where indexes follow from a work-item's place. Of accesses beyond that, each "
    "word is assumed to miss its row.")]


def policy_named(name: str, known: Iterable[Policy] = Policy) -> Policy:
    """One of these policies. Raises `UserError`, for the former name of one with its name."""
    if name == "hold":
        raise UserError("policy hold is now named compute, as Sim-D's paper names it; what was "
                        "named compute before is yield")
    names = [policy.value for policy in known]
    if name not in names:
        raise unknown("policy", name, names)
    return Policy(name)


def timed_grid(grid: Grid, timing: str) -> Grid:
    """A grid of a machine with the constants of one of `TIMINGS`. Raises `UserError`."""
    if timing not in TIMINGS:
        raise unknown("timing", timing, TIMINGS)
    return replace(grid, machine=TIMINGS[timing].machine(grid.machine))


def numbered(option: str, given: list[str] | None, what: str) -> dict[int, str]:
    """Options of the form NUMBER=TEXT."""
    texts: dict[int, str] = {}
    for setting in given or ():
        number, equals, text = setting.partition("=")
        if not equals or not number.isdecimal() or not text:
            raise UserError(f"{option} takes BUFFER={what}, not {setting!r}")
        if int(number) in texts:
            raise UserError(f"{option} names buffer {int(number)} twice")
        texts[int(number)] = text
    return texts


def sizes_of(given: list[str] | None) -> dict[int, tuple[int, int]]:
    """Options of the form NUMBER=X,Y."""
    sizes = {}
    for number, text in numbered("--size", given, "X,Y").items():
        x, comma, y = text.partition(",")
        if not x.isdecimal() or not (y if comma else "1").isdecimal():
            raise UserError(f"--size takes BUFFER=X,Y, whole numbers, not {text!r}")
        sizes[number] = int(x), int(y) if comma else 1
    return sizes
