"""The kernels of SGMF's Table 2 on a core with Table 1's cache: cycles, bound, lines.

    python -m cyclebound.tools.dataflow.cached_kernels [KERNEL ...]

1,024 threads on the golden core of 5 x 5 units with 16 entries, above a memory that takes a request
of a line in each cycle and has its line 40 cycles later. Prints a table in Markdown: all parts
added up, with write-back and write-allocate, and with write-through and no-allocate.
"""

import sys
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.cache_policies import POLICIES, CacheShape
from cyclebound.golden.dataflow.core import CoreModel, core_times, run_core
from cyclebound.golden.dataflow.fabric_bounds import core_completion
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE
from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.memory import with_spills
from cyclebound.golden.dataflow.run import Layout
from cyclebound.tools.dataflow.run import map_graphs
from cyclebound.tools.dataflow.segments import compile_segments

__all__ = ["HEAD", "CachedRun", "row", "run"]

THREADS, DEPTH = 1024, 16
TURN, LATENCY = 1, 40  # of the memory below
TABLE_1 = {"size": 16384, "line": 32, "banks": 32, "ways": 4, "misses": 4, "targets": 4,
           "address_width": 16, "replacement": "lru"}
HEAD = ("| kernel | cycles | bound | ratio | lines read | written | write-through | bound | "
        "requests to write |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")


@dataclass
class CachedRun:
    """All parts of a kernel.

    Attributes
    ----------
    cycles, allowed : int
        From start to done, and the bound.
    read, written : int
        Requests for lines in the memory below.
    """

    cycles: int = 0
    allowed: int = 0
    read: int = 0
    written: int = 0


def run(name: str, policy: str) -> CachedRun:
    """Run a kernel. Raises `ValueError` if memory is not that of the interpreter afterwards."""
    kernel, rng = KERNELS[name], np.random.default_rng(1)
    graphs = compile_segments(kernel, **CONSTANTS.get(name, {}))
    parts = map_graphs(graphs, FIVE_BY_FIVE, depth=DEPTH)
    arrays = {array: rng.standard_normal(THREADS).astype(np.float32).view(np.uint32)
              if kernel.parameters[array] is Floats
              else rng.integers(0, 2, THREADS).astype(np.uint32) for array in kernel.arrays}
    after, _ = interpret_all(graphs, arrays, THREADS)
    arrays = with_spills([array for part in parts for array in part.arrays], arrays, THREADS)
    layout, shape = Layout.of(arrays), CacheShape(policy=policy, **TABLE_1)  # type: ignore[arg-type]
    words = layout.words(arrays)
    core, ran = CoreModel(FIVE_BY_FIVE, depth=DEPTH, shape=shape), CachedRun()
    memory = LineMemoryModel(words, line=shape.line, turn=TURN, latency=LATENCY)
    for part in parts:
        known = core_times(part, layout, threads=THREADS, depth=DEPTH, shape=shape, turn=TURN,
                           latency=LATENCY)
        ran.allowed += core_completion.of(known | {"depth": DEPTH})
        ran.cycles += run_core(core, memory, part, layout, threads=THREADS).cycles
    ran.read, ran.written = core.cache.counts["read"], core.cache.counts["written"]
    found = layout.arrays(words)
    for array in kernel.arrays:
        if not np.array_equal(found[array], after[array]):
            raise ValueError(f"{name}: memory is not the interpreter's: {array}")
    return ran


def row(name: str) -> str:
    """The kernel's row of the table."""
    back, through = (run(name, policy) for policy in POLICIES)
    return (f"| {name} | {back.cycles:,} | {back.allowed:,} | {back.allowed / back.cycles:.2f} | "
            f"{back.read:,} | {back.written:,} | {through.cycles:,} | {through.allowed:,} | "
            f"{through.written:,} |")


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in KERNELS]:
        print(f"no kernel {unknown[0]!r}; known are {', '.join(KERNELS)}", file=sys.stderr)
        return 2
    print(HEAD)
    for name in names or KERNELS:
        print(row(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
