"""Deadlock of wormhole routes: the channel dependency graph, its cycles, and routes without any.

A packet holds a channel while it waits for the next one on its way, so a route makes each of its
channels depend on the one that follows. If the graph of all routes has no cycle, no packets can
wait for each other in a ring, whatever the traffic (Dally and Seitz; memory-composition, III.B).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cyclebound.golden.noc.routes import (
    Channel,
    Mesh,
    Route,
    Tile,
    channels,
    routes_between,
)

if TYPE_CHECKING:  # imported by what uses them: half a second of every command
    import networkx as nx
    from ortools.sat.python import cp_model

__all__ = ["Deadlock", "acyclic_routes", "dependencies", "find_deadlock",
           "shortest_ring"]


@dataclass(frozen=True)
class Deadlock:
    """A ring of channels, each of which waits for the next.

    Attributes
    ----------
    channels : tuple[Channel, ...]
        The ring.
    flows : tuple[str, ...]
        For each channel, a flow that holds it while it waits for the next one.
    """

    channels: tuple[Channel, ...]
    flows: tuple[str, ...]

    @property
    def routers(self) -> tuple[Tile, ...]:
        """The routers on the ring."""
        return tuple(channel.tile for channel in self.channels)

    def __str__(self) -> str:
        around = ", ".join(map(str, self.routers))
        flows = ", ".join(dict.fromkeys(self.flows))
        return f"flows {flows} can wait in a ring of routers {around}"


def dependencies(routes: Mapping[str, Route]) -> nx.DiGraph:
    """The channel dependency graph; an edge's ``flow`` is the first that makes it."""
    import networkx as nx

    graph = nx.DiGraph()
    for name, route in routes.items():
        used = channels(route)
        graph.add_nodes_from(used)
        for here, there in pairwise(used):
            if not graph.has_edge(here, there):
                graph.add_edge(here, there, flow=name)
    return graph


def shortest_ring(graph: nx.DiGraph) -> list | None:
    """Nodes each of which leads to the next, and the last to the first; None if there are none."""
    import networkx as nx

    rings = []
    for part in nx.strongly_connected_components(graph):
        ring_graph = graph.subgraph(part)
        rings += [nx.shortest_path(ring_graph, there, here) for here, there in ring_graph.edges]
    if not rings:
        return None
    ring = min(rings, key=len)
    first = ring.index(min(ring))
    return ring[first:] + ring[:first]


def find_deadlock(routes: Mapping[str, Route]) -> Deadlock | None:
    """A shortest ring of these routes, or None if they have none."""
    graph = dependencies(routes)
    ring = shortest_ring(graph)
    if ring is None:
        return None
    return Deadlock(tuple(ring), tuple(graph.edges[pair]["flow"]
                                       for pair in pairwise([*ring, ring[0]])))


def acyclic_routes(mesh: Mesh, flows: Mapping[str, tuple[Tile, Tile]], *,
                   detour: int = 0, routes: Mapping[str, Iterable[Route]] | None = None
                   ) -> dict[str, Route] | None:
    """Routes for flows (source, destination) whose graph has no cycle, the shortest in sum.

    An integer program: one route for each flow, and a rank for each channel that rises along every
    chosen route. A route has at most ``detour`` links more than needed, or is, for flows named in
    ``routes``, one of those. None if every choice has a cycle, which takes ``routes``: by XY alone
    there is none.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    ranks: dict[Channel, cp_model.IntVar] = {}
    most = 6 * mesh.rows * mesh.columns  # no more channels than that
    chosen: dict[str, list[tuple[Route, cp_model.IntVar]]] = {}
    for name, (source, destination) in flows.items():
        chosen[name] = [(route, model.new_bool_var(f"{name} {route}"))
                        for route in (routes or {}).get(name) or
                        routes_between(mesh, source, destination, detour=detour)]
        model.add_exactly_one(taken for _, taken in chosen[name])
        for route, taken in chosen[name]:
            for here, there in pairwise(_ranked(model, ranks, channels(route), most)):
                model.add(there >= here + 1).only_enforce_if(taken)
    model.minimize(sum(len(route) * taken for options in chosen.values()
                       for route, taken in options))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return {name: next(route for route, taken in options if solver.value(taken))
            for name, options in chosen.items()}


def _ranked(model: cp_model.CpModel, ranks: dict[Channel, cp_model.IntVar],
            used: Iterable[Channel], most: int) -> list[cp_model.IntVar]:
    for channel in used:
        if channel not in ranks:
            ranks[channel] = model.new_int_var(0, most, f"rank of {channel}")
    return [ranks[channel] for channel in used]
