"""The stations of packets of SHMAC's network, as the thesis' Figure 5.7 lists them of one."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from cyclebound.golden.shmac.tracking import Track
from cyclebound.sim.families.shmac.tracks import spans, title

__all__ = ["SHOWN", "packets"]

SHOWN = 24
_KINDS = {"enter": ("#999933", "on offer to the network"), "router": ("#4477aa", "in a router"),
          "offer": ("#88ccee", "on offer at its output, up to the cycle in which it is taken")}


def packets(tracks: Sequence[Track]) -> Figure:
    """A row for each of the first packets, with their stations from where each begins."""
    shown = tracks[:SHOWN]
    chart = Figure(figsize=(11, 1.6 + 0.3 * len(shown)), layout="constrained")
    axes = chart.subplots()
    for row, track in enumerate(shown):
        for name, kind, first, last in spans(track):
            axes.barh(row, last - first, left=first - track.begun, height=0.8,
                      color=_KINDS[kind][0], edgecolor="white", linewidth=0.4)
            if kind == "router":
                axes.text((first + last) / 2 - track.begun, row, name.rpartition(" ")[2],
                          ha="center", va="center", color="white", fontsize=6, clip_on=True)
    axes.set_yticks(range(len(shown)), [
        f"{title(track)}, from cycle {track.begun:,}" for track in shown], fontsize=7)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("cycles since the packet was first on offer")
    axes.set_title("one packet" if len(tracks) == 1 else f"{len(tracks):,} packets"
                   if len(shown) == len(tracks) else
                   f"the first {len(shown)} of {len(tracks):,} packets", fontsize=9)
    chart.legend(handles=[Patch(color=colour, label=label) for colour, label in _KINDS.values()],
                 fontsize=7, loc="outside lower center", ncols=3)
    return chart
