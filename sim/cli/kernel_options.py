"""Options of commands that take a kernel in Python or C, with its arrays and constants."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cyclebound.golden.dataflow.kernel import Float, Floats, Kernel
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.cli.base import named_values
from cyclebound.sim.families.dataflow.files import read_array

__all__ = ["ArrayFiles", "ArrayZeros", "KernelName", "KernelPath", "Settings", "Threads",
           "arrays_of", "numbers_of"]

KernelPath = Annotated[Path, typer.Argument(
    metavar="KERNEL", help="A Python file with a function that has @kernel before it, or a "
    "file in C, OpenCL C or CUDA (.c, .cl, .cu).")]

ArrayFiles = Annotated[list[str] | None, typer.Option(
    "--data", "-d", metavar="NAME=FILE", help="An array: .npy, or .csv (numbers between commas "
    "and line ends). Once for each array.")]

ArrayZeros = Annotated[list[str] | None, typer.Option(
    "--zeros", metavar="NAME=COUNT", help="An array of so many zeros, for results.")]

Settings = Annotated[list[str] | None, typer.Option(
    "--set", "-s", metavar="NAME=VALUE", help="A constant of the kernel.")]

Threads = Annotated[int | None, typer.Option(
    "--threads", "-t", metavar="N", help="Number of threads; the default is the number of "
    "elements of the first array.")]

KernelName = Annotated[str | None, typer.Option(
    "--kernel", "-k", metavar="NAME", help="The kernel, if the file has several.")]


def numbers_of(kernel: Kernel, settings: list[str] | None) -> dict[str, float]:
    """The values that --set gives. Raises `UserError`."""
    numbers: dict[str, float] = {}
    for name, text in named_values("--set", settings).items():
        if name not in kernel.constants:
            raise unknown(f"constant of kernel {kernel.name}", name, kernel.constants)
        floating = kernel.parameters[name] is Float
        try:
            numbers[name] = float(text) if floating else int(text, 0)
        except ValueError:
            what = "a number" if floating else "a whole number"
            raise UserError(f"--set {name} takes {what}, not {text!r}") from None
    for name in kernel.constants:
        if name not in numbers:
            raise UserError(f"kernel {kernel.name} needs a value for {name}: --set {name}=VALUE")
    return numbers


def arrays_of(kernel: Kernel, data: list[str] | None, zeros: list[str] | None
              ) -> dict[str, np.ndarray]:
    """The arrays that --data and --zeros name. Raises `UserError`."""
    arrays: dict[str, np.ndarray] = {}
    for option, given in (("--data", data), ("--zeros", zeros)):
        for setting in given or ():
            name, equals, text = setting.partition("=")
            if not equals or not text:
                raise UserError(f"{option} takes NAME={'FILE' if option == '--data' else 'COUNT'}, "
                                f"not {setting!r}")
            if name not in kernel.arrays:
                raise unknown(f"array of kernel {kernel.name}", name, kernel.arrays)
            if name in arrays:
                raise UserError(f"array {name} is given twice")
            floats = kernel.parameters[name] is Floats
            if option == "--data":
                arrays[name] = read_array(text, floats=floats)
            elif text.isdecimal():
                arrays[name] = np.zeros(int(text), np.float32 if floats else np.int32)
            else:
                raise UserError(f"--zeros {name} takes a number of elements, not {text!r}")
    for name in kernel.arrays:
        if name not in arrays:
            raise UserError(f"kernel {kernel.name} needs array {name}: --data {name}=FILE or "
                            f"--zeros {name}=COUNT")
    return {name: arrays[name] for name in kernel.arrays}
