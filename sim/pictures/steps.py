"""Step pictures of systolic arrays: what each PE multiplies in each step."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.golden.systolic.steps import steps

__all__ = ["figure"]

_COLOURS = ("#f4b8ae", "#f6e3a1", "#bfe0b4")  # a third, two thirds, all of a sum
_IDLE = "#e4e4e4"


def figure(size: int = 3) -> Figure:
    """A row of panels for each dataflow: a product of ``size`` in all dimensions."""
    count = 3 * size - 2
    chart = Figure(figsize=(1.65 * count, 1.95 * len(Dataflow)))
    axes = chart.subplots(len(Dataflow), count)
    for flow, row in zip(Dataflow, axes, strict=True):
        for number, (grid, panel) in enumerate(zip(steps(flow, size, size, size), row,
                                                   strict=True), start=1):
            active = sum(mac is not None for line in grid for mac in line)
            panel.set_title(f"step {number}: {active} PEs", fontsize=8)
            panel.set(xlim=(0, size), ylim=(size, 0), xticks=[], yticks=[], aspect="equal")
            for i, line in enumerate(grid):
                for j, mac in enumerate(line):
                    colour = _IDLE
                    if mac is not None:
                        colour = _COLOURS[min(3 * mac.number // size, 3) - 1]
                        text = "a{}{}\nb{}{}".format(*mac.a, *mac.b)
                        panel.text(j + 0.5, i + 0.5, text, fontsize=6, ha="center", va="center")
                    panel.add_patch(Rectangle((j, i), 1, 1, facecolor=colour, edgecolor="white",
                                              linewidth=1.5))
        row[0].set_ylabel(flow.value.replace(" ", "\n"), fontsize=8)
    chart.tight_layout()
    return chart
