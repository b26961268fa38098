"""Commands about the user's own kernels on the fabric of units."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from cyclebound.golden.dataflow.kernel import Float, Floats, Kernel
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, app, console, progress_bars
from cyclebound.sim.drawing.drawing import FORMATS, write
from cyclebound.sim.families.dataflow.run import (
    ENGINES,
    KernelRun,
    Timing,
    hardware,
    load_kernel,
    read_array,
    run_kernel,
)

dataflow = Commands(no_args_is_help=True, help=GROUPS["dataflow"][1])
app.add_typer(dataflow, name="dataflow")


@dataflow.callback()
def _group() -> None:
    """Keeps ``run`` a word of its own while it is the only command."""


def _numbers(kernel: Kernel, settings: list[str] | None) -> dict[str, float]:
    """The values that --set gives."""
    numbers: dict[str, float] = {}
    for setting in settings or ():
        name, equals, text = setting.partition("=")
        if not equals:
            raise UserError(f"--set takes NAME=VALUE, not {setting!r}")
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


def _arrays(kernel: Kernel, data: list[str] | None, zeros: list[str] | None
            ) -> dict[str, np.ndarray]:
    """The arrays that --data and --zeros name."""
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


@dataflow.command()
def run(
    file: Annotated[Path, typer.Argument(
        metavar="KERNEL", help="A Python file with a function that has @kernel before it, or a "
        "file in C, OpenCL C or CUDA (.c, .cl, .cu).")],
    data: Annotated[list[str] | None, typer.Option(
        "--data", "-d", metavar="NAME=FILE", help="An array: .npy, or .csv (numbers between commas "
        "and line ends). Once for each array.")] = None,
    zeros: Annotated[list[str] | None, typer.Option(
        "--zeros", metavar="NAME=COUNT", help="An array of so many zeros, for results.")] = None,
    settings: Annotated[list[str] | None, typer.Option(
        "--set", "-s", metavar="NAME=VALUE", help="A constant of the kernel.")] = None,
    threads: Annotated[int | None, typer.Option(
        "--threads", "-t", metavar="N", help="Number of threads; the default is the number of "
        "elements of the first array.")] = None,
    grid: Annotated[str, typer.Option(
        "--grid", "-g", metavar="GRID", help="A configuration of dataflow.fabric (`cyclebound list "
        "dataflow.fabric`), or rows of units, as in SLLL/SCKL/LLLT.")] = "five_by_five",
    depth: Annotated[int | None, typer.Option(
        "--depth", metavar="N", help="Entries of all buffers: 2, 4, 8 or 16.")] = None,
    tid_width: Annotated[int | None, typer.Option(
        "--tid-width", metavar="BITS", help="Width of a thread's identifier: 2**BITS threads at "
        "most.")] = None,
    address_width: Annotated[int | None, typer.Option(
        "--address-width", metavar="BITS", help="Width of an address: 2**BITS words for all arrays."
        )] = None,
    on: Annotated[str, typer.Option(
        "--on", metavar="ENGINE", help="interpreter: results only, without timing. golden: the "
        "fabric's model, cycle by cycle. rtl: the hardware, on Verilator.")] = "golden",
    kernel: Annotated[str | None, typer.Option(
        "--kernel", "-k", metavar="NAME", help="The kernel, if the file has several.")] = None,
    hit: Annotated[int, typer.Option(metavar="CYCLES", help="Latency of a hit.")] = 4,
    miss: Annotated[int, typer.Option(metavar="CYCLES", help="Latency of a miss.")] = 40,
    miss_rate: Annotated[float, typer.Option(
        "--miss-rate", metavar="SHARE", help="Share of accesses that miss: 0 to 1.")] = 0.1,
    banks: Annotated[int, typer.Option(
        metavar="N", help="Banks of memory; 0: each load/store unit has a port of its own.")] = 32,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="DIR", help="Write every array afterwards, as DIR/NAME.npy."
        )] = None,
    picture: Annotated[Path | None, typer.Option(
        "--picture", metavar="FILE", help="Draw the mapped grid: .svg, .png or .pdf; of several "
        "configurations FILE-1, FILE-2 and so on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a kernel of your own: its result, its cycles, and their bound.

        cyclebound dataflow run saxpy.py --data x=x.csv --data y=y.csv \\
            --set a=2.5 --on rtl -o out

    The bound is computed before anything runs. The final memory is compared with the
    interpreter's. Exit status 1: they differ, or the bound is exceeded; 2: it cannot be run.
    """
    if on not in ENGINES:
        raise unknown("engine", on, ENGINES)
    if picture is not None and picture.suffix not in FORMATS:
        raise UserError(f"--picture takes a file that ends in {', '.join(FORMATS)}, not {picture}")
    if picture is not None and on == "interpreter":
        raise UserError("--picture shows a mapped grid, which the interpreter lacks; take "
                        "--on golden")
    program = load_kernel(file, kernel)
    fabric = hardware(grid, depth=depth, tid_width=tid_width, address_width=address_width)
    try:
        timing = Timing(hit, miss, miss_rate, banks)
    except ValueError as error:
        raise UserError(str(error)) from None
    arrays, constants = _arrays(program, data, zeros), _numbers(program, settings)
    if output is not None:
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make {output}: {error.strerror}") from None
    with progress_bars() as tell:
        ran = run_kernel(program, arrays, constants=constants, threads=threads, on=on,
                         fabric=fabric, timing=timing, tell=tell)
    written = _write(ran, output) if output is not None else []
    pictures = _draw(ran, picture) if picture is not None else []
    if as_json:
        print(json.dumps({
            "kernel": program.name, "on": on, "arrays": {
                name: array.tolist() for name, array in ran.arrays.items()},
            "cycles": ran.cycles, "bounds": ran.bounds, "problem": ran.problem,
            "loading": ran.loading, "faults": ran.faults, "shared": ran.shared,
            "differs": ran.differs, "written": written, "pictures": pictures}, indent=2))
    else:
        _say(ran, on, written + pictures)
    if ran.differs or ran.exceeded:
        raise typer.Exit(1)


def _write(ran: KernelRun, output: Path) -> list[str]:
    written = []
    for name, array in ran.arrays.items():
        try:
            np.save(output / f"{name}.npy", array)
        except OSError as error:
            raise UserError(f"cannot write {output / name}.npy: {error.strerror}") from None
        written.append(str(output / f"{name}.npy"))
    return written


def _draw(ran: KernelRun, picture: Path) -> list[str]:
    from cyclebound.sim.pictures.mapped import picture_of  # matplotlib takes a second to load
    written = []
    for number, part in enumerate(ran.parts):
        path = picture if len(ran.parts) == 1 else picture.with_stem(
            f"{picture.stem}-{number + 1}")
        busy = ran.busy[number] if ran.busy else {}
        write(picture_of(part, busy, ran.cycles[number]), path, "--picture")
        written.append(str(path))
    return written


def _say(ran: KernelRun, on: str, written: list[str]) -> None:
    screen = console()

    def line(text: str, *, style: str | None = None) -> None:
        screen.print(text, highlight=False, markup=False, soft_wrap=True, style=style)

    for name, array in ran.arrays.items():
        more = f" ... ({len(array)} elements)" if len(array) > 8 else ""
        line(f"{name}: {' '.join(map(str, array[:8]))}{more}")
    for fault in ran.faults[:8]:
        line(f"outside of its array, not made: {fault}", style="yellow")
    if len(ran.faults) > 8:
        line(f"and {len(ran.faults) - 8} more accesses outside of arrays", style="yellow")
    for shared in ran.shared[:8]:
        line(f"shared, and stored: {shared}; what becomes of it may depend on which is first",
             style="yellow")
    if on != "interpreter":
        for number, part in enumerate(ran.parts):
            most = f", bound {ran.bounds[number]}" if ran.bounds else ""
            line(f"configuration {number + 1}: {len(part.places)} of {len(part.grid.units)} units, "
                 f"{ran.cycles[number]} cycles{most}")
        total = ran.problem or f"bound {ran.bound}"
        line(f"{sum(ran.cycles)} cycles from start to done, {total}; loading a configuration takes "
             f"{ran.loading} more")
    for path in written:
        line(f"written: {path}")
    if ran.exceeded:
        line("the bound is exceeded", style="red")
    for name in ran.differs:
        line(f"{name} is not what the interpreter makes of it", style="red")
