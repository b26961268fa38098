"""An allocation as a Gantt chart: banks of DDR3 over the hyperperiod, and the network's windows."""

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from cyclebound.golden.noc.execution_model import Allocation, System, flow_name

__all__ = ["figure"]

_COLOURS = ("#4477aa", "#cc6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#882255",
            "#332288", "#ddaa33", "#44aa99", "#bb5566", "#117733", "#88ccee", "#661100", "#6699cc")
_HATCH = "///"  # of reads


def figure(system: System, allocation: Allocation) -> Figure:
    """Pale: the slots that a transaction has; full: what it takes at most. Hatched: reads."""
    banks = sorted(set(allocation.banks.values()))
    chart = Figure(figsize=(11, 2.4 + 0.45 * len(banks) + 0.25 * len(system.flows)),
                   layout="constrained")
    table, windows = chart.subplots(2, 1, height_ratios=(1.5 * len(banks), len(system.flows) + 1))
    names = list(system.of)
    colour = {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(names)}
    slot, end = system.hardware.slot, system.hyperperiod * system.hardware.slot
    for t in system.transactions:
        where = allocation.places[t.full_name]
        low, hatch = banks.index(allocation.banks[t.application]), None if t.write else _HATCH
        for begin in range(where.start * slot - t.period, end, t.period):
            for length, alpha in ((where.length * slot, 0.3), (where.bound, 1.0)):
                table.add_patch(Rectangle((begin, low + 0.1), length, 0.8, alpha=alpha,
                                          facecolor=colour[t.application], edgecolor="white",
                                          hatch=hatch if alpha == 1.0 else None))
            if 0 <= begin < end:
                table.text(begin + where.length * slot / 2, low + 0.5, t.name, ha="center",
                           va="center", fontsize=6)
    table.set(xlim=(0, end), ylim=(0, len(banks)),
              xlabel=f"cycles of the network; a slot has {slot}",
              title=f"Greatest bound over deadline: {float(allocation.ratio(system)):.3f}")
    table.set_yticks([low + 0.5 for low in range(len(banks))], [f"bank {bank}" for bank in banks])
    table.legend(handles=[*(Patch(facecolor=colour[name], label=name) for name in names),
                          Patch(facecolor="white", edgecolor="grey", hatch=_HATCH, label="reads")],
                 loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7)
    period = system.hardware.period
    for low, flow in enumerate(system.flows):
        one = allocation.windows[flow]
        for begin in (one.offset - period, one.offset):
            windows.add_patch(Rectangle((begin, low + 0.1), one.length, 0.8, facecolor="#777777",
                                        hatch=None if flow[1] else _HATCH, edgecolor="white"))
    windows.set(xlim=(0, period), ylim=(0, len(system.flows)),
                xlabel="cycles of the network's period, at each flow's first link")
    windows.set_yticks([low + 0.5 for low in range(len(system.flows))],
                       [flow_name(flow) for flow in system.flows], fontsize=7)
    for axes in (table, windows):
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return chart
