"""Where a placed block lies on its device, and how crowded the wires are there."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cyclebound.sim.base.errors import UserError

__all__ = ["FILE", "figure", "keep"]

FILE = "floor.json"
_TILE = re.compile(r"X(\d+)/?Y(\d+)|R(?P<row>\d+)C(?P<column>\d+)")
_KINDS = (("block RAMs", "#cc6677", r"DP16K.*|PDP.*|ICESTORM_RAM|OXIDE_EBR|BSRAM|.*SDP.*|.*pROM"),
          ("multipliers", "#228833", r"MULT.*|ICESTORM_DSP|DSP.*"),
          ("logic and registers", "#4477aa", r".*"))
_HARNESS = "harness", "#bbbbbb"


def keep(folder: Path) -> None:
    """Write `FILE` into ``folder`` from the design that nextpnr has written there as JSON.

    ``cells``: column, row, kind and number of the cells on each tile. ``wires``: column, row and
    number of the switches that the routes of signals, clocks left out, take on it.
    """
    design = json.loads((folder / "placed.json").read_text())["modules"]["top"]
    cells: Counter[tuple[int, int, str]] = Counter()
    for name, cell in design["cells"].items():
        tile = _tile(cell["attributes"].get("NEXTPNR_BEL", ""))
        if tile is not None:
            own = name.startswith("block.") and not name.startswith("block.port$")
            kind = next(says for says, _, cells_ in _KINDS if re.fullmatch(cells_, cell["type"]))
            cells[*tile, kind if own else _HARNESS[0]] += 1
    wires: Counter[tuple[int, int]] = Counter()
    for name, net in design["netnames"].items():
        if not name.startswith("$glbnet$"):
            for switch in net["attributes"].get("ROUTING", "").split(";")[1::3]:
                if (tile := _tile(switch)) is not None:
                    wires[tile] += 1
    (folder / FILE).write_text(json.dumps({
        "cells": [[*place, count] for place, count in cells.items()],
        "wires": [[*place, count] for place, count in wires.items()]}))


def _tile(name: str) -> tuple[int, int] | None:
    """Column and row of a cell's place or of a switch; None if the family names none."""
    if not (found := _TILE.match(name)):
        return None
    if found["row"]:
        return int(found["column"]), int(found["row"])
    return int(found[1]), int(found[2])


def figure(floor: Mapping, title: str, path: Sequence[tuple[int, int]] = ()) -> Figure:
    """The floor plan with the critical ``path``, and beside it the switches taken on each tile.

    Raises `UserError` where nextpnr has named no places.
    """
    cells, wires = floor["cells"], floor["wires"]
    if not cells:
        raise UserError(f"{title}: nextpnr names no places of cells on this device")
    made = Figure(figsize=(11, 5), layout="constrained")
    plan, crowd = made.subplots(1, 2, sharex=True, sharey=True)
    for says, colour in (_HARNESS, *((says, colour) for says, colour, _ in reversed(_KINDS))):
        here = [(x, y, count) for x, y, kind, count in cells if kind == says]
        if here:
            x, y, count = np.array(here).T
            plan.scatter(x, y, s=4 + 2 * np.minimum(count, 8), c=colour, marker="s",
                         linewidths=0, label=f"{says} ({count.sum():,})")
    if path:
        plan.plot(*zip(*path, strict=True), color="#ee7733", linewidth=1.5,
                  label="critical path")
    plan.set(title=f"{title}: cells", xlabel="column", ylabel="row", aspect="equal")
    plan.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
    if wires:
        taken = np.zeros((max(y for _, y, _ in wires) + 1, max(x for x, _, _ in wires) + 1))
        for x, y, count in wires:
            taken[y, x] = count
        shown = crowd.imshow(np.ma.masked_equal(taken, 0), cmap="magma_r", origin="lower")
        made.colorbar(shown, ax=crowd, shrink=0.7, label="switches taken")
        crowd.set(title=f"congestion: at most {int(taken.max())} on a tile, "
                        f"{taken[taken > 0].mean():.0f} on average", xlabel="column")
    plan.invert_yaxis()
    return made
