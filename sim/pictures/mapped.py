"""Pictures of mapped kernels: the grid with its nets and how busy it is; cycles over buffer depth.

    python -m cyclebound.sim.pictures.mapped cycles KERNEL ... > FILE
    python -m cyclebound.sim.pictures.mapped ran RUN ... > FILE
    python -m cyclebound.sim.pictures.mapped table FILE
    python -m cyclebound.sim.pictures.mapped depth FILE PICTURE
    python -m cyclebound.sim.pictures.mapped times

``cycles`` runs kernels on the golden fabric, for minutes each; ``ran`` looks up what they took in
runs of the fabric's testbench ``kernels_1024``. Both write a file of comma-separated values, a line
for each kernel and buffer depth, which ``table`` prints as a page has it, and ``depth`` draws.
``times`` prints the seconds that mapping takes: kernel, grid, parts, CPU-s.
"""

import csv
import re
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TextIO

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE, PAPER, Kind, Node
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS, MISSES
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.mapped import SINK, Mapped
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.regression.results import Results
from cyclebound.tools.dataflow.partition import map_parts
from cyclebound.tools.dataflow.run import FabricRun, run_graphs
from cyclebound.tools.dataflow.segments import compile_segments

__all__ = ["KernelCycles", "draw_depths", "grid_of", "picture_of", "read_depths", "run_depths",
           "run_kernel", "table_of_depths", "took_in", "write_depths"]

THREADS = 1024
DEPTHS = (2, 4, 8, 16)
_NAMES = {Kind.LOAD_STORE: "load/store", Kind.INTEGER_DIVIDE: "integer division",
          Kind.DIVIDE: "division", Kind.ROOT: "root"}


def run_kernel(name: str, *, depth: int, threads: int = THREADS, balance: bool = True,
               **memory) -> FabricRun:
    """A kernel on the golden 5x5 fabric."""
    kernel = KERNELS[name]
    rng = np.random.default_rng(1)
    arrays = {array: rng.standard_normal(THREADS).astype(np.float32).view(np.uint32)
              if kernel.parameters[array] is Floats
              else rng.integers(0, 2, THREADS).astype(np.uint32) for array in kernel.arrays}
    return run_graphs(compile_segments(kernel, **CONSTANTS.get(name, {})), FIVE_BY_FIVE, arrays,
                      threads=threads, depth=depth, balance=balance, **memory)


def _point(node: Node) -> tuple[float, float]:
    """Switches stand at the lower right corners of units."""
    by = 0.5 if node.switch else 0
    return node.column + by, -(node.row + by)


def grid_of(kernel: str, part: int = 0) -> Figure:
    """A kernel on the grid: units by how busy they are, and every net's links in a colour of its
    own, of one of the kernel's parts. It runs in the interpreter, which takes some seconds."""
    run = run_kernel(kernel, depth=16, threads=128, **MISSES)
    return _grid(run.parts[part],
                 {unit: sent / run.cycles for unit, sent in run.busy[part].items()})


def picture_of(mapped: Mapped, busy: Mapping[Node, int], cycles: int) -> Figure:
    """A configuration of the grid. ``busy``: by unit, the results that it sent in so many cycles,
    where they are known."""
    return _grid(mapped, {unit: sent / cycles for unit, sent in busy.items()})


def _grid(mapped: Mapped, busy: Mapping[Node, float]) -> Figure:
    """``busy``: by unit, the share of cycles in which it sent a result."""
    grid = mapped.grid
    figure = Figure(figsize=(1.5 * grid.width + 1.5, 1.5 * grid.height), layout="constrained")
    axes = figure.subplots()
    heat, colours = colormaps["YlOrRd"], colormaps["tab10"]
    tasks = {unit: "sink" if number == SINK else str(mapped.graph.tasks[number])
             for number, unit in mapped.places.items()}
    for unit in grid.units:
        x, y = _point(unit)
        share = busy.get(unit, 0.0)
        axes.add_patch(_square(x, y, heat(share) if unit in tasks else "#f4f4f4"))
        kind = grid.kind(unit)
        axes.text(x, y + 0.13, _NAMES.get(kind, kind.name.lower()), ha="center", va="center",
                  fontsize=6, color="#555555", zorder=4)
        if unit in tasks:
            does = f"{tasks[unit]}\n{share:.0%}" if unit in busy else tasks[unit]
            axes.text(x, y - 0.08, does, ha="center", va="center", fontsize=7, zorder=4)
    for switch in grid.switches:
        axes.plot(*_point(switch), "o", color="#bbbbbb", markersize=5, zorder=2)
    for number, net in enumerate(mapped.nets):
        links = {link for path in net.routes for link in path.links}
        for node, port in links:
            peer = grid.peer(node, port)
            assert peer is not None  # no link of a net ends at the edge
            (x0, y0), (x1, y1) = _point(node), _point(peer[0])
            bend = 0.0 if abs(x1 - x0) + abs(y1 - y0) < 1.5 else 0.25
            axes.annotate("", (x1, y1), (x0, y0), zorder=3, arrowprops={
                "arrowstyle": "-|>", "color": colours(number % 10), "linewidth": 1.3,
                "shrinkA": 5, "shrinkB": 7, "connectionstyle": f"arc3,rad={bend}"})
    axes.set_xlim(-0.6, grid.width - 0.2)
    axes.set_ylim(-grid.height + 0.2, 0.6)
    axes.set_aspect("equal")
    axes.axis("off")
    figure.colorbar(ScalarMappable(cmap=heat), ax=axes, shrink=0.6,
                    label="share of cycles with a result")
    return figure


def _square(x: float, y: float, colour) -> Rectangle:
    return Rectangle((x - 0.3, y - 0.25), 0.6, 0.5, facecolor=colour, edgecolor="#777777",
                     zorder=1.5)


@dataclass(frozen=True)
class KernelCycles:
    """Cycles of a kernel from start to done, all its parts added up."""

    kernel: str
    parts: int
    entries: int
    cycles: int


_COLUMNS = [member.name for member in fields(KernelCycles)]
_LOGGED = re.compile(r"(\w+): (\d+) threads, (\d+) cycles, \[([\d, ]+)\]")


def run_depths(run: Path) -> list[KernelCycles]:
    """Cycles of kernels in a run's jobs of ``kernels_1024`` on the 5x5 grid, from their logs."""
    block = catalogue.load().find("dataflow.fabric")
    results = Results(run)
    jobs = [job for job in results.jobs()
            if (job.block, job.testbench) == (block.name, "kernels_1024")]
    results.close()
    runs = []
    for job in jobs:
        if not job.passed:
            raise UserError(f"{job.name} failed: {job.reason}")
        parameters = block.configurations[job.configuration].parameters
        rows, depth = parameters["rows"], parameters["depth"]
        assert isinstance(rows, list | tuple)
        assert isinstance(depth, int)
        if tuple(rows) == FIVE_BY_FIVE.rows:
            runs += took_in((Path(job.folder) / "log.txt").read_text(), depth)
    return runs


def took_in(log: str, entries: int) -> list[KernelCycles]:
    """Cycles of kernels from a job's log, with buffers of ``entries`` entries."""
    return [KernelCycles(name, parts.count(",") + 1, entries, int(cycles))
            for name, threads, cycles, parts in _LOGGED.findall(log) if int(threads) == THREADS]


def write_depths(took: Iterable[KernelCycles], file: TextIO) -> None:
    """A line for each kernel and depth."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(_COLUMNS)
    lines.writerows(astuple(transfer) for transfer in took)


def read_depths(path: Path) -> dict[str, dict[int, KernelCycles]]:
    """By kernel and depth, what `write_depths` wrote."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_kernel: dict[str, dict[int, KernelCycles]] = {}
    for row in rows:
        took = KernelCycles(row["kernel"], *(int(row[column]) for column in _COLUMNS[1:]))
        by_kernel.setdefault(took.kernel, {})[took.entries] = took
    return {kernel: dict(sorted(by.items())) for kernel, by in by_kernel.items()}


def table_of_depths(depths: Mapping[str, Mapping[int, KernelCycles]]) -> str:
    """Cycles as a table: a line for each kernel, and how much the most entries are worth."""
    (least, *_, most) = entries = list(next(iter(depths.values())))
    head = ["kernel", "parts", f"{least} entries", *entries[1:], f"{most} over {least}"]
    lines = [f"| {' | '.join(map(str, head))} |", f"|{' --- |' * len(head)}"]
    for kernel, by in depths.items():
        cells = [f"{by[depth].cycles:,}" for depth in entries]
        lines.append(f"| {kernel} | {by[most].parts} | {' | '.join(cells)} | "
                     f"{by[least].cycles / by[most].cycles:.2f} |")
    return "\n".join(lines)


def draw_depths(depths: Mapping[str, Mapping[int, KernelCycles]], path: Path) -> None:
    """By kernel: how many times as fast it is as with two entries."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots()
    (least, *_) = entries = list(next(iter(depths.values())))
    for k, depth in enumerate(entries):
        axes.bar(np.arange(len(depths)) + (k - 1.5) * 0.2,
                 [by[least].cycles / by[depth].cycles for by in depths.values()], 0.2,
                 label=f"{depth} entries", color=("#dddddd", "#88ccee", "#4477aa", "#223355")[k])
    axes.axhline(1.5, color="black", linestyle=":", linewidth=1)
    axes.set_xticks(range(len(depths)), depths, rotation=25, ha="right", fontsize=8)
    axes.set_ylabel(f"speed-up over {least} entries")
    axes.legend(frameon=False, ncols=len(entries), fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path)


def main(arguments: list[str]) -> None:
    """Run the command that the arguments name; the module's text lists them."""
    match arguments:
        case ["cycles", *names]:
            write_depths((KernelCycles(name, len(run.parts), depth, run.cycles)
                          for name in names for depth in DEPTHS
                          for run in [run_kernel(name, depth=depth, **MISSES)]), sys.stdout)
        case ["ran", *runs]:
            write_depths((took for run in runs for took in run_depths(Path(run))), sys.stdout)
        case ["table", path]:
            print(table_of_depths(read_depths(Path(path))))
        case ["depth", path, picture]:
            draw_depths(read_depths(Path(path)), Path(picture))
        case ["times"]:
            for grid in (FIVE_BY_FIVE, PAPER):
                for name, kernel in KERNELS.items():
                    graphs = compile_segments(kernel, **CONSTANTS.get(name, {}))
                    started = time.process_time()
                    parts = [part for graph in graphs for part in map_parts(graph, grid, depth=16)]
                    print(f"| {name} | {grid.height} x {grid.width} | {len(parts)} | "
                          f"{time.process_time() - started:.2f} |", flush=True)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
