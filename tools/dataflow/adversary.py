"""A memory that is slow where it hurts: how near a mapped kernel comes to its worst-case time.

    python -m cyclebound.tools.dataflow.adversary TRIES KERNEL ...

Each access of each unit is late (40 cycles) or quick (2); those of one run that take longest are
changed a little and tried again. Prints lines of a table: threads, all accesses late, the worst
found, what the bound allows.
"""

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.cache_banks import CacheModel
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.tools.dataflow.partition import map_parts
from cyclebound.tools.dataflow.segments import compile_segments

__all__ = ["AttackedKernel", "search"]

QUICK, LATE, EPOCHS = 2, 40, 4
Pattern = dict[tuple[int, int], bool]  # by unit and number of its access: late


@dataclass
class AttackedKernel:
    """The first part of a kernel on the 5x5 grid, with all conditions true."""

    mapped: Mapped
    layout: Layout
    words: list[int]
    depth: int
    threads: int

    @classmethod
    def of(cls, name: str, *, depth: int, threads: int) -> "AttackedKernel":
        kernel, rng = KERNELS[name], np.random.default_rng(1)
        (graph,) = compile_segments(kernel, **CONSTANTS.get(name, {}))
        mapped = map_parts(graph, FIVE_BY_FIVE, depth=depth)[0]
        arrays = {array: np.zeros(1024, np.uint32) for array in mapped.arrays} | {
            array: rng.standard_normal(1024).astype(np.float32).view(np.uint32)
            if kernel.parameters[array] is Floats else np.ones(1024, np.uint32)
            for array in kernel.arrays}
        layout = Layout.of(arrays)
        return cls(mapped, layout, layout.words(arrays), depth, threads)

    @property
    def accesses(self) -> list[tuple[int, int]]:
        """Units in use, and numbers of their accesses."""
        return [(unit, number) for unit, name in enumerate(self.mapped.accesses()) if name
                for number in range(self.threads)]

    def cycles(self, late: Pattern) -> int:
        """Cycles of the run from ``start`` to ``done``."""
        fabric = FabricModel(self.mapped.grid, self.mapped.configuration(
            self.threads, self.layout.buffers), depth=self.depth)
        counts = dict.fromkeys(range(len(fabric.loads)), -1)

        def misses(unit: int) -> bool:
            counts[unit] += 1
            return late[unit, counts[unit]]

        cache = CacheModel(list(self.words), units=len(fabric.loads), hit=QUICK, miss=LATE,
                           misses=misses)
        cycle, done = 0, False
        while not done:
            responses = cache.responses()
            taken = cache.step(fabric.requests())
            done = fabric.step(start=cycle == 0, requests_taken=taken, responses=responses).done
            cycle += 1
        return cycle

    @property
    def allowed(self) -> int:
        return estimate(self.mapped, threads=self.threads, depth=self.depth, memory=LATE).cycles


def _patterns(target: AttackedKernel, best: list[tuple[int, Pattern]],
              rng: random.Random) -> Iterator[Pattern]:
    """Fresh ones, some of them the same in each epoch, and changed ones."""
    accesses = target.accesses
    while True:
        if len(best) < 4 or rng.random() < 0.25:
            share, period = rng.choice((0.3, 0.6, 0.9)), rng.choice((1, 2, EPOCHS)) * target.depth
            is_late = {access: rng.random() < share for access in accesses}
            yield {(unit, number): is_late[unit, number % period] for unit, number in accesses}
        else:
            changed = set(rng.sample(accesses, max(1, len(accesses) // rng.choice((4, 20, 60)))))
            yield {place: late != (place in changed) for place, late in rng.choice(best)[1].items()}


def search(target: AttackedKernel, tries: int, *, seed: int = 1) -> tuple[int, int]:
    """Cycles with all accesses late, and the most that were found."""
    all_late = dict.fromkeys(target.accesses, True)
    even = target.cycles(all_late)
    best = [(even, all_late)]
    for _, pattern in zip(range(tries), _patterns(target, best, random.Random(seed)), strict=False):
        best.append((target.cycles(pattern), pattern))
        best.sort(key=lambda attempt: -attempt[0])
        del best[6:]
    return even, best[0][0]


def main(arguments: list[str]) -> None:
    """The command line; the module's docstring has its arguments."""
    if len(arguments) < 2:
        sys.exit(__doc__)
    for name in arguments[1:]:
        for depth in (2, 4, 8, 16):
            target = AttackedKernel.of(name, depth=depth, threads=EPOCHS * depth)
            even, worst = search(target, int(arguments[0]))
            print(f"| {name} | {depth} | {target.threads} | {even} | {worst} | {target.allowed} | "
                  f"{worst / target.allowed:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
