"""Sim-D's Figure 8: WCETs of kernels between the bounds of any scheduler."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from cyclebound.sim.families.simd.published import Compared
from cyclebound.tools.simd.wcet_adversary import POLICIES

__all__ = ["figure"]

_MARKS = {"access": "#4477aa", "compute": "#cc6677"}


def figure(rows: Sequence[Compared]) -> Figure:
    """A column for each kernel, in multiples of the published lower bound.

    A bar reaches from the published lower bound (1) to its upper one; hollow marks are published
    WCETs, full ones this project's, crosses what the cycle model took.
    """
    chart = Figure(figsize=(11, 5), layout="constrained")
    axes = chart.subplots()
    for place, row in enumerate(rows):
        unit = row.published.lower
        axes.bar(place, row.published.upper / unit - 1, bottom=1, width=0.7, color="#dddddd")
        for shift, policy in zip((-0.17, 0.17), POLICIES, strict=True):
            colour, at = _MARKS[policy.value], place + shift
            formula = getattr(row.published, policy.value)
            axes.plot(at, formula / unit, "s", mfc="none", mec=colour)
            own = row.own[policy]
            if own is not None:
                axes.plot(at, own / unit, "o", color=colour)
            if policy in row.measured:
                axes.plot(at, row.measured[policy] / unit, "x", color="black")
    for name, colour in _MARKS.items():
        axes.plot([], [], "s", mfc="none", mec=colour, label=f"published, {name}")
        axes.plot([], [], "o", color=colour, label=f"this project, {name}")
    if any(row.measured for row in rows):
        axes.plot([], [], "x", color="black", label="cycle model")
    axes.bar(0, 0, color="#dddddd", label="published bounds of any scheduler")
    axes.set_xticks(range(len(rows)), [row.kernel + (" (*)" if row.outside else "")
                                       for row in rows], rotation=40, ha="right")
    axes.set_ylabel("cycles over the published lower bound")
    axes.set_ylim(0)
    axes.legend(fontsize="small")
    return chart
