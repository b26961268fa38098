"""One run of a kernel of the SIMD accelerator, on one of its models."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd import functional
from cyclebound.golden.simd.accelerator import CycleModel, Timed
from cyclebound.golden.simd.machine import MACHINES, Grid, machine_named
from cyclebound.golden.simd.memory_timing import SETTLED, DramTimeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.golden.simd.work_group import KernelFault, Memory
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.families.simd.options import policy_named
from cyclebound.tools.simd.wcet.graph import WcetError
from cyclebound.tools.simd.wcet.observed import Annotations, checked_code

__all__ = ["MODELS", "SimdRun", "check_covers", "grid_of", "run_kernel", "stored_buffers"]

MODELS = ("golden", "cycle", "rtl")
"""Models that compute a result: the functional one, the one that counts cycles, the RTL."""


@dataclass
class SimdRun:
    """A run: its buffers afterwards, its time if the model has one.

    ``differs`` names buffers that are not what the kernel's reference makes of them; None: they
    were not compared. ``operations``: of all lanes; None: the hardware does not count them.
    """

    memory: Memory
    written: list[int]
    operations: int | None
    timed: Timed | None = None
    differs: list[int] | None = None


def stored_buffers(program: Program) -> list[int]:
    """The DRAM buffers that some instruction of a program writes."""
    buffers = set()
    for instruction in program.instructions:
        operand = instruction.operand("A")
        if (instruction.operation.store and instruction.name.startswith("stg")
                and operand is not None):
            buffers.add(operand.value)
    return sorted(buffers)


def grid_of(program: Program, text: str | None, width: int | None, machine: str) -> Grid:
    """The grid that the command line names, or else an installed kernel's own.

    Raises `UserError`, also for a program that the machine has no room for.
    """
    if machine.isidentifier() and machine not in MACHINES:
        raise unknown("machine", machine, MACHINES)
    try:
        sizes = machine_named(machine)
        program.check(sizes)
    except ValueError as error:
        raise UserError(str(error)) from None
    reference = REFERENCES.get(program.name)
    if text is None:
        if reference is None:
            raise UserError(f"{program.name} needs a grid: --grid X or --grid X,Y")
        x, y = reference.x, reference.y
    else:
        numbers = text.split(",")
        if len(numbers) > 2 or not all(number.strip().isdecimal() for number in numbers):
            raise UserError(f"--grid takes X or X,Y, whole numbers, not {text!r}")
        x, y = (int(number) for number in (numbers if len(numbers) == 2 else [*numbers, "1"]))
    if width is None and reference is not None and reference.width:
        width = min(reference.width, 1 << sizes.items.bit_length() // 2)
    try:
        return Grid(x, y, sizes, width or 0)
    except ValueError as error:
        raise UserError(str(error)) from None


def check_covers(program: Program, grid: Grid) -> None:
    """Raise `UserError` for another grid than the one that an installed kernel's buffers are for:
    its reference is of the whole buffers."""
    reference = REFERENCES.get(program.name)
    if reference is not None and (grid.x, grid.y) != (reference.x, reference.y):
        raise UserError(f"--check compares whole buffers, which are {program.name}'s for a grid of "
                        f"{reference.x},{reference.y}, not of {grid.x},{grid.y}: give their sizes "
                        "(--size), too")


def _annotations(program: Program) -> Callable[[list[int]], None] | None:
    """A checker of a work-group's trace against ``#bound``; None without such lines."""
    if not program.branches and not program.flows:
        return None
    try:
        annotations = Annotations(program)
    except WcetError:  # routes that no bound is known of: `wcet` says why
        return None
    return annotations.check if annotations.any else None


def _check_due(due: int, model: str, part: Part) -> None:
    """Raise `UserError` for a refresh that cannot fall due then."""
    if model == "golden":
        raise UserError("--due is of a DRAM's refreshes, which only --model cycle and --model rtl "
                        "have")
    most = part.nREFI - (part.nRFC + SETTLED if model == "rtl" else 0)
    if not 1 <= due <= most:
        raise UserError(f"--due must be from 1 to {most}, not {due}: {part.name} has a refresh "
                        f"every {part.nREFI} clocks" + (
                            ", and the one before has to be over" if model == "rtl" else ""))


def run_kernel(program: Program, grid: Grid, memory: Memory, *, model: str = "golden",
               policy: str = "unconstrained", part: str = "ddr4-3200aa-x16", due: int | None = None,
               most: int = 1 << 40,
               check: bool = False, keep: bool = True, timeline: DramTimeline | None = None,
               printed: Callable[[str], None] = print,
               tell: Callable[[str, int, int], None] = lambda step, done, total: None) -> SimdRun:
    """Run a kernel; ``memory`` is changed in place. ``keep``: the phases, too, of a model that has
    them. ``due``: the DRAM clock in which the first refresh falls due; None: as `run_rtl` and
    `DramTimeline` have it. ``most``, ``timeline`` and ``printed`` are the models'. Raises
    `UserError`, also for a fault, and for a run that an annotation of the kernel contradicts."""
    if model not in MODELS:
        raise unknown("model", model, MODELS)
    chosen = policy_named(policy)
    try:
        device = part_named(part)
    except ValueError as error:
        raise UserError(str(error)) from None
    if due is not None:
        _check_due(due, model, device)
        if model == "cycle":
            timeline = DramTimeline(device, due=due)
    wanted = None
    if check:
        if program.name not in REFERENCES:
            raise UserError(f"--check compares installed kernels with their references, and "
                            f"{program.name} has none")
        with np.errstate(all="ignore"):
            wanted = REFERENCES[program.name].results(
                {number: words.copy() for number, words in memory.items()}, grid)

    def told(done: int, total: int) -> None:
        tell("work-groups", done, total)

    timed, operations, traced = None, None, _annotations(program)
    try:
        code = checked_code(program) if program.values else None
        if model == "rtl":
            checked = traced or code
            before = {number: words.copy() for number, words in memory.items()} if checked else {}
            from cyclebound.sim.families.simd.rtl import run_rtl  # hardware takes a while to load

            timed = run_rtl(program, grid, memory, policy=policy, part=part, due=due, tell=tell)
            if checked:  # the hardware does not show what it ran
                functional.run(program, grid, before, most=most, traced=traced, code=code)
        elif model == "golden":
            operations = functional.run(program, grid, memory, most=most, tell=told,
                                        printed=printed, traced=traced, code=code)
        else:
            machine = grid.machine
            if machine.one_clock and machine.compute_ps < device.tck_ps:
                raise UserError(f"a compute clock of {machine.compute_ps} ps is faster than DRAM's "
                                f"of {device.tck_ps} ps, and the accelerator has one clock")
            timed = CycleModel(program, grid, memory, policy=chosen, part=device,
                               timeline=timeline, code=code).run(
                keep=keep, most=most, tell=told, traced=traced)
            operations = timed.operations
    except KernelFault as fault:
        raise UserError(str(fault)) from None
    except WcetError as error:
        raise UserError(str(error)) from None
    differs = None if wanted is None else [
        number for number, words in wanted.items() if not np.array_equal(memory[number], words)]
    return SimdRun(memory, stored_buffers(program), operations, timed, differs)
