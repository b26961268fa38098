"""Patterns of traffic: sources and targets. Static, so that a bound can be worked out for each."""

import random

from cyclebound.golden.noc.routes import Mesh, Tile, xy_route
from cyclebound.golden.noc.traversal import Stream

__all__ = ["HOTSPOT", "TRANSPOSE", "crowd", "pattern"]

HOTSPOT, TRANSPOSE = 0, 1  # all numbers above: a permutation drawn with that seed


def pattern(mesh: Mesh, number: int, hot: Tile = (0, 0)) -> dict[Tile, Tile]:
    """Destinations by source; tiles that would send to themselves do not send.

    ``HOTSPOT``: all tiles to ``hot``. ``TRANSPOSE``: rows and columns exchanged, on a square mesh.
    Raises `ValueError` for a transpose of a mesh that is none, or a negative number.
    """
    if number < 0:
        raise ValueError(f"pattern must be at least 0, not {number}")
    if number == HOTSPOT:
        goals = dict.fromkeys(mesh.tiles, hot)
    elif number == TRANSPOSE:
        if mesh.rows != mesh.columns:
            raise ValueError(f"mesh must be square for a transpose, not {mesh.rows} x "
                             f"{mesh.columns}")
        goals = {tile: tile[::-1] for tile in mesh.tiles}
    else:
        ends = mesh.tiles
        random.Random(number).shuffle(ends)
        goals = dict(zip(mesh.tiles, ends, strict=True))
    return {source: destination for source, destination in goals.items() if source != destination}


def crowd(mesh: Mesh, number: int, longest: int) -> tuple[dict[str, Stream], int]:
    """Streams by XY routes, and for how many cycles receivers stall a flit: drawn with that number.

    Packets have 2 to ``longest`` flits, by stream; some streams have several lengths, and some
    senders pause within packets. Raises `ValueError` for a negative number, or for a ``longest``
    of less than 2.
    """
    if number < 0:
        raise ValueError(f"crowd must be at least 0, not {number}")
    if longest < 2:
        raise ValueError(f"longest packet must be at least 2, not {longest}")
    rng = random.Random(number)
    streams: dict[str, Stream] = {}
    hot, share = rng.choice(mesh.tiles), rng.choice([0, 0.4])
    pauses = rng.choice([0, 0, 3])
    for name in range(rng.randint(len(mesh.tiles) // 2 + 1, 2 * len(mesh.tiles))):
        source, target = rng.sample(mesh.tiles, 2)
        if rng.random() < share and source != hot:
            target = hot
        lengths = [rng.randint(2, longest) for _ in range(rng.choice([1, 1, 2]))]
        streams[str(name)] = Stream(xy_route(mesh, source, target), max(lengths), min(lengths),
                                    rng.randint(0, pauses))
    return streams, rng.choice([0, 0, 2])
