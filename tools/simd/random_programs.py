"""Random programs for the whole machine: a kernel, its grid, the content of its buffers, a policy.

Every second one is a tree of loops, conditions and calls (`random_kernels`), the others are random
instructions with accesses of all kinds to buffers of random sizes (`random_instructions`). Whatever
they read has been written: registers, predicates, scratchpads.
"""

import random
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.simd.machine import Grid, Machine
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.simd.work_group import Memory, memory_of
from cyclebound.tools.simd.random_instructions import Surroundings, random_instructions
from cyclebound.tools.simd.random_kernels import INDEXED, Mix, random_kernel

__all__ = ["RandomProgram", "random_program", "shrink"]

# words from an aligned place, words in a line, lines
_DRAM = ((0, 37, 9), (5, 64, 6), (3, 16, 16), (9, 5, 20), (2, 1, 70), (15, 130, 3), (0, 128, 8))
_CHIPS = ((8, 8), (18, 7), (5, 9), (40, 1), (33, 4), (3, 30), (64, 2))
_VECTORS = 16      # registers that programs name
_CHIP_WORDS = 512  # that any three of the scratchpad's buffers have
_CLEARED = (*(f"mov v{number}, 0" for number in (8, 9, 11, 12, 13, 14)),
            *(f"smov s{number}, 0" for number in (8, 9, 10, 11, 20, 21)),
            *(f"itest.nz p{number}, v8" for number in range(4)),
            f"ldg2sptile 0, {INDEXED}")  # as large as all work-groups
_LAST = "stsplin v0, 0", "smov s15"  # how the last line begins that defines what others read


@dataclass(frozen=True)
class RandomProgram:
    """A generated program.

    Attributes
    ----------
    seed : int
        Of this program; its buffers' content is drawn from it, too.
    text : str
        The kernel's source.
    kept : int
        Lines of it that define what the others read; a smaller program must keep them.
    """

    seed: int
    text: str
    kept: int
    grid: Grid
    policy: Policy

    def content(self, program: Program) -> Memory:
        """Words and floats in all buffers of the assembled kernel."""
        memory, rng = memory_of(program), np.random.default_rng(self.seed)
        for words in memory.values():
            floats = rng.standard_normal(words.shape).astype(np.float32).view(np.uint32)
            words[...] = np.where(rng.random(words.shape) < 0.5, floats, rng.integers(
                0, 1 << 32, words.shape, dtype=np.uint32))
        return memory


def random_program(seed: int, machine: Machine) -> RandomProgram:
    """A program that ends without a fault; the same for the same seed and machine.

    Raises `ValueError` for a machine with fewer registers or words than programs name.
    """
    for name, least in (("vectors", _VECTORS),
                        ("scratchpad_words", max(machine.items, _CHIP_WORDS))):
        if getattr(machine, name) < least:
            raise ValueError(f"the machine of random programs must have {name} of at least "
                             f"{least}, not {getattr(machine, name)}")
    rng = random.Random(seed)
    policy = rng.choice(list(Policy))
    if seed % 2:
        width = rng.choice(machine.widths)
        height = machine.items // width
        grid = Grid(rng.randint(1, 2 * width), rng.randint(1, 2 * height), machine, width)
        around = Surroundings(tuple(rng.sample(_DRAM, 3)), tuple(rng.sample(_CHIPS, 3)),
                              (grid.x, grid.y))
        text = random_instructions(seed, machine, rng.choice((4, 8, 16)), around)
    else:
        items = machine.items
        x = rng.randint(1, 4) * items - rng.choice((0, 1, 7, items // 2))
        grid = Grid(max(x, 1), 1, machine, items)
        text = random_kernel(seed, machine, grid.x,
                             Mix(branches=rng.random() < 0.5)).text
        text = text.replace(".text\n", "\n".join((".text", *_CLEARED, "")))
    lines = text.splitlines()
    kept = next(number for number, line in enumerate(lines, 1)
                if line.startswith(_LAST))
    return RandomProgram(seed, text, kept, grid, policy)


def shrink(lines: list[str]) -> Generator[list[str], bool, list[str]]:
    """Fewer lines that still fail.

    Yields candidates, and is sent whether each of them fails; returns lines of which none can be
    left out, given as many lines that fail.
    """
    size = len(lines) // 2
    while size:
        start, shorter = 0, False
        while start < len(lines):
            fewer = lines[:start] + lines[start + size:]
            if (yield fewer):
                lines, shorter = fewer, True
            else:
                start += size
        if size > 1 or not shorter:
            size //= 2
    return lines
