"""Who may send requests to whom in SHMAC's grid: the masters that a bound is stated for.

Static, and named by numbers, so that a bound can be worked out for each.
"""

import random
from collections.abc import Mapping

from cyclebound.golden.noc.routes import Mesh, Tile

__all__ = ["ALONE", "ANYWHERE", "HOST", "HOTSPOT", "MANY", "NEIGHBOURS", "Senders", "senders",
           "services"]

ALONE, HOTSPOT, NEIGHBOURS, ANYWHERE = range(4)  # all numbers above: drawn with that seed
HOST: Tile = (0, -1)
"""Where the host's requests come from: west of tile (0, 0)."""
MANY = 255
"""Requests of one master under way: any number. No way holds as many."""
_MOST = 3  # targets of a tile that are drawn

Senders = Mapping[Tile, frozenset[Tile]]
"""The targets of each tile whose master sends; of `HOST` too, if it writes."""


def senders(mesh: Mesh, number: int, *, hot: Tile = (0, 0), master: Tile = (0, 0)) -> Senders:
    """The masters, with their targets.

    ``ALONE``: ``master`` to ``hot``. ``HOTSPOT``: all tiles to ``hot``. ``NEIGHBOURS``: each tile
    to itself and to those beside it. ``ANYWHERE``: all to all, and the host too. Above: each tile
    to up to three that are drawn, or to none. Raises `ValueError` for a negative number.
    """
    if number < 0:
        raise ValueError(f"traffic must be at least 0, not {number}")
    if number == ALONE:
        return {master: frozenset([hot])}
    if number == HOTSPOT:
        return dict.fromkeys(mesh.tiles, frozenset([hot]))
    if number == NEIGHBOURS:
        return {tile: frozenset(there for there in mesh.tiles if sum(
            abs(a - b) for a, b in zip(tile, there, strict=True)) < 2) for tile in mesh.tiles}
    if number == ANYWHERE:
        return dict.fromkeys([*mesh.tiles, HOST], frozenset(mesh.tiles))
    rng = random.Random(number)
    drawn = {tile: frozenset(rng.choices(mesh.tiles, k=rng.randint(0, _MOST)))
             for tile in mesh.tiles}
    return {tile: targets for tile, targets in drawn.items() if targets}


def services(mesh: Mesh, service: int, uneven: int) -> Mapping[Tile, int]:
    """What each slave needs: ``service``, and by its number up to ``uneven`` cycles more."""
    return {tile: service + number % (uneven + 1) for number, tile in enumerate(mesh.tiles)}
