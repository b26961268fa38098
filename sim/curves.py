"""Curves that a testbench keeps with `Bench.plot`, drawn for reports and documents."""

from collections.abc import Mapping

from matplotlib.figure import Figure

__all__ = ["figure"]


def figure(plot: Mapping) -> Figure:
    """What a `Bench.plot` kept, a panel beside the other."""
    panels = plot["panels"]
    drawn = Figure(figsize=(5 * len(panels), 4), layout="constrained")
    drawn.patch.set_visible(False)
    for panel, axes in zip(panels, drawn.subplots(1, len(panels), squeeze=False)[0], strict=True):
        colours = {}
        for line in panel["lines"]:
            of = line.get("of")  # a part of another line
            [made] = axes.plot(line["x"], line["y"], label=None if of else line["name"],
                               linestyle=":" if of else "-", color=colours.get(of), clip_on=False)
            colours[line["name"]] = made.get_color()
        parts = {line["name"] for line in panel["lines"] if line.get("of")}
        for name in sorted(parts):
            axes.plot([], [], linestyle=":", color="#555555", label=name)
        axes.patch.set_visible(False)
        axes.set(xlabel=panel["x"], ylabel=panel["y"])
        if panel.get("log"):
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, None)
        axes.legend(fontsize=8)
    return drawn
