"""Timing diagram of SHMAC's handshakes: a write to the neighbour, and the fetch after it.

Drawn from the golden model, which the RTL equals in every cycle.
"""

from matplotlib.figure import Figure

from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel
from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.golden.noc.shmac_packet import ShmacPort

__all__ = ["figure", "waves"]

_HERE, _THERE = (0, 0), (0, 1)
_BEFORE = 28  # cycles: the fetch of the write itself


def waves(cycles: int = 44) -> dict[str, list[bool]]:
    """By name of a signal, its value in each cycle, from the first one of the write on."""
    grid = HandshakeMeshModel(Mesh(1, 2))
    here, there = grid.routers[_HERE], grid.routers[_THERE]
    kernel = Kernel(True, True, False, Operation.WRITE, _THERE)
    values_of: dict[str, list[bool]] = {}
    for _ in range(_BEFORE + cycles):
        core, slave = grid.cores[_HERE], grid.slaves[_THERE]
        request, east = core.request, here.offers[ShmacPort.EAST]
        ready = [False] * len(ShmacPort)
        ready[ShmacPort.EAST] = there.link_ready(ShmacPort.WEST)
        now = {
            "core: request": request is not None,
            "core: acknowledge": request is not None and here.acknowledges(ready)[
                ShmacPort.MASTER],
            "router 0: input master holds a packet": not here.link_ready(ShmacPort.MASTER),
            "link: request": east is not None,
            "link: acknowledge": east is not None and there.link_ready(ShmacPort.WEST),
            "router 1: input west holds a packet": not there.link_ready(ShmacPort.WEST),
            "slave: request": there.offers[ShmacPort.SLAVE] is not None,
            "slave: acknowledge": slave.ready(False),
            "slave: busy": slave.busy,
            "router 0: request to the own slave": here.offers[ShmacPort.SLAVE] is not None,
            "core: response": here.offers[ShmacPort.MASTER] is not None,
        }
        for name, value in now.items():
            values_of.setdefault(name, []).append(value)
        grid.step({_HERE: kernel})
    return {name: values[_BEFORE:] for name, values in values_of.items()}


def figure() -> Figure:
    """The diagram."""
    signals = waves()
    cycles = len(next(iter(signals.values())))
    chart = Figure(figsize=(11, 0.36 * len(signals) + 0.9))
    axes = chart.subplots()
    for row, (name, values) in enumerate(signals.items()):
        edges = [at for cycle in range(cycles) for at in (cycle, cycle + 1)]
        levels = [-row + 0.6 * value for value in values for _ in range(2)]
        axes.plot(edges, levels, color="#303030", linewidth=1.2)
        axes.fill_between(edges, [-row] * len(edges), levels, color="#9ec1df", linewidth=0)
        axes.text(-0.5, -row + 0.2, name, ha="right", va="center", fontsize=8)
    axes.set(xlim=(0, cycles), ylim=(0.3 - len(signals), 0.9), yticks=[])
    axes.set_xticks(range(0, cycles + 1, 2))
    axes.tick_params(labelsize=7)
    axes.set_xlabel("cycles from the write's request on", fontsize=8)
    axes.grid(axis="x", color="#dddddd", linewidth=0.5)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    chart.subplots_adjust(left=0.25, right=0.99, top=0.99, bottom=0.12)
    return chart
