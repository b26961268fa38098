"""Who waits in the reorder core's queue, and for how long, from what runs of its RTL kept."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.patches import Patch

__all__ = ["stays"]

_SHOWN = 44  # of the first requests that come
_HIT, _MISS = "#4477aa", "#cc6677"


def stays(kept: Mapping) -> Figure:
    """A bar for each of the first requests, from when it came until it left."""
    whole = kept["stays"]
    opened = whole[0][:2]  # the row that the first one opens
    shown = whole[:_SHOWN]
    end = max(left for *_, left in shown if left is not None) + 4
    chart = Figure(figsize=(9, 5.2), layout="constrained")
    axes = chart.subplots()
    for place, (bank, row, first, left) in enumerate(shown):
        axes.barh(place, (end if left is None else left) - first, left=first, height=0.8,
                  color=_HIT if [bank, row] == opened else _MISS)
    later = sum(left is not None and left > end for *_, left in whole)
    stuck = [place for place, (*_, left) in enumerate(shown) if left is None]
    if stuck:
        axes.annotate(f"still there when {later} more have left", (end, stuck[-1] + 0.5), (-6, -2),
                      textcoords="offset points", ha="right", va="top", fontsize=8, color=_MISS)
    axes.set(xlim=(-1, end), ylim=(len(shown) - 0.4, -0.6), xlabel="cycles",
             ylabel="requests, in the order in which they came")
    axes.set_title("the literal rules" if not kept["cap"] else
                   f"the request that came first goes first once {kept['cap']} others have left",
                   fontsize=9)
    axes.legend(handles=[Patch(color=_HIT, label="the row that is open"),
                         Patch(color=_MISS, label="another row")], fontsize=8, loc="lower left")
    return chart
