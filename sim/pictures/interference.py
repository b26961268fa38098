"""How many cycles a program of SHMAC takes while others run, with gates and without."""

import random

from matplotlib.figure import Figure

from cyclebound.golden.shmac.address_map import tile_base
from cyclebound.golden.shmac.gate_table import solve_gates
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.tools.shmac.interference import Attack, timed

__all__ = ["cycles_in", "under_attack"]

_WORDS = 8192
_COLOURS = {"round robin": "#cc6677", "gates": "#4477aa"}


def cycles_in(rows: tuple[str, ...], attacks: int, seed: int) -> dict[str, list[int]]:
    """Cycles of a program in the last core: alone, and then in each of so many attacks.

    It reads a RAM 40 times, that of the first core; in an attack each other core loads or stores
    there, so many times without a pause and then with one, from any cycle on. By how the cores
    share the network, each time in the same attacks, on the golden grid.
    """
    layout, rng = Layout(rows), random.Random(seed)
    first, *others, tile = layout.tiles(Kind.CORE)
    places = {core: f"li $1, {tile_base(*first) + 0x2000 + 4 * number:#x}"
              for number, core in enumerate(layout.tiles(Kind.CORE))}
    program = [places[tile], *["lw $4, 0($1)", "nop"] * 40]
    tried = [Attack(), *(Attack(
        {core: [places[core], *[rng.choice(("lw $4, 0($1)", "sw $4, 0($1)"))] * rng.randrange(1, 9),
                *["nop"] * rng.randrange(9)] for core in (first, *others)},
        {core: rng.randrange(100) for core in (first, *others)}) for _ in range(attacks))]
    return {name: [timed(GridModel(layout, words=_WORDS, gates=gates), layout, tile, program,
                         attack).cycles for attack in tried]
            for name, gates in (("round robin", None), ("gates", solve_gates(layout)))}


def under_attack(rows: tuple[str, ...], attacks: int, seed: int) -> Figure:
    """A point for each attack; a line where the program is alone."""
    chart = Figure(figsize=(9, 3.6), layout="constrained")
    axes = chart.subplots()
    for name, cycles in cycles_in(rows, attacks, seed).items():
        alone, *attacked = cycles
        axes.axhline(alone, color=_COLOURS[name], linewidth=0.8)
        axes.plot(range(1, attacks + 1), attacked, "o", markersize=4, color=_COLOURS[name],
                  label=f"{name}: alone {alone:,}, attacked {min(attacked):,} to "
                        f"{max(attacked):,} cycles")
    axes.set_xlabel("attack")
    axes.set_ylabel("cycles of the program")
    axes.legend(fontsize=8, loc="best")
    return chart
