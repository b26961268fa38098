"""The kernels of SGMF's Table 2 on one SGMF core and on a SIMT machine: Figure 10's question.

    python -m cyclebound.tools.dataflow.simt FILE [KERNEL ...]

In the place of a Fermi SM is this project's SIMD accelerator (Sim-D) with 32 lanes. It has no
caches: a work-group's words move as tiles, all at once. The core has 108 units (32 compute units)
with 16 entries, and Table 1's caches. Either has one channel of the same DRAM, with the same
controller, and the DRAM's clock. Writes a line of CSV for each kernel's `workload`, of the
work-groups that are the fastest. Memory must be the interpreter's afterwards.
"""

import csv
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from cyclebound.golden.dataflow.grid import PAPER
from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.line_cache_bounds import line_hit
from cyclebound.golden.dataflow.memory import with_spills
from cyclebound.golden.dataflow.run import Layout, run_mapped
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import Grid, Machine, as_built
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import Memory, memory_of
from cyclebound.tools.dataflow import scaling
from cyclebound.tools.dataflow.run import map_graphs
from cyclebound.tools.dataflow.scaling import DEPTH, L1, L2, PART
from cyclebound.tools.dataflow.segments import compile_segments
from cyclebound.tools.dataflow.workloads import COLUMNS, Workload, workload
from cyclebound.tools.simd.assembler import assemble

__all__ = ["ITEMS", "Compared", "SimtRun", "compare", "cycles_of_hits", "machine", "main",
           "program_of", "read_compared", "run", "table_of", "write_compared"]

LANES, SPECIAL_UNITS = 32, 4  # of a Fermi SM; SGMF's core has as many compute units and roots
ITEMS = (256, 512, 1024)      # of a work-group: whichever is the fastest for a kernel
_APART = 1 << 20              # bytes from one buffer to the next

# Arrays are buffers, in the order of the kernel's parameters.
_TEXTS = {
    "vector_add": """
    ldglin  v0, 0
    ldglin  v1, 1
    add     v0, v0, v1
    stglin  v0, 2
    exit""",
    "saxpy": """
    ldglin  v0, 0
    ldglin  v1, 1
    mad     v1, v0, {a}, v1
    stglin  v1, 1
    exit""",
    "euclid": """
    ldglin  v0, 0
    ldglin  v1, 1
    mov     v2, {lat}
    mov     v3, {lng}
    add.neg v0, v2, v0
    add.neg v1, v3, v1
    mul     v0, v0, v0
    mad     v0, v1, v1, v0
    rsqrt   v1, v0
    mul     v0, v0, v1
    stglin  v0, 2
    exit""",
    # a column: the words of one word in each line stream past
    "fan1": """
    sldg    s0, 1
    smov    s1, 1
    smov    s2, {size}
    smov    s3, {threads}
    smovssp sc.sd_words, s1
    smovssp sc.sd_period, s2
    smovssp sc.sd_period_cnt, s3
    mov     v0, vc.tid_x
    iadd    v0, v0, 1
    imul    v0, v0, {size}
    movvsp  vc.mem_idx, v0
    ldgcidx 1, 0, 1
    mov     v1, vc.mem_data
    mov     v2, vc.zero
    or      v2, v2, s0
    rcp     v2, v2
    mul     v1, v1, v2
    movvsp  vc.mem_data, v1
    stgcidx 0, 0, 1
    exit""",
    "fan2": """
    sldg    s0, 2
    smov    s1, 1
    smov    s2, {size}
    smov    s3, {rows}
    mov     v0, vc.tid_x
    movvsp  vc.mem_idx, v0
    smovssp sc.sd_words, s2
    smovssp sc.sd_period, s2
    smovssp sc.sd_period_cnt, s1
    ldgcidx 1, 0, 0
    mov     v1, vc.mem_data
    mov     v2, vc.tid_y
    iadd    v2, v2, 1
    imul    v3, v2, {size}
    movvsp  vc.mem_idx, v3
    smovssp sc.sd_words, s1
    smovssp sc.sd_period_cnt, s3
    ldgcidx 0, 0, 1
    mov     v3, vc.mem_data
    ldglin  v4, 1, 0, 1
    mul     v1, v3, v1
    add.neg v4, v4, v1
    stglin  v4, 1, 0, 1
    cpush.if done
    itest.nz p0, v0
    cmask   p0
    movvsp  vc.mem_idx, v2
    ldgbidx 2
    mov     v4, vc.mem_data
    mul     v3, v3, s0
    add.neg v4, v4, v3
    movvsp  vc.mem_data, v4
    stgbidx 2
    cpop
done:
    exit""",
    "adjust_weights": """
    mov     v0, vc.tid_x
    movvsp  vc.mem_idx, v0
    ldgbidx 0
    mov     v1, vc.mem_data
    mov     v0, vc.tid_y
    movvsp  vc.mem_idx, v0
    ldgbidx 1
    mov     v2, vc.mem_data
    ldglin  v3, 3
    ldglin  v4, 2
    mul     v1, v1, {rate}
    mul     v1, v1, v2
    mul     v3, v3, {momentum}
    add     v1, v1, v3
    add     v4, v4, v1
    stglin  v4, 2
    stglin  v1, 3
    exit""",
    "bfs_kernel2": """
    ldglin  v0, 1
    isub    v0, v0, 1
    itest.nz p0, v0
    cpush.if done
    cmask   p0
    mov     v1, 1
    stglin  v1, 0
    stglin  v1, 2
    mov     v2, 0
    movvsp  vc.mem_idx, v2
    movvsp  vc.mem_data, v1
    stgbidx 3
    stglin  v2, 1
    cpop
done:
    exit""",
    "compute_step_factor": """
    ldglin  v0, 0
    ldglin  v1, 1
    ldglin  v2, 2
    ldglin  v3, 3
    ldglin  v4, 4
    ldglin  v5, 5
    rcp     v6, v0
    mul     v1, v1, v6
    mul     v2, v2, v6
    mul     v3, v3, v6
    mul     v1, v1, v1
    mad     v1, v2, v2, v1
    mad     v1, v3, v3, v1
    mul     v0, v0, 0.5
    mul     v0, v0, v1
    add.neg v4, v4, v0
    mul     v4, v4, 0.4
    mul     v4, v4, 1.4
    mul     v4, v4, v6
    rsqrt   v2, v4
    mul     v4, v4, v2
    rsqrt   v2, v1
    mul     v1, v1, v2
    add     v1, v1, v4
    rsqrt   v2, v5
    mul     v5, v5, v2
    mul     v1, v1, v5
    rcp     v1, v1
    mul     v1, v1, 0.5
    stglin  v1, 6
    exit""",
    "time_step": "\n    ldglin  v0, 15\n    mov     v1, {stage}\n    rcp     v1, v1\n"
                 "    mul     v0, v0, v1" + "".join(f"""
    ldglin  v1, {k}
    ldglin  v2, {k + 10}
    mad     v1, v0, v2, v1
    stglin  v1, {k + 5}""" for k in range(5)) + "\n    exit",
    "normalize_weights": """
    sldg    s0, 1
    ldglin  v0, 0
    mov     v1, vc.zero
    or      v1, v1, s0
    rcp     v1, v1
    mul     v0, v0, v1
    stglin  v0, 0
    exit""",
}


@dataclass(frozen=True)
class SimtRun:
    """A kernel on the SIMT machine.

    Attributes
    ----------
    kernel : str
        Its name.
    items : int
        Of a work-group.
    cycles, compute, dram : int
        From the end of the program's load to that of the last store; of them, those in which
        instructions are issued, and those in which an access of DRAM is under way.
    instructions : int
        That lanes have executed.
    """

    kernel: str
    items: int
    cycles: int
    compute: int
    dram: int
    instructions: int


def machine(items: int) -> Machine:
    """The baseline with work-groups of so many items, as its RTL is, at the DRAM's clock."""
    return as_built(Machine(lanes=LANES, items=items, special_units=SPECIAL_UNITS,
                            compute_ps=part_named(PART).tck_ps))


def _shapes(name: str, work: Workload) -> dict[str, tuple[int, int]]:
    """By array, words of a line and lines."""
    if name == "fan1":
        return dict.fromkeys(work.arrays, (work.threads + 1, work.threads + 1))
    if name == "fan2":
        return {"m": (COLUMNS, COLUMNS), "a": (COLUMNS, COLUMNS), "b": (COLUMNS, 1)}
    if name == "adjust_weights":
        row = 1 << int(work.constants["shift"])
        lines = -(-work.threads // row)
        return {"delta": (row, 1), "units": (lines, 1), "weights": (row, lines),
                "old": (row, lines)}
    return {array: (1 if array in ("over", "sums") else work.threads, 1) for array in work.arrays}


def program_of(name: str, work: Workload, items: int) -> tuple[Program, Grid]:
    """The kernel's program with the workload's constants and buffers, and its grid.

    Raises `ValueError` for threads that are no whole lines of a kernel's rows.
    """
    row = {"fan2": COLUMNS, "adjust_weights": 1 << int(work.constants.get("shift", 0))}.get(name)
    if row and work.threads % row:
        raise ValueError(f"{name} must have a multiple of {row} threads, not {work.threads}")
    text = _TEXTS[name].format(**work.constants, threads=work.threads,
                               rows=work.threads // (row or 1))
    buffers = "\n".join(f"{number} {number * _APART:#x} {x} {y}"
                        for number, (x, y) in enumerate(_shapes(name, work).values()))
    grid = (row, work.threads // row) if row else (work.threads, 1)
    return assemble(f".data\n{buffers}\n.text{text}", name), Grid(*grid, machine(items))


def _right(found: np.ndarray, wanted: np.ndarray, floats: bool) -> bool:
    """Equal, but for what reciprocals and roots that are not rounded leave."""
    if not floats:
        return np.array_equal(found, wanted)
    return np.allclose(found.view(np.float32), wanted.view(np.float32), rtol=1e-5, atol=1e-6)


def run(name: str, items: int, *, threads: int | None = None) -> SimtRun:
    """Run a kernel. Raises `ValueError` if memory is not the interpreter's afterwards."""
    work = workload(name, threads)
    program, grid = program_of(name, work, items)
    memory: Memory = memory_of(program)
    for words, array in zip(memory.values(), work.arrays.values(), strict=True):
        words[:] = array[:words.size].reshape(words.shape)
    after, _ = interpret_all(compile_segments(work.kernel, **work.constants), work.arrays,
                             work.threads)
    timed = CycleModel(program, grid, memory, policy=Policy.UNCONSTRAINED,
                       part=part_named(PART)).run(keep=False)
    for changed, words in zip(work.arrays, memory.values(), strict=True):
        if not _right(words.ravel(), after[changed][:words.size],
                      work.kernel.parameters[changed] is Floats):
            raise ValueError(f"{name}, {items} items: {changed} is not the interpreter's")
    return SimtRun(name, items, timed.cycles - timed.load, timed.busy["compute"],
                   timed.busy["dram"], timed.operations)


@dataclass(frozen=True)
class Compared:
    """A kernel on both.

    Attributes
    ----------
    kernel : str
        Its name.
    items, cycles, compute, dram : int
        `SimtRun`'s, of the work-groups that are the fastest.
    hits : int
        Cycles of the SGMF core above a memory of which all hit.
    core, read, written : int
        `ScaledRun`'s, of the SGMF core: cycles, and lines of its DRAM.
    """

    kernel: str
    items: int
    cycles: int
    compute: int
    dram: int
    hits: int
    core: int
    read: int
    written: int

    @property
    def below(self) -> float:
        """The share of the core's cycles that its lines take in the DRAM, from the first command of
        a line to the end of its precharges (their issue delays)."""
        return sum(count * tile_issue_delay.of({"part": PART, "bursts": L2.line // BURST_WORDS,
                                                "write": write})
                   for count, write in ((self.read, 0), (self.written, 1))) / self.core


def cycles_of_hits(name: str, *, threads: int | None = None) -> int:
    """Cycles of all parts of a kernel on the core, if each access hits, in Table 1's banks."""
    work = workload(name, threads)
    parts = map_graphs(compile_segments(work.kernel, **work.constants), PAPER, depth=DEPTH)
    arrays = with_spills([array for part in parts for array in part.arrays], work.arrays,
                         work.threads)
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    return sum(run_mapped(part, words, layout, threads=work.threads, depth=DEPTH,
                          address_width=L1.address_width, banks=L1.banks, hit=line_hit(),
                          miss=line_hit()).cycles for part in parts)


def compare(name: str, *, threads: int | None = None) -> Compared:
    """Run a kernel on both. Raises `ValueError` if memory is not the interpreter's afterwards."""
    best = min((run(name, items, threads=threads) for items in ITEMS), key=lambda ran: ran.cycles)
    core = scaling.run(name, 1, channels=1, grid=PAPER, threads=threads)
    return Compared(name, best.items, best.cycles, best.compute, best.dram,
                    cycles_of_hits(name, threads=threads), core.cycles, core.read, core.written)


def write_compared(path: Path, runs: Iterable[Compared]) -> None:
    """A line of CSV for each kernel, as soon as it is there."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Compared)],
                                lineterminator="\n")
        writer.writeheader()
        for ran in runs:
            writer.writerow(asdict(ran))
            file.flush()


def read_compared(path: Path) -> list[Compared]:
    """What `write_compared` wrote."""
    with path.open(newline="") as file:
        return [Compared(row.pop("kernel"), **{name: int(cell) for name, cell in row.items()})
                for row in csv.DictReader(file)]


def table_of(runs: Iterable[Compared]) -> str:
    """As a page has it."""
    head = ("kernel", "SIMT: items", "cycles", "issuing", "DRAM busy", "SGMF core: all hit",
            "cycles", "lines read", "written", "they take", "SIMT over SGMF")
    lines = [f"| {' | '.join(head)} |", "| --- " + "| ---: " * (len(head) - 1) + "|"]
    lines += [f"| {ran.kernel} | {ran.items:,} | {ran.cycles:,} | {ran.compute / ran.cycles:.0%} | "
              f"{ran.dram / ran.cycles:.0%} | {ran.hits:,} | {ran.core:,} | {ran.read:,} | "
              f"{ran.written:,} | {ran.below:.0%} | {ran.cycles / ran.core:.2f} |" for ran in runs]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """The command's exit status."""
    if not arguments:
        print("usage: python -m cyclebound.tools.dataflow.simt FILE [KERNEL ...]", file=sys.stderr)
        return 2
    path, *names = arguments
    if unknown := [name for name in names if name not in KERNELS]:
        print(f"no kernel {unknown[0]!r}; known are {', '.join(KERNELS)}", file=sys.stderr)
        return 2
    try:
        with ProcessPoolExecutor(2) as pool:
            write_compared(Path(path), pool.map(compare, names or KERNELS))
    except OSError as error:
        print(f"cannot write {path}: {error.strerror}", file=sys.stderr)
        return 2
    print(table_of(read_compared(Path(path))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
