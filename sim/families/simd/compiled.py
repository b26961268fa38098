"""Kernels in Python and C on the SIMD accelerator: compiled, bounded, and run on its cycle model.

    from cyclebound.sim.families.simd.compiled import compiled
    made = compiled(load_kernel("saxpy.py"), {"x": x, "y": y}, constants={"a": 2.5})
    made.text, made.bound(Policy.ACCESS), made.run(Policy.ACCESS)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.kernel import Kernel, KernelError
from cyclebound.golden.dataflow.memory import kernel_arrays
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy, Timed
from cyclebound.golden.simd.machine import Grid, as_built, machine_named
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import KernelFault, memory_of
from cyclebound.sim.base.errors import UserError
from cyclebound.tools.simd.assembler import AssemblyError, assemble
from cyclebound.tools.simd.language.statements import compile_simd
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import WcetError

__all__ = ["Compiled", "compiled"]


@dataclass(frozen=True)
class Compiled:
    """A kernel for the accelerator as built.

    Attributes
    ----------
    kernel : Kernel
        In Python or C.
    text : str
        The ``.sas`` source.
    program : Program
        What it assembles to.
    grid : Grid
        A work-item for each thread.
    part : Part
        The DRAM.
    arrays : dict of str to numpy.ndarray
        As words (uint32), before the kernel.
    """

    kernel: Kernel
    text: str
    program: Program
    grid: Grid
    part: Part
    arrays: dict[str, np.ndarray]

    def bound(self, policy: Policy) -> int:
        """The most compute cycles that it takes, whatever its arrays hold. Raises `UserError` if
        it has no bound."""
        try:
            return Analysis(self.program, self.grid, self.part).wcet(policy).cycles
        except (WcetError, ValueError) as error:
            raise UserError(str(error)) from None

    def run(self, policy: Policy, tell: Callable[[str, int, int], None] = lambda *done: None
            ) -> tuple[Timed, dict[str, np.ndarray]]:
        """Its time on the cycle model, and its arrays afterwards, as words. Raises `UserError` if
        it is stopped, such as by a loop that goes on after its stated bound."""
        memory = memory_of(self.program)
        for number, name in enumerate(self.kernel.arrays):
            memory[number].reshape(-1)[:] = self.arrays[name]
        try:
            timed = CycleModel(self.program, self.grid, memory, policy=policy, part=self.part).run(
                keep=False, tell=lambda done, total: tell("work-groups", done, total))
        except KernelFault as fault:
            raise UserError(str(fault)) from None
        return timed, {name: memory[number].reshape(-1)
                       for number, name in enumerate(self.kernel.arrays)}


def compiled(kernel: Kernel, arrays: Mapping[str, object], *,
             constants: Mapping[str, float] | None = None, threads: int | None = None,
             machine: str = "paper", part: str = "ddr4-3200aa-x16", approximate: bool = False
             ) -> Compiled:
    """Compile a kernel for these arrays; ``threads``: as many as its first array has elements;
    ``approximate``: with quotients and roots by reciprocals.

    Raises `UserError` for whatever cannot be compiled, and says what.
    """
    try:
        words = kernel_arrays(kernel, arrays)
        if not words:
            raise ValueError(f"kernel {kernel.name} has no array")
        count = len(next(iter(words.values()))) if threads is None else threads
        sizes = machine_named(machine)
        text = compile_simd(kernel, {name: len(array) for name, array in words.items()}, count,
                            sizes, approximate, **(constants or {}))
        program = assemble(text, f"{kernel.name}.sas")
        program.check(sizes)
        grid = Grid(count, 1, as_built(sizes), sizes.items)
        return Compiled(kernel, text, program, grid, part_named(part), words)
    except AssemblyError as error:
        problem = error.problems[0]
        what = ("is too large for the accelerator" if problem.rule == "length" else
                f"does not assemble, in line {problem.line} of what it was compiled to")
        raise UserError(f"kernel {kernel.name} {what}: {problem.said}") from None
    except (KernelError, ValueError, TypeError) as error:
        raise UserError(str(error)) from None
