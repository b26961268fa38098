"""Patterns of traffic: who sends to whom. Static, so that a bound can be worked out for each."""

import random

from cyclebound.golden.noc.routes import Mesh, Tile

__all__ = ["HOTSPOT", "TRANSPOSE", "pattern"]

HOTSPOT, TRANSPOSE = 0, 1  # all numbers above: a permutation drawn with that seed


def pattern(mesh: Mesh, number: int, hot: Tile = (0, 0)) -> dict[Tile, Tile]:
    """Destinations by source; tiles that would send to themselves do not send.

    ``HOTSPOT``: everybody to ``hot``. ``TRANSPOSE``: rows and columns exchanged, on a square mesh.
    Raises `ValueError` for a transpose of a mesh that is none, or a negative number.
    """
    if number < 0:
        raise ValueError(f"pattern must be at least 0, not {number}")
    if number == HOTSPOT:
        found = dict.fromkeys(mesh.tiles, hot)
    elif number == TRANSPOSE:
        if mesh.rows != mesh.columns:
            raise ValueError(f"mesh must be square for a transpose, not {mesh.rows} x "
                             f"{mesh.columns}")
        found = {tile: tile[::-1] for tile in mesh.tiles}
    else:
        ends = mesh.tiles
        random.Random(number).shuffle(ends)
        found = dict(zip(mesh.tiles, ends, strict=True))
    return {source: destination for source, destination in found.items() if source != destination}
