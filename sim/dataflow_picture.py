"""Pictures of mapped kernels: the grid with its nets and how busy it is; cycles over buffer depth.

    python -m cyclebound.sim.dataflow_picture grid KERNEL FILE
    python -m cyclebound.sim.dataflow_picture depth FILE
    python -m cyclebound.sim.dataflow_picture mapping

The last one prints the seconds that mapping takes, for each kernel on both grids.
"""

import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE, PAPER, Kind, Node
from cyclebound.golden.dataflow.kernel import Floats
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.mapper import SINK, Mapped
from cyclebound.golden.dataflow.partition import map_parts
from cyclebound.golden.dataflow.run import Run, run_graphs
from cyclebound.golden.dataflow.segments import compile_segments
from cyclebound.tb.dataflow.fabric_constants import CONSTANTS, MISSES

__all__ = ["draw_depths", "draw_grid", "grid_picture", "run_kernel"]

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


_CELL, _WIDE, _HIGH = 150, 92, 62  # pixels: between two units, and of a unit
_COLOURS = ("#1f77b4", "#d95f02", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#666666")


def _point(node: Node) -> tuple[float, float]:
    """Switches stand at the lower right corners of units."""
    by = 0.5 if node.switch else 0
    return _CELL * (node.column + 0.5 + by), _CELL * (node.row + 0.4 + by)


def _heat(share: float) -> str:
    """From white to red."""
    part = min(max(share, 0.0), 1.0)
    return f"#ff{round(250 - 170 * part):02x}{round(240 - 200 * part):02x}"


def draw_grid(mapped: Mapped, busy: Mapping[Node, float]) -> str:
    """SVG of the grid: units by how busy they are, and every net's links in a colour of its own.

    ``busy``: by unit, the share of cycles in which it sent a result.
    """
    grid = mapped.grid
    width, height = _CELL * grid.width + 40, _CELL * grid.height + 60
    tasks = {unit: "sink" if number == SINK else str(mapped.graph.tasks[number])
             for number, unit in mapped.places.items()}
    drawn = []
    for unit in grid.units:
        x, y = _point(unit)
        kind = grid.kind(unit)
        lines = [_NAMES.get(kind, kind.name.lower())]
        if unit in tasks:
            lines += [tasks[unit], f"{busy.get(unit, 0.0):.0%}"]
        colour = _heat(busy.get(unit, 0.0)) if unit in tasks else "#f4f4f4"
        drawn.append(f'<rect x="{x - _WIDE / 2}" y="{y - _HIGH / 2}" width="{_WIDE}" '
                     f'height="{_HIGH}" fill="{colour}" stroke="#777"/>')
        drawn += [f'<text x="{x}" y="{y - 16 + 18 * line}" fill="{"#000" if line else "#555"}">'
                  f'{escape(said)}</text>' for line, said in enumerate(lines)]
    for switch in grid.switches:
        x, y = _point(switch)
        drawn.append(f'<circle cx="{x}" cy="{y}" r="5" fill="#bbb"/>')
    for number, net in enumerate(mapped.nets):
        for link in dict.fromkeys(link for way in net.routes for link in way.links):
            drawn.append(_arrow(_point(link[0]), _point(grid.peer(*link)[0]),
                                _COLOURS[number % len(_COLOURS)]))
    for tenth in range(11):
        x = 20 + 26 * tenth
        drawn.append(f'<rect x="{x}" y="{height - 36}" width="26" height="12" '
                     f'fill="{_heat(tenth / 10)}"/>')
    drawn.append(f'<text x="320" y="{height - 25}" style="text-anchor:start">0 to 100 % of cycles '
                 "with a result</text>")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}"><g font-family="sans-serif" font-size="12" '
            f'text-anchor="middle">{"".join(drawn)}</g></svg>')


def _arrow(begin: tuple[float, float], end: tuple[float, float], colour: str) -> str:
    """A bent arrow, a little to the right of the straight line: there is one the other way, too."""
    (x0, y0), (x1, y1) = begin, end
    far = math.hypot(x1 - x0, y1 - y0)
    dx, dy = (x1 - x0) / far, (y1 - y0) / far
    room = min(0.3 * far, 0.3 * _CELL)
    x0, y0, x1, y1 = x0 + room * dx, y0 + room * dy, x1 - room * dx, y1 - room * dy
    bend = 0.05 * far if far < 1.5 * _CELL else 0.12 * far
    xm, ym = (x0 + x1) / 2 - bend * dy, (y0 + y1) / 2 + bend * dx
    head = math.atan2(y1 - ym, x1 - xm)
    tips = " ".join(f"{x1 - 7 * math.cos(head + turn):.1f},{y1 - 7 * math.sin(head + turn):.1f}"
                    for turn in (-0.45, 0.45))
    return (f'<path d="M{x0:.1f},{y0:.1f} Q{xm:.1f},{ym:.1f} {x1:.1f},{y1:.1f}" fill="none" '
            f'stroke="{colour}" stroke-width="1.6"/>'
            f'<polygon points="{x1:.1f},{y1:.1f} {tips}" fill="{colour}"/>')


def grid_picture(name: str = "euclid", threads: int = 256) -> tuple[str, str]:
    """A kernel on the 5x5 grid: what the picture shows, and the picture."""
    run = run_kernel(name, depth=16, threads=threads, **MISSES)
    busy = {unit: sent / run.cycles for unit, sent in run.busy[0].items()}
    caption = (f"{name} on the 5x5 grid, {threads:,} threads in {run.cycles:,} cycles of the "
               "golden fabric: nets, and the share of cycles in which a unit sends a result")
    return caption, draw_grid(run.parts[0], busy)


def draw_depths(cycles: Mapping[str, Mapping[int, int]], path: Path) -> None:
    """By kernel: how many times as fast it is as with two entries."""
    from matplotlib.figure import Figure

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
        case ["grid", name, path]:
            Path(path).write_text(grid_picture(name, THREADS)[1])
        case ["mapping"]:
            for grid in (FIVE_BY_FIVE, PAPER):
                for name, kernel in KERNELS.items():
                    graphs = compile_segments(kernel, **CONSTANTS.get(name, {}))
                    started = time.process_time()
                    parts = [part for graph in graphs for part in map_parts(graph, grid, depth=16)]
                    print(f"| {name} | {grid.height} x {grid.width} | {len(parts)} | "
                          f"{time.process_time() - started:.2f} |", flush=True)
        case ["depth", path]:
            cycles = {}
            for name in KERNELS:
                runs = {depth: run_kernel(name, depth=depth, **MISSES) for depth in DEPTHS}
                cycles[name] = {depth: run.cycles for depth, run in runs.items()}
                print(f"| {name} | {len(runs[16].parts)} |",
                      *(f"{run.cycles:,} |" for run in runs.values()),
                      f"{runs[2].cycles / runs[16].cycles:.2f} |",
                      f"{runs[16].cycles / runs[16].allowed:.2f} |", flush=True)
            draw_depths(cycles, Path(path))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
