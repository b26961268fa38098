"""Pictures of meshes, from what runs of their RTL kept."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

__all__ = ["composable", "curves"]

_SILENT, _SATURATE = "#4477aa", "#cc6677"


def composable(kept: Mapping[str, Sequence]) -> Figure:
    """When each word of a flow's requests arrives, others silent or saturating, with and without
    tables; a row for each request."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, tables, title in ((panels[0], "tables", "with TDMA tables"),
                                 (panels[1], "none", "without")):
        for others, colour, side in (("silent", _SILENT, 0.17), ("saturate", _SATURATE, -0.17)):
            run = kept[f"{tables} {others}"]
            panel.eventplot([[arrival - asked for arrival in arrivals]
                             for asked, _, arrivals in run],
                            lineoffsets=[number + 1 + side for number in range(len(run))],
                            linelengths=0.3, linewidths=1.5, colors=colour,
                            label=f"others {others}")
        panel.set_title(title, fontsize=10)
        panel.set(xlabel="cycles since the request, a mark for each word", ylabel="request")
        panel.set_yticks(range(1, len(run) + 1))
        panel.set_ylim(len(run) + 0.6, 0.4)
    handles, labels = panels[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named.keys(), fontsize=8, loc="outside lower center", ncols=2)
    return figure


def curves(kept: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Delivered flits and latency against offered flits."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    through, late = figure.subplots(1, 2)
    for name, points in kept.items():
        offered, delivered, queued, network = zip(*points, strict=True)
        [line] = through.plot(offered, delivered, marker=".", label=name)
        sane = [number for number, rate in enumerate(delivered) if rate > 0.9 * offered[number]]
        last = (sane[-1] if sane else 0) + 2
        late.plot(offered[:last], queued[:last], marker=".", color=line.get_color(), label=name)
        late.plot(offered[:last], network[:last], linestyle=":", color=line.get_color())
    through.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=0.8)
    through.set(xlabel="flits offered in each cycle, by tile", ylabel="flits delivered, by tile",
                xlim=(0, 1), ylim=(0, None))
    late.set(xlabel="flits offered in each cycle, by tile", yscale="log",
             ylabel="cycles from creation to last flit")
    late.plot([], [], linestyle=":", color="#555555", label="of them on the network")
    late.legend(fontsize=8)
    through.legend(fontsize=8)
    return figure
