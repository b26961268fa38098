"""Commands about a kernel in Python or C on every machine that runs it."""

import json
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from cyclebound.golden.dataflow.kernel import Floats, Kernel
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli.base import GROUPS, AsJson, Commands, app, console, progress_bars
from cyclebound.sim.cli.kernel_options import (
    ArrayFiles,
    ArrayZeros,
    KernelName,
    KernelPath,
    Settings,
    Threads,
    arrays_of,
    numbers_of,
)
from cyclebound.sim.families.dataflow.run import hardware, load_kernel, run_kernel
from cyclebound.sim.families.simd.compiled import compiled
from cyclebound.sim.families.simd.options import MachineName, PartName

kernel = Commands(no_args_is_help=True, help=GROUPS["kernel"][1])
app.add_typer(kernel, name="kernel")


@kernel.callback()
def one_kernel() -> None:
    """A kernel in Python or C on several machines: results, cycles, bounds."""  # a group of one


def _differing(program: Kernel, ours: dict[str, np.ndarray], wanted: dict[str, np.ndarray]
               ) -> list[str]:
    """The arrays that are not the same, bit by bit; of floats, a NaN is a NaN."""
    names = []
    for name, array in wanted.items():
        differ = ours[name].view(np.uint32) != array.view(np.uint32)
        if program.parameters[name] is Floats:
            differ &= ~(np.isnan(ours[name].view(np.float32)) & np.isnan(array.view(np.float32)))
        if differ.any():
            names.append(name)
    return names


@kernel.command()
def compare(
    file: KernelPath,
    data: ArrayFiles = None,
    zeros: ArrayZeros = None,
    settings: Settings = None,
    threads: Threads = None,
    name: KernelName = None,
    grid: Annotated[str, typer.Option(
        "--grid", "-g", metavar="GRID", help="The fabric: a configuration of dataflow.fabric, or "
        "rows of units, as in SLLL/SCKL/LLLT.")] = "five_by_five",
    machine: MachineName = "paper",
    part: PartName = "ddr4-3200aa-x16",
    as_json: AsJson = False,
) -> None:
    """One kernel on the dataflow fabric, on the SIMD accelerator and in numpy: results and bounds.

        cyclebound kernel compare saxpy.py --data x=x.csv --data y=y.csv --set a=2.5

    Cycles are those of the two golden models, and bounds are computed before they run; each machine
    has a clock and a memory of its own. Results are compared with those of the interpreter, which
    does each operation with numpy, bit by bit. Threads have no order: a word that one of them
    stores and another one loads, or stores with another value, has what order decides, which each
    machine has of its own, so that results may differ; such words are named. Exit status 1: a
    result differs or a bound is exceeded; 2: the kernel cannot be compiled for one of them.
    """
    program = load_kernel(file, name)
    arrays, constants = arrays_of(program, data, zeros), numbers_of(program, settings)
    made = compiled(program, arrays, constants=constants, threads=threads, machine=machine,
                    part=part)
    limits = {policy: made.bound(policy) for policy in (Policy.ACCESS, Policy.COMPUTE)}
    policy = min(limits, key=limits.__getitem__)
    with progress_bars() as tell:
        wanted = run_kernel(program, arrays, constants=constants, threads=threads,
                            on="interpreter")
        fabric = run_kernel(program, arrays, constants=constants, threads=threads,
                            fabric=hardware(grid), tell=tell)
        timed, words = made.run(policy, tell)
    if fabric.bound is None:
        raise UserError(f"{program.name} on the fabric: {fabric.problem}")
    rows = [("dataflow fabric", grid, sum(fabric.cycles), fabric.bound, fabric.differs),
            ("SIMD accelerator", f"{machine}, policy {policy.value}", timed.cycles, limits[policy],
             _differing(program, words, wanted.arrays))]
    if as_json:
        print(json.dumps({"kernel": program.name, "threads": made.grid.x, "machines": [
            {"machine": what, "with": how, "cycles": cycles, "bound": bound, "differs": differs}
            for what, how, cycles, bound, differs in rows], "shared": wanted.shared}, indent=2))
    else:
        table = Table("machine", "", "cycles", "bound", "cycles / bound", "result", box=None,
                      pad_edge=False)
        for column in table.columns[2:5]:
            column.justify = "right"
        for what, how, cycles, bound, differs in rows:
            table.add_row(what, how, f"{cycles:,}", f"{bound:,}", f"{cycles / bound:.3f}",
                          f"{', '.join(differs)} not numpy's" if differs else "equal to numpy's")
        screen = console()
        screen.print(f"{program.name}, {made.grid.x} threads", highlight=False)
        screen.print(table, highlight=False)
        for warning in wanted.warnings:
            screen.print(warning, highlight=False, markup=False, soft_wrap=True, style="yellow")
    if any(differs or cycles > bound for _, _, cycles, bound, differs in rows):
        raise typer.Exit(1)
