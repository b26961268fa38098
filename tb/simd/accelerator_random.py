"""Random programs on the accelerator, equal to the cycle model; a difference is made small.

A job runs `PROGRAMS` programs, drawn from its seed: ``cyclebound regress simd.accelerator
--testbench random --seeds 100`` runs 5,000. Of one that differs, the smallest that does is
`SMALLEST` in the job's folder.
"""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

from cyclebound.golden.simd import functional
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import KernelFault
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_harness_tester import tester_on
from cyclebound.tb.simd.accelerator_tester import AcceleratorSide
from cyclebound.tools.simd.assembler import AssemblyError, assemble
from cyclebound.tools.simd.random_programs import RandomProgram, random_program, shrink

__all__ = ["PROGRAMS", "SMALLEST", "play"]

PROGRAMS = 50
SMALLEST = "smallest.sas"
_MOST = 100_000        # compute cycles; the longest programs take a tenth
_INSTRUCTIONS = 5_000  # of a work-group, while a program is made small
_TRIES = 1_000         # of smaller programs


async def _run(tester: AcceleratorSide, trial: RandomProgram) -> Counter[str]:
    """A program on a new tester or an old one; cycles, and phases by resource."""
    program = assemble(trial.text)
    timed = await tester.compare(program, trial.grid, trial.content(program), trial.policy,
                                 most=_MOST)
    return Counter(phase.resource for phase in timed.phases) + Counter(
        {"compute cycles": timed.cycles, "work-groups": trial.grid.count, trial.policy.value: 1})


def _first(wrong: AssertionError) -> str:
    """The first line of an assertion's message, which names the difference."""
    return (str(wrong).splitlines() or ["it differs"])[0]


def _legal(trial: RandomProgram) -> Program | None:
    """The assembled kernel, if it is one that ends without a fault."""
    try:
        program = assemble(trial.text)
        functional.run(program, trial.grid, trial.content(program), most=_INSTRUCTIONS)
    except (AssemblyError, KernelFault):
        return None
    return program


async def _smallest(bench: Bench, trial: RandomProgram, why: str) -> tuple[RandomProgram, str]:
    """The program without lines that do not matter, and how it differs."""
    lines = trial.text.splitlines()
    steps = shrink(lines[trial.kept:])
    smallest, fewer, tries = trial, next(steps, None), 0
    while fewer is not None and tries < _TRIES:
        tries += 1
        tried = replace(trial, text="\n".join([*lines[:trial.kept], *fewer, ""]))
        differs = False
        if _legal(tried) is not None:
            await bench.reset()
            try:
                await _run(tester_on(bench), tried)
            except AssertionError as wrong:
                differs, smallest, why = True, tried, _first(wrong)
        try:
            fewer = steps.send(differs)
        except StopIteration:
            fewer = None
    return smallest, why


def _keep(smallest: RandomProgram, why: str) -> None:
    """Write a program where users find it, with what is to be known of it."""
    grid = smallest.grid
    folder = Path(json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())["folder"])
    (folder / SMALLEST).write_text(
        f"// of program {smallest.seed}: {grid.x} x {grid.y} items, {grid.width} wide, policy "
        f"{smallest.policy.value}\n// {why}\n{smallest.text}")


async def play(bench: Bench, programs: int) -> Counter[str]:
    """Programs one after the other, without a reset. Raises `AssertionError` for the first that
    differs, when the smallest like it is kept."""
    tester, total = tester_on(bench), Counter[str]()
    for number in range(1, programs + 1):
        trial = random_program(bench.rng.getrandbits(32), tester.machine)
        try:
            total += await _run(tester, trial)
        except AssertionError as wrong:
            said = _first(wrong)
            small, why = await _smallest(bench, trial, said)
            _keep(small, why)
            raise AssertionError(
                f"program {trial.seed}, number {number}: {said}; the smallest like it, "
                f"{SMALLEST}, has {len(assemble(small.text).instructions)} instructions of "
                f"{len(assemble(trial.text).instructions)}: {why}") from None
    bench.dut._log.info("%d programs: %s", programs, ", ".join(
        f"{number} {name}" for name, number in sorted(total.items())))
    return total


@testbench
async def programs(bench: Bench) -> None:
    total = await play(bench, PROGRAMS)
    assert total["dram"] > 5 * PROGRAMS
    assert total["scratchpad"] > PROGRAMS // 5
