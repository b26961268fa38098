"""A kernel on the accelerator's RTL, simulated: its result, its cycles, and every phase."""

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd.accelerator import Phase, Timed
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import encode
from cyclebound.golden.simd.machine import Grid, name_of
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import Memory
from cyclebound.hdl.simd.accelerator_harness import ROWS
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.identity import identity
from cyclebound.sim.describe.block import Block, Configuration, Testbench
from cyclebound.sim.run.followed import followed
from cyclebound.sim.run.job import Job, simulate

__all__ = ["run_rtl", "stopped"]

_BLOCK = "simd.accelerator"
_SAYS = {
    Cause.ILLEGAL: "no instruction", Cause.END: "execution runs on after the last instruction",
    Cause.OVERFLOW: "the control stack is full",
    Cause.EMPTY: "cpop finds the control stack empty",
    Cause.ACCESS: "an access that leaves its buffer or its registers, or a snoopy one to lines "
                  "that are not its buffer's (docs/simd.md)",
}

Tell = Callable[[str, int, int], None]


def run_rtl(program: Program, grid: Grid, memory: Memory, *, policy: str, part: str,
            due: int | None = None,
            tell: Tell = lambda step, done, total: None, folder: Path | None = None,
            pins: bool = False) -> Timed:
    """Run a kernel; ``memory`` is changed in place.

    The DRAM is hardware, beside the accelerator, if its rows have room for the kernel.

    Parameters
    ----------
    policy, part : str
        Their names.
    due : int or None
        The DRAM clock of the kernel in which the first refresh falls due, or up to seven less
        (`Timed.due` has it); None: as it happens.
    tell : callable
        Is told a step, how much of it is done, and how much there is.
    folder : Path or None
        Where the simulation keeps its files; None: a folder that is removed.
    pins : bool
        The DRAM is a device in Python in any case, which objects to what its data sheet forbids.

    Returns the time as the hardware has it; it does not count operations. Raises `UserError`, also
    for a fault.
    """
    try:
        machine = name_of(grid.machine)
        program.check(grid.machine)
    except ValueError as error:
        raise UserError(str(error)) from error
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        block = _block(machine, part, harness=not pins and _fits(program, part_named(part)))
        block.make(block.configuration("own")[1].parameters)  # or it says why there is no such one
        return _simulated(block, program, grid, memory, policy, due, tell, folder)


def _fits(program: Program, part: Part) -> bool:
    """Whether the harness' DRAM has a place for each row of a program and its buffers."""
    size = 2 * part.bursts_per_row * BURST_BYTES  # of a row of a pair of banks
    pairs = {pair for buffer in program.buffers.values()
             for pair in range(buffer.address // size, -(-buffer.end // size))}
    return 2 * (len(pairs) + 1) <= ROWS


def _block(machine: str, part: str, *, harness: bool) -> Block:
    """The accelerator in one configuration, with the testbench for a kernel of one's own.

    With all its probes, or in its harness, so that it has the same simulator as in a regression.
    """
    block = catalogue.load().find(_BLOCK)
    testbench = Testbench("user", "cyclebound.tb.simd.accelerator_user", observes=False,
                          compares=False, max_cycles=1 << 40)
    if harness:
        theirs = block.testbench("harness")
        testbench = dataclasses.replace(testbench, top=theirs.top, checker=theirs.checker)
    return dataclasses.replace(
        block, configurations={"own": Configuration({"machine": machine, "part": part})},
        testbenches=(testbench,))


def _simulated(block: Block, program: Program, grid: Grid, memory: Memory, policy: str,
               due: int | None, tell: Tell, folder: Path) -> Timed:
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("ran.json", "ran.npz", "progress.json"):
        (folder / old).unlink(missing_ok=True)
    (folder / "kernel.json").write_text(json.dumps({
        "name": program.name,
        "words": [encode(instruction) for instruction in program.instructions],
        "grid": [grid.x, grid.y, grid.width], "policy": policy, "due": due,
        **{
            name: {number: [buffer.address, buffer.x, buffer.y] for number, buffer in kept.items()}
            for name, kept in (("buffers", program.buffers),
                               ("scratchpad_buffers", program.scratchpad_buffers))}}))
    content: dict[str, Any] = {str(number): words for number, words in memory.items()}
    np.savez(folder / "memory.npz", **content)
    parameters = block.configuration("own")[1].parameters
    made_from = identity((), _BLOCK, parameters, block.testbench("user").top is not None,
                      "user")
    with followed(folder / "progress.json", tell,
                  lambda _, launched: ("work-groups", launched, grid.count)):
        outcome = simulate(block, Job(_BLOCK, "own", "user", 1, str(folder),
                                      wall_limit=7 * 86400.0), identity=made_from)
    if not outcome.passed:
        raise UserError(f"the simulation failed: {outcome.reason}")
    ran = json.loads((folder / "ran.json").read_text())
    if ran["fault"]:
        raise UserError(stopped(program, grid, ran["fault"]))
    with np.load(folder / "ran.npz") as kept:
        for number, words in memory.items():
            words[...] = kept[str(number)]
    timed = Timed(cycles=ran["cycles"], load=ran["load"], refreshes=ran["refreshes"],
                  due=ran["due"], refreshing=ran["refreshing"],
                  phases=[Phase(*phase) for phase in ran["phases"]])
    for phase in timed.phases:
        timed.busy[phase.resource] += phase.end - phase.start
    return timed


def stopped(program: Program, grid: Grid, fault: dict[str, int]) -> str:
    """The fault that stopped a kernel, in the models' words."""
    cause, index = Cause(fault["cause"]), fault["index"]
    if cause is Cause.LOAD:
        return f"{program.name}: its instructions lie beyond the device"
    place = next(place for place in grid.places() if place.number == fault["number"])
    name = (f" ({program.instructions[index].name})" if index < len(program.instructions) else "")
    return f"{program.where(index)}{name}, {place}: {_SAYS[cause]}"
