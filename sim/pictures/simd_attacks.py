"""How close random kernels come to their WCET: a histogram of measured over bound."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.machine import MACHINES, as_built
from cyclebound.sim.families.simd.published import own_cycles
from cyclebound.tools.simd.random_kernels import Mix
from cyclebound.tools.simd.wcet_adversary import BUSES, Attack, Bench, attacks, histogram

__all__ = ["figure", "tried"]

_WIDTH = 0.05  # of a class


def figure(attacks: Sequence[Attack]) -> Figure:
    """A bar for each class; a line where a kernel would reach its bound."""
    classes = histogram(attacks, _WIDTH)
    over = sum(attack.violated for attack in attacks)
    closest = max((attack.ratio for attack in attacks), default=0)
    chart = Figure(figsize=(9, 3.6), layout="constrained")
    axes = chart.subplots()
    axes.bar(list(classes), list(classes.values()), width=_WIDTH, align="edge", color="#4477aa",
             edgecolor="white")
    axes.axvline(1, color="#cc6677")
    axes.set_xlim(0, max(1.05, closest + _WIDTH))
    axes.set_xlabel("measured over bound")
    axes.set_ylabel("kernels")
    axes.set_title(f"{sum(classes.values()):,} random kernels: closest {closest:.4f}, "
                   f"{over} above the bound")
    return chart


def tried(count: int, part: str) -> Figure:
    """The first ``count`` kernels on the machine ``small`` as built, policies by turns."""
    bench = Bench(as_built(MACHINES["small"]), part_named(part),
                  Mix(True, shapes=True, rows=True), buses=BUSES)
    return figure(list(attacks(own_cycles, range(count), bench)))
