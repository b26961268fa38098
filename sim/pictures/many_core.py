"""Transactions of a many-core beside others and by themselves, from what a run of the RTL kept."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

__all__ = ["composable"]

_SILENT, _ACTIVE = "#4477aa", "#cc6677"
_CASES = {"one at a time": "a table, K = 1",
          "four at a time": "banks of their own, up to four at a time",
          "no table": "no table: all in one bank"}


def composable(kept: Mapping[str, Sequence[Sequence[int]]]) -> Figure:
    """When each burst of a transaction is moved, others silent or active; a row for each request,
    a panel for each case and direction."""
    figure = Figure(figsize=(12, 5.5), layout="constrained")
    grid = figure.subplots(2, len(_CASES), sharex="row")
    for row, way in zip(grid, ("write", "read"), strict=True):
        for panel, (case, title) in zip(row, _CASES.items(), strict=True):
            for others, colour, side in (("silent", _SILENT, -0.19), ("active", _ACTIVE, 0.19)):
                run = kept[f"{case}, {way}, {others}"]
                panel.eventplot(list(run), lineoffsets=[number + 1 + side
                                                        for number in range(len(run))],
                                linelengths=0.34, linewidths=0.9, colors=colour,
                                label=f"others {others}")
            panel.set_title(f"{way}, {title}", fontsize=9)
            panel.set_yticks(range(1, len(run) + 1))
            panel.set_ylim(len(run) + 0.6, 0.4)
            panel.tick_params(labelsize=7)
        row[0].set_ylabel("request", fontsize=8)
    for panel in grid[-1]:
        panel.set_xlabel("DDR cycles since it began, a mark for each burst", fontsize=8)
    handles, labels = grid[0][0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))  # one for each request else
    figure.legend(named.values(), named.keys(), fontsize=8, loc="outside lower center", ncols=2)
    return figure
