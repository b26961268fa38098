"""Jobs on tiles as a Gantt chart: when each has begun and ended at the latest, by its bound."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from cyclebound.sim.families.system.jobs import Bounded

__all__ = ["figure"]

_COLOURS = {"simd": "#4477aa", "systolic": "#228833", "dataflow": "#cc6677"}


def figure(bounds: Sequence[Bounded], deadlines: Mapping[str, int]) -> Figure:
    """A row for each tile; a job's bar is its bound, before its latest end. A red line: a
    deadline."""
    tiles = [tile for tile in _COLOURS if any(one.job.tile == tile for one in bounds)]
    chart = Figure(figsize=(11, 1.2 + 0.7 * len(tiles)), layout="constrained")
    axes = chart.subplots()
    for one in bounds:
        row = tiles.index(one.job.tile)
        axes.barh(row, one.job.clocks, left=one.ends - one.job.clocks, height=0.7,
                  color=_COLOURS[one.job.tile], edgecolor="white")
        axes.text(one.ends - one.job.clocks / 2, row, one.job.name, ha="center", va="center",
                  color="white", fontsize=8)
        if (due := deadlines.get(one.job.name)) is not None:
            axes.plot([due, due], [row - 0.45, row + 0.45], color="red")
    axes.set(xlim=(0, max([*(one.ends for one in bounds), *deadlines.values()]) * 1.01),
             xlabel="DRAM clocks from the start, at the latest")
    axes.set_yticks(range(len(tiles)), tiles)
    axes.invert_yaxis()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return chart
