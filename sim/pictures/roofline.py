"""Roofline of the accelerator: what the array could do, what memory lets it, what layers do.

``python -m cyclebound.sim.pictures.roofline`` prints it as a table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_layer import product_layer
from cyclebound.golden.systolic.accelerator_network import ATTENTION, NETWORKS, chained
from cyclebound.golden.systolic.accelerator_plan import Device, LayerPlan, plan_layer

__all__ = ["Point", "figure", "figure_of_plans", "point_of", "points", "table"]

_COLOURS = ("#4477aa", "#cc6677", "#228833", "#ccbb44")


@dataclass(frozen=True)
class Point:
    """A layer as planned.

    Attributes
    ----------
    intensity : float
        MACs of the layer for each byte that is moved from and to memory.
    rate : float
        MACs in each cycle, everything included.
    roof : float
        The most that memory and the array allow for that intensity.
    """

    network: str
    layer: str
    cycles: int
    intensity: float
    rate: float
    roof: float


def points(device: Device, memory: Memory) -> list[Point]:
    """All layers of all networks, and of the attention head."""
    all_points = []
    networks = {**NETWORKS, "attention": tuple(product_layer(product) for product in ATTENTION)}
    for network, layers in networks.items():
        for layer in (layers if network == "attention" else chained(layers, device.size)):
            all_points.append(point_of(network, plan_layer(layer, device, memory), memory))
    return all_points


def point_of(network: str, plan: LayerPlan, memory: Memory) -> Point:
    """A layer's plan as a point."""
    layer, size = plan.layer, plan.device.size
    intensity = layer.macs / (plan.beats * size)
    return Point(network, layer.name, plan.cycles.total, intensity,
                 layer.macs / plan.cycles.total,
                 min(size**2, intensity * size / memory.interval))


def table(memories: Sequence[Memory] = (Memory(), Memory(40, 2)), size: int = 8) -> str:
    """The layers as a table for a page, with each memory."""
    device = Device(size)
    sides = [points(device, memory) for memory in memories]
    head = "".join(f" cycles, {m.delay}/{m.interval} | of the roof |" for m in memories)
    lines = [f"| layer | MACs per byte |{head}", "| --- | ---: |" + " ---: | ---: |" * len(sides)]
    for row in zip(*sides, strict=True):
        cells = "".join(f" {p.cycles:,} | {p.rate / p.roof:.0%} |" for p in row)
        lines.append(f"| {row[0].network}, {row[0].layer} | {row[0].intensity:.1f} |{cells}")
    return "\n".join(lines)


def figure(memories: Sequence[Memory] = (Memory(), Memory(40, 2)), size: int = 8) -> Figure:
    """A panel for each memory."""
    device = Device(size)
    chart = Figure(figsize=(5.2 * len(memories), 4.2), layout="constrained")
    for memory, axes in zip(memories, chart.subplots(1, len(memories), squeeze=False)[0],
                            strict=True):
        _panel(axes, points(device, memory), memory, size)
    return chart


def figure_of_plans(network: str, plans: Iterable[LayerPlan], memory: Memory) -> Figure:
    """The layers of one network as planned, in a panel."""
    chart = Figure(figsize=(5.2, 4.2), layout="constrained")
    points_of = [(plan.device.size, point_of(network, plan, memory)) for plan in plans]
    _panel(chart.subplots(), [point for _, point in points_of], memory, points_of[0][0])
    return chart


def _panel(axes: Axes, shown: Sequence[Point], memory: Memory, size: int) -> None:
    """Roofs and points for one memory."""
    ridge = size * memory.interval
    least = min(point.intensity for point in shown) / 1.5
    most = max(2 * ridge, 1.5 * max(point.intensity for point in shown))
    axes.plot([least, ridge, most], [least * size / memory.interval, size**2, size**2],
              color="black", linewidth=1)
    for number, network in enumerate(dict.fromkeys(point.network for point in shown)):
        own = [point for point in shown if point.network == network]
        axes.plot([p.intensity for p in own], [p.rate for p in own], "o", markersize=5,
                  color=_COLOURS[number % len(_COLOURS)], label=network)
        names: dict[tuple[float, float], list[str]] = {}
        for point in own:  # some layers are alike
            names.setdefault((point.intensity, point.rate), []).append(point.layer)
        left = number % 2  # networks by turns left and right of their points
        for place, layers in names.items():
            axes.annotate(", ".join(layers), place, (-5 if left else 5, 0),
                          textcoords="offset points", fontsize=6, va="center",
                          ha="right" if left else "left")
    axes.set(xscale="log", yscale="log", xlabel="MACs per byte moved",
             ylabel="MACs per cycle",
             title=f"first beat after {memory.delay}, one in {memory.interval} cycles")
    axes.legend(fontsize=7, loc="lower right")


if __name__ == "__main__":
    print(table())
