"""Meshes and routes: the path of a packet, and what is wrong with a route.

A tile is (row, column); (0, 0) is in the north-west. A route is the tiles that a packet visits,
from its source to its destination. A `Channel` is what two packets cannot use in one cycle: the
link from one tile to a neighbour, from a tile's interface into its router, or out to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from cyclebound.golden.parameters import check_integer

if TYPE_CHECKING:  # imported by what uses them: half a second of every command
    import networkx as nx

__all__ = ["Channel", "Mesh", "Port", "Route", "Tile", "channels", "check_route", "ports",
           "route_of", "routes_between", "xy_port", "xy_route"]

Tile = tuple[int, int]
Route = tuple[Tile, ...]


class Port(IntEnum):
    """A router's five ports, in the order of its arrays."""

    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3
    LOCAL = 4

    @property
    def opposite(self) -> Port:
        """The port at the other end of a link; ``LOCAL`` has itself."""
        return self if self is Port.LOCAL else Port((self + 2) % 4)


_STEP = {Port.NORTH: (-1, 0), Port.EAST: (0, 1), Port.SOUTH: (1, 0), Port.WEST: (0, -1)}
_PORT = {step: port for port, step in _STEP.items()}


@dataclass(frozen=True)
class Mesh:
    """So many rows and columns of routers, each linked to its neighbours. Raises on bad counts."""

    rows: int
    columns: int

    def __post_init__(self) -> None:
        check_integer("rows", self.rows, 1)
        check_integer("columns", self.columns, 1)

    def __contains__(self, tile: object) -> bool:
        return (isinstance(tile, tuple) and len(tile) == 2
                and 0 <= tile[0] < self.rows and 0 <= tile[1] < self.columns)

    @property
    def tiles(self) -> list[Tile]:
        """All tiles, row by row."""
        return [(row, column) for row in range(self.rows) for column in range(self.columns)]

    def neighbour(self, tile: Tile, port: Port) -> Tile | None:
        """The tile next to a port, or None at the edge and for ``LOCAL``."""
        if port is Port.LOCAL:
            return None
        beside = tile[0] + _STEP[port][0], tile[1] + _STEP[port][1]
        return beside if beside in self else None

    @property
    def graph(self) -> nx.DiGraph:
        """Tiles as nodes, links as edges from sender to receiver."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.tiles)
        graph.add_edges_from((tile, other) for tile in self.tiles for port in _STEP
                             if (other := self.neighbour(tile, port)) is not None)
        return graph


@dataclass(frozen=True, order=True)
class Channel:
    """The channel out of the router at ``tile`` by ``port``; ``into``: from its interface."""

    tile: Tile
    port: Port
    into: bool = False

    def __str__(self) -> str:
        if self.into:
            return f"interface to router {self.tile}"
        if self.port is Port.LOCAL:
            return f"router {self.tile} to its interface"
        return f"{self.port.name.lower()} link of router {self.tile}"


def xy_port(here: Tile, there: Tile) -> Port:
    """The output for a packet at ``here``: along the row first, then along the column."""
    if there[1] != here[1]:
        return Port.EAST if there[1] > here[1] else Port.WEST
    if there[0] != here[0]:
        return Port.SOUTH if there[0] > here[0] else Port.NORTH
    return Port.LOCAL


def check_route(mesh: Mesh, route: Sequence[Tile], *, source: Tile | None = None,
                destination: Tile | None = None) -> Route:
    """The route, if it is one. Raises `ValueError` in the words of what is wrong with it."""
    route = tuple(route)
    if not route:
        raise ValueError("route must have a tile at least, not none")
    for tile in route:
        if tile not in mesh:
            raise ValueError(f"route must stay in the mesh of {mesh.rows} x {mesh.columns} "
                             f"routers, not go to {tile}")
    for here, there in pairwise(route):
        if (there[0] - here[0], there[1] - here[1]) not in _PORT:
            raise ValueError(f"route must go from router to neighbour, not from {here} to {there}")
    for number, tile in enumerate(route):
        if tile in route[:number]:
            raise ValueError(f"route must visit a router once, not {tile} twice")
    if source is not None and route[0] != source:
        raise ValueError(f"route must begin at {source}, not at {route[0]}")
    if destination is not None and route[-1] != destination:
        raise ValueError(f"route must end at {destination}, not at {route[-1]}")
    return route


def ports(route: Sequence[Tile]) -> tuple[Port, ...]:
    """The output of each router on the path, ``LOCAL`` at the last: what a header says."""
    steps = [_PORT[there[0] - here[0], there[1] - here[1]] for here, there in pairwise(route)]
    return (*steps, Port.LOCAL)


def route_of(mesh: Mesh, source: Tile, outputs: Iterable[Port]) -> Route:
    """The tiles that the outputs of a header lead to.

    Raises `ValueError` if they leave the mesh, come back to a router, or do not end with ``LOCAL``.
    """
    route, outputs = [source], tuple(outputs)
    for port in outputs[:-1]:
        there = mesh.neighbour(route[-1], port)
        if there is None:
            words = ("stop before its last output" if port is Port.LOCAL
                     else f"leave the mesh by the {Port(port).name.lower()} of {route[-1]}")
            raise ValueError(f"route must not {words}")
        route.append(there)
    if not outputs or outputs[-1] is not Port.LOCAL:
        raise ValueError("route must end with LOCAL")
    return check_route(mesh, route)


def channels(route: Sequence[Tile]) -> list[Channel]:
    """The channels on a packet's path, from its source's interface to its destination's."""
    return [Channel(route[0], Port.LOCAL, into=True),
            *(Channel(tile, port) for tile, port in zip(route, ports(route), strict=True))]


def xy_route(mesh: Mesh, source: Tile, destination: Tile) -> Route:
    """Along the row first, then along the column. Raises `ValueError` outside the mesh."""
    (row, column), (to_row, to_column) = source, destination
    east, south = (1 if to_column > column else -1), (1 if to_row > row else -1)
    across = [(row, place) for place in range(column, to_column + east, east)]
    down = [(place, to_column) for place in range(row + south, to_row + south, south)]
    return check_route(mesh, across + (down if to_row != row else []))


def routes_between(mesh: Mesh, source: Tile, destination: Tile, *,
                   detour: int = 0) -> Iterator[Route]:
    """Every route at most ``detour`` links longer than the shortest, the shortest ones first."""
    import networkx as nx

    check_route(mesh, [source])
    check_route(mesh, [destination])
    if source == destination:
        yield (source,)
        return
    shortest = abs(source[0] - destination[0]) + abs(source[1] - destination[1])
    paths = nx.all_simple_paths(mesh.graph, source, destination, cutoff=shortest + detour)
    yield from sorted((tuple(path) for path in paths), key=lambda path: (len(path), path))
