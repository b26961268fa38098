"""The end-to-end write, or read, by its stages, from what runs of the RTL kept."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

__all__ = ["stages"]

_STAGES = {"fill": ("the core fills the bank, tells the DMA (t_1, t_2)", "#4477aa"),
           "first_packet": ("until the first packet can begin", "#ccbb44"),
           "flow": ("until the last packet has arrived", "#228833"),
           "dram": ("until the last beat on DDR3's bus", "#cc6677"),
           # of a read
           "data": ("from the descriptor to the last beat on DDR3's bus (a, b)", "#cc6677"),
           "network": ("until the last packet has arrived (c)", "#228833"),
           "stored": ("until the last word is in the bank (d)", "#4477aa")}
_WIDE = 0.4         # of a bar
_NUMBERED = 0.04    # of the highest bar: lower parts have no number


def _bars(axes: Axes, at: float, times: Mapping[str, float], highest: float, *,
          allowed: bool) -> None:
    """One transaction's stages on each other; of what was measured, with their percentages."""
    below, whole = 0.0, sum(times.values())
    for name in times:
        colour = _STAGES[name][1]
        axes.bar(at, times[name], _WIDE, below, facecolor=colour + ("66" if allowed else "ff"),
                 edgecolor=colour, hatch="////" if allowed else None, linewidth=0.5)
        if not allowed and times[name] > _NUMBERED * highest:
            axes.text(at, below + times[name] / 2, f"{times[name] / whole:.0%}", fontsize=5.5,
                      color="white", ha="center", va="center", rotation=90)
        below += times[name]


def _panels(kept: Sequence[Mapping]) -> list[tuple[str, str, list[Mapping]]]:
    """Title, what is counted along the axis, and the transactions: over N_req for each N_trans of
    which more is known than N_req = 1, and over N_trans for that one."""
    def by(name: str, **only: int) -> list[Mapping]:
        return sorted((row for row in kept if all(row[key] == n for key, n in only.items())),
                      key=lambda row: row[name])

    panels = []
    for number in sorted({row["competitors"] for row in kept}):
        rows = by("requesters", competitors=number)
        if rows[-1]["requesters"] > 1:
            panels.append((f"N_trans = {number} at DDR3", "requesters", rows))
    if len(rows := by("competitors", requesters=1)) > 2:
        panels.append(("N_req = 1 at local memory", "competitors", rows))
    return panels


def stages(kept: Sequence[Mapping]) -> Figure:
    """A bar of what was measured and a hatched one of the bound for each transaction."""
    panels = _panels(kept)
    chart = Figure(figsize=(1.4 + 0.45 * sum(len(rows) + 1 for *_, rows in panels), 4.6),
                   layout="constrained")
    highest = max(sum(row["bound"].values()) for row in kept)
    grid = chart.subplots(1, len(panels), sharey=True, squeeze=False,
                          width_ratios=[len(rows) + 1 for *_, rows in panels])
    for axes, (title, counted, rows) in zip(grid[0], panels, strict=True):
        for place, row in enumerate(rows):
            for side, what in ((-0.5, "measured"), (0.5, "bound")):
                _bars(axes, place + side * _WIDE, row[what], highest, allowed=what == "bound")
        axes.set_xticks(range(len(rows)), [str(row[counted]) for row in rows])
        axes.set_xlabel({"requesters": "N_req", "competitors": "N_trans"}[counted])
        axes.set_title(title, fontsize=9)
        axes.set_axisbelow(True)
        axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    grid[0][0].set_ylabel("cycles of the network")
    keys = [Patch(facecolor=colour, label=label)
            for label, colour in (_STAGES[name] for name in kept[0]["bound"])]
    keys.append(Patch(facecolor="#99999966", edgecolor="#777777", hatch="////",
                      label="the bound, by the same stages"))
    chart.legend(handles=keys, fontsize=7, loc="outside lower center", ncols=min(
        len(keys), 2 * len(panels)))
    return chart
