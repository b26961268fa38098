"""Cycles of compiled kernels beside those of kernels written by hand in assembly.

    python -m cyclebound.tools.simd.language.against_assembly

The ten kernels of SGMF's Table 2 (`golden.dataflow.kernels`), each with the work of
`tools.dataflow.workloads`, on the SIMT machine of `tools.dataflow.simt`, whose assembly is the
hand-written one; both with quotients and roots by reciprocals. Prints a table in Markdown.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.tools.dataflow import simt
from cyclebound.tools.dataflow.scaling import PART
from cyclebound.tools.dataflow.segments import compile_segments
from cyclebound.tools.dataflow.workloads import workload
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.language.statements import compile_simd

__all__ = ["ITEMS", "Pair", "main", "measured"]

ITEMS = 256  # of a work-group


@dataclass(frozen=True)
class Pair:
    """A kernel's cycles from the end of the program's load on, and its instructions."""

    kernel: str
    by_hand: int
    compiled: int
    instructions: int


def measured(name: str, threads: int | None = None) -> Pair:
    """Run both. Raises `ValueError` if the memory of one is not the interpreter's afterwards."""
    work, machine = workload(name, threads), simt.machine(ITEMS)
    sizes = {array: len(words) for array, words in work.arrays.items()}
    text = compile_simd(work.kernel, sizes, work.threads, machine, True, **work.constants)
    program = assemble(text, name)
    memory = memory_of(program)
    for words, array in zip(memory.values(), work.arrays.values(), strict=True):
        words[0] = array
    timed = CycleModel(program, Grid(work.threads, 1, machine, machine.items), memory,
                       policy=Policy.UNCONSTRAINED, part=part_named(PART)).run(keep=False)
    after, _ = interpret_all(compile_segments(work.kernel, **work.constants), work.arrays,
                             work.threads)
    for changed, words in zip(work.arrays, memory.values(), strict=True):
        found, wanted = words[0], after[changed]
        if work.kernel.parameters[changed] is Floats:
            right = np.allclose(found.view(np.float32), wanted.view(np.float32), rtol=1e-5,
                                atol=1e-6)
        else:
            right = np.array_equal(found, wanted)
        if not right:
            raise ValueError(f"{name}: {changed} is not the interpreter's")
    return Pair(name, simt.run(name, ITEMS, threads=threads).cycles, timed.cycles - timed.load,
                len(program.instructions))


def main(names: Sequence[str]) -> int:
    """Print the table of these kernels, or of all; returns the exit status."""
    for name in names:
        if name not in KERNELS:
            print(f"there is no kernel {name}; there are {', '.join(KERNELS)}", file=sys.stderr)
            return 2
    print("| kernel | by hand | compiled | ratio | instructions |\n| --- | --- | --- | --- | --- |")
    for name in names or KERNELS:
        pair = measured(name)
        print(f"| `{name}` | {pair.by_hand:,} | {pair.compiled:,} | "
              f"{pair.compiled / pair.by_hand:.2f} | {pair.instructions} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
