"""Which slot occupies which resource, over time: Sim-D's Figure 4."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import Phase, Policy
from cyclebound.sim.families.simd.files import load_program
from cyclebound.sim.families.simd.options import timed_grid
from cyclebound.sim.families.simd.run import grid_of
from cyclebound.sim.families.simd.trace import Trace, phase_trace
from cyclebound.tools.simd.wcet.analysis import Analysis

__all__ = ["RESOURCES", "figure", "policies", "policies_trace", "worst", "worst_trace"]

RESOURCES = ("compute", "dram", "scratchpad")
_COLOURS = ("#4477aa", "#cc6677")  # by slot
_DRAWN, _TRACED = 120, 1024  # phases of a worst schedule: of its picture, and of its trace
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


def policies_trace(kept: Mapping) -> Trace:
    """The same as a trace, the policies below each other."""
    events: list[dict] = []
    for number, (policy, phases) in enumerate(kept["phases"].items()):
        for event in phase_trace([Phase(*phase) for phase in phases], kept["compute_ps"]
                                 )["traceEvents"]:
            named = {"args": {"name": f"{policy}: {event['args']['name']}"}} \
                if event["name"] == "process_name" else {}
            events.append({**event, "pid": event["pid"] + number * len(RESOURCES), **named})
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def worst(kernel: str, policy: str, part: str) -> Figure:
    """The first phases of an installed kernel's worst schedule (`simd wcet --chart`)."""
    analysis = _analysis(kernel, part)
    phases, end = analysis.schedule(Policy(policy), _DRAWN)
    return figure(phases, end, f"{kernel}, worst schedule, policy {policy}")


def worst_trace(kernel: str, policy: str, part: str) -> Trace:
    """The first phases of it as a trace (all: `simd wcet --trace`)."""
    analysis = _analysis(kernel, part)
    phases, _ = analysis.schedule(Policy(policy), _TRACED)
    return phase_trace(phases, analysis.grid.machine.compute_ps)


def _analysis(kernel: str, part: str) -> Analysis:
    program = load_program(kernel)
    grid = timed_grid(grid_of(program, None, None, "paper"), "rtl")
    return Analysis(program, grid, part_named(part))


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
