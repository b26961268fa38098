"""Pictures of mapped kernels: the grid with its nets and how busy it is; cycles over buffer depth.

    python -m cyclebound.sim.pictures.mapped cycles KERNEL ...
    python -m cyclebound.sim.pictures.mapped depth PAGE FILE
    python -m cyclebound.sim.pictures.mapped times

``cycles`` runs kernels, for minutes each, and prints lines of a table; ``depth`` draws the table
that a page has between the lines ``<!-- kernels -->`` and ``<!-- end -->``. ``times`` prints the
seconds that mapping takes: kernel, grid, parts, CPU-s.
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE, PAPER, Kind, Node
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.mapper import SINK, Mapped
from cyclebound.golden.dataflow.partition import map_parts
from cyclebound.golden.dataflow.run import Run, run_graphs
from cyclebound.golden.dataflow.segments import compile_segments
from cyclebound.tb.dataflow.fabric_constants import CONSTANTS, MISSES

__all__ = ["draw_depths", "grid_of", "read_depths", "run_kernel"]

THREADS = 1024
DEPTHS = (2, 4, 8, 16)
_NAMES = {Kind.LOAD_STORE: "load/store", Kind.INTEGER_DIVIDE: "integer division",
          Kind.DIVIDE: "division", Kind.ROOT: "root"}


def run_kernel(name: str, *, depth: int, threads: int = THREADS, balance: bool = True,
               **memory) -> Run:
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
        links = {link for way in net.routes for link in way.links}
        for node, port in links:
            (x0, y0), (x1, y1) = _point(node), _point(grid.peer(node, port)[0])
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


def read_depths(page: str) -> dict[str, dict[int, int]]:
    """By kernel and depth: the cycles in a page's table."""
    table = page.partition("<!-- kernels -->")[2].partition("<!-- end -->")[0]
    _, _, *rows = table.strip().splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name: {depth: int(cycles.replace(",", ""))
                   for depth, cycles in zip(DEPTHS, found, strict=True)}
            for name, _, *found, _ in cells}


def draw_depths(cycles: Mapping[str, Mapping[int, int]], path: Path) -> None:
    """By kernel: how many times as fast it is as with two entries."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.subplots()
    depths = sorted(next(iter(cycles.values())))
    for k, depth in enumerate(depths):
        axes.bar(np.arange(len(cycles)) + (k - 1.5) * 0.2,
                 [found[depths[0]] / found[depth] for found in cycles.values()], 0.2,
                 label=f"{depth} entries", color=("#dddddd", "#88ccee", "#4477aa", "#223355")[k])
    axes.axhline(1.5, color="black", linestyle=":", linewidth=1)
    axes.set_xticks(range(len(cycles)), cycles, rotation=25, ha="right", fontsize=8)
    axes.set_ylabel(f"speed-up over {depths[0]} entries")
    axes.legend(frameon=False, ncols=len(depths), fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path)


def main(arguments: list[str]) -> None:
    """See the module."""
    match arguments:
        case ["cycles", *names]:
            for name in names:
                runs = {depth: run_kernel(name, depth=depth, **MISSES) for depth in DEPTHS}
                print(f"| {name} | {len(runs[16].parts)} |",
                      *(f"{run.cycles:,} |" for run in runs.values()),
                      f"{runs[2].cycles / runs[16].cycles:.2f} |", flush=True)
        case ["depth", page, path]:
            draw_depths(read_depths(Path(page).read_text()), Path(path))
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
