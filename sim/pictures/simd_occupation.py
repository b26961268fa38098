"""Which slot occupies which resource, over time: Sim-D's Figure 4."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cyclebound.golden.simd.accelerator import Phase

__all__ = ["RESOURCES", "figure", "policies"]

RESOURCES = ("compute", "dram", "scratchpad")
_COLOURS = ("#4477aa", "#cc6677")  # by slot
_LABELLED = 0.03  # of the time: shorter phases have no room for a number


def figure(phases: Sequence[Phase], cycles: int, title: str) -> Figure:
    """A row for each resource and slot; a bar is a phase, with its work-group's number."""
    chart = Figure(figsize=(11, 3.2), layout="constrained")
    _draw(chart.subplots(), phases, cycles, title)
    return chart


def policies(kept: Mapping) -> Figure:
    """A kernel under each policy, one above the other, over the same time."""
    runs = {policy: [Phase(*phase) for phase in phases]
            for policy, phases in kept["phases"].items()}
    ends = {policy: max(phase.end for phase in phases) for policy, phases in runs.items()}
    chart = Figure(figsize=(11, 2.9 * len(runs)), layout="constrained")
    for axes, (policy, phases) in zip(chart.subplots(len(runs), squeeze=False)[:, 0],
                                      runs.items(), strict=True):
        _draw(axes, phases, max(ends.values()),
              f"{kept['kernel']}, policy {policy}: {ends[policy]:,} compute cycles")
    return chart


def _draw(axes: Axes, phases: Sequence[Phase], cycles: int, title: str) -> None:
    rows = [(resource, slot) for resource in RESOURCES for slot in range(len(_COLOURS))]
    for phase in phases:
        if phase.start >= cycles:
            continue
        row = rows.index((phase.resource, phase.slot))
        length = min(phase.end, cycles) - phase.start
        axes.barh(row, length, left=phase.start, height=0.8, color=_COLOURS[phase.slot],
                  edgecolor="white", linewidth=0.4)
        if length > _LABELLED * cycles:
            axes.text(phase.start + length / 2, row, str(phase.work_group), ha="center",
                      va="center", color="white", fontsize="small")
    axes.set_yticks(range(len(rows)), [f"{resource}, slot {slot}" for resource, slot in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, cycles)
    axes.set_xlabel("compute cycles")
    axes.set_title(title)
