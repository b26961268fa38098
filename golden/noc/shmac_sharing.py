"""What the bounds on sharing a RAM of SHMAC's grid are told of the cores that share it."""

from collections.abc import Sequence

from cyclebound.golden.noc.routes import Tile

__all__ = ["input_of", "kind_of", "links", "victims"]


def links(tile: Tile, target: Tile) -> int:
    """Number of links between two tiles: their Manhattan distance."""
    return abs(tile[0] - target[0]) + abs(tile[1] - target[1])


def input_of(tile: Tile, target: Tile) -> tuple[bool, int]:
    """The input by which a tile's requests reach the target; they go along the row first."""
    across = tile[0] == target[0]
    return across, (tile > target) - (tile < target)


def victims(cores: Sequence[Tile], target: Tile) -> list[tuple[Tile, dict[str, int]]]:
    """Of these cores one of each kind, with the kind: its parameters in the bounds of sharing."""
    found: dict[tuple[int, ...], tuple[Tile, dict[str, int]]] = {}
    for core in cores:
        kind = kind_of(core, cores, target)
        found.setdefault(tuple(kind.values()), (core, kind))
    return list(found.values())


def kind_of(victim: Tile, cores: Sequence[Tile], target: Tile) -> dict[str, int]:
    """The parameters of the bounds of sharing, for one of the cores that share the target."""
    entries = [input_of(tile, target) for tile in cores]
    return {"links": links(victim, target), "inputs": len(set(entries)),
            "sharing": entries.count(input_of(victim, target))}
