"""The kernels of SGMF's Table 2 on 1 to 15 cores with Table 1's caches, above DRAM: cycles.

    python -m cyclebound.tools.dataflow.scaling FILE [KERNEL ...]

1,920 threads (359 of ``fan1``), all of which have work, but 969 of ``bfs_kernel2``, shared out
evenly, on the golden processor: cores of 5 x 5 units with 16 entries, Table 1's first and second
level, and six channels of DDR4-3200AA x16 (`DramProcessor`). Writes a line of CSV for each kernel
and number of cores: all parts added up. Memory must be the interpreter's afterwards.
"""

import csv
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.channel import ChannelModel
from cyclebound.golden.dataflow.channel_shape import ChannelShape
from cyclebound.golden.dataflow.dram_processor import run_on_dram, words_of_lines
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE, Grid
from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.memory import with_spills
from cyclebound.golden.dataflow.processor import ProcessorModel
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.timing import part_named
from cyclebound.tools.dataflow.run import map_graphs
from cyclebound.tools.dataflow.segments import compile_segments
from cyclebound.tools.dataflow.workloads import workload

__all__ = ["CORES", "ScaledRun", "read_scaling", "run", "shared_by_cores", "table_of_scaling",
           "write_scaling"]

DEPTH, CHANNELS, PART = 16, 6, "ddr4-3200aa-x16"
CORES = (1, 2, 4, 8, 15)
_COMMON = {"line": 32, "misses": 4, "targets": 4, "address_width": 18, "policy": WRITE_BACK,
           "replacement": "lru"}
L1 = CacheShape(size=16384, banks=32, ways=4, **_COMMON)  # type: ignore[arg-type]
L2 = CacheShape(size=196608, banks=6, ways=16, **_COMMON)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ScaledRun:
    """All parts of a kernel on so many cores.

    Attributes
    ----------
    kernel : str
        Its name.
    cores, cycles : int
        How many; from start to done.
    requests, missed : int
        Lines that the second level is asked to read or write, and those of them that it has to get.
    read, written : int
        Lines that it reads and writes in DRAM.
    """

    kernel: str
    cores: int
    cycles: int
    requests: int
    missed: int
    read: int
    written: int


def shared_by_cores(name: str, cores: int, *, threads: int | None = None) -> list[str]:
    """The words that threads of different cores access, one of which stores: one for each array
    and part of the kernel. What becomes of them may depend on which core is first."""
    work = workload(name, threads)
    share = -(-work.threads // cores)
    found: list[tuple[str, int, int, int]] = []
    interpret_all(compile_segments(work.kernel, **work.constants), work.arrays, work.threads,
                  found, share)
    return [f"{array}[{at}]: cores {one // share} and {other // share}"
            for array, at, one, other in found]


def run(name: str, cores: int, *, depth: int = DEPTH, channels: int = CHANNELS,
        grid: Grid = FIVE_BY_FIVE, threads: int | None = None) -> ScaledRun:
    """Run a kernel's `workload`. Raises `ValueError` if memory is not that of the interpreter
    afterwards."""
    work = workload(name, threads)
    threads, kernel = work.threads, work.kernel
    share = -(-threads // cores)
    graphs = compile_segments(kernel, **work.constants)
    after, _ = interpret_all(graphs, work.arrays, threads)
    parts = map_graphs(graphs, grid, depth=depth)
    arrays = with_spills([array for part in parts for array in part.arrays], work.arrays, threads)
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    processor = ProcessorModel(grid, cores=cores, depth=depth, shape=L1, shared=L2,
                               channels=channels)
    drams = [ChannelModel(part_named(PART), shape=ChannelShape(
        line=L2.line, address_width=L2.address_width)) for _ in range(channels)]
    for dram in drams:
        dram.load(words)
    cycles = sum(run_on_dram(processor, drams, part, layout, threads=threads,
                             share=share) for part in parts)
    found = layout.arrays(words_of_lines(drams, len(words), L2))
    for array in kernel.arrays:
        if not np.array_equal(found[array], after[array]):
            raise ValueError(f"{name}, cores {cores}: {array} is not the interpreter's")
    counts = processor.l2.counts
    return ScaledRun(name, cores, cycles, counts["hits"] + counts["merged"] + counts["missed"],
                     counts["missed"], counts["read"], counts["written"])


def write_scaling(path: Path, runs: Iterable[ScaledRun]) -> None:
    """A line for each run, as soon as it is there."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(ScaledRun))
        for ran in runs:
            writer.writerow(astuple(ran))
            file.flush()


def read_scaling(path: Path) -> dict[str, dict[int, ScaledRun]]:
    """By kernel and cores, what `write_scaling` wrote. Raises `ValueError` for another file."""
    runs: dict[str, dict[int, ScaledRun]] = {}
    columns = [field.name for field in fields(ScaledRun)]
    with path.open(newline="") as file:
        rows = csv.reader(file)
        if (found := next(rows, [])) != columns:
            raise ValueError(f"{path}: columns must be {', '.join(columns)}, not "
                             f"{', '.join(found) or 'none'}")
        for name, *cells in rows:
            try:
                ran = ScaledRun(name, *map(int, cells))
                if min(ran.cores, ran.cycles) < 1:
                    raise ValueError
            except (TypeError, ValueError):
                raise ValueError(
                    f"{path}, line {rows.line_num}: must be a kernel and {len(columns) - 1} whole "
                    f"numbers, cores and cycles at least 1, not {cells}") from None
            runs.setdefault(name, {})[ran.cores] = ran
    if not runs:
        raise ValueError(f"{path}: has no run")
    return runs


def table_of_scaling(runs: dict[str, dict[int, ScaledRun]]) -> str:
    """As a page has it: cycles, and how much faster the most cores are than one."""
    numbers = list(next(iter(runs.values())))
    lines = [f"| kernel | {numbers[0]} core | " + " | ".join(map(str, numbers[1:]))
             + f" | {numbers[0]} over {numbers[-1]} | DRAM lines, {numbers[0]} | "
             f"{numbers[-1]} |", "| --- " + "| ---: " * (len(numbers) + 3) + "|"]
    for name, by in runs.items():
        first, last = by[numbers[0]], by[numbers[-1]]
        lines.append(f"| {name} | " + " | ".join(f"{by[cores].cycles:,}" for cores in numbers)
                     + f" | {first.cycles / last.cycles:.2f} | "
                     f"{first.read + first.written:,} | {last.read + last.written:,} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """The command's exit status."""
    if not arguments:
        print("usage: python -m cyclebound.tools.dataflow.scaling FILE [KERNEL ...]",
              file=sys.stderr)
        return 2
    path, *names = arguments
    if unknown := [name for name in names if name not in KERNELS]:
        print(f"no kernel {unknown[0]!r}; known are {', '.join(KERNELS)}", file=sys.stderr)
        return 2
    for name in names or KERNELS:
        for shared in shared_by_cores(name, CORES[-1]):
            print(f"{name}, {CORES[-1]} cores: shared, and stored: {shared}; what becomes of it "
                  "may depend on which is first", file=sys.stderr)
    jobs = [(name, cores) for name in names or KERNELS for cores in CORES]
    with ProcessPoolExecutor(2) as pool:
        write_scaling(Path(path), pool.map(run, *zip(*jobs, strict=True)))
    print(table_of_scaling(read_scaling(Path(path))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
