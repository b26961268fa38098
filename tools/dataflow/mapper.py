"""From a graph to a mapped kernel: units for its tasks, routes for its tokens.

Source: SGMF, sections 2, 4.4 and 5.
"""

from collections.abc import Mapping

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import Graph, Task, Token, kind_of
from cyclebound.golden.dataflow.grid import Grid, Kind, Node
from cyclebound.golden.dataflow.mapped import SINK, Mapped
from cyclebound.golden.dataflow.operations import OPERANDS
from cyclebound.tools.dataflow.balance import balanced
from cyclebound.tools.dataflow.lower import lower
from cyclebound.tools.dataflow.placement import MOVES, place
from cyclebound.tools.dataflow.routing import Demand, RoutingError, Topology, route

__all__ = ["map_graph", "prepare"]

_MOST_ENDS = 4


def _fewer_ends(graph: Graph) -> Graph:
    """Joins for the ends that one sink cannot take; what they say does not matter."""
    graph = Graph(dict(graph.tasks), list(graph.ends))
    while len(graph.ends) > _MOST_ENDS:
        some, rest = graph.ends[:OPERANDS], graph.ends[OPERANDS:]
        graph.ends = [*rest, graph.add(Task(Control.JOIN, list(some)))]
    return graph


def prepare(graph: Graph, grid: Grid) -> Graph:
    """The graph as the grid's units can do it."""
    return _fewer_ends(lower(graph, sources=len(grid.of_kind(Kind.SOURCE))))


def _demands(graph: Graph, places: Mapping[int, Node]) -> list[Demand]:
    sinks: dict[Token, list[tuple[Node, int | None]]] = {}
    for token, number, operand in graph.edges():
        sinks.setdefault(token, []).append((places[number], operand))
    for token in graph.ends:
        sinks.setdefault(token, []).append((places[SINK], None))
    return [Demand(f"{graph.tasks[token.task]} #{token.task}"
                   + (" enable" if token.channel else ""), places[token.task], token.channel,
                   tuple(users)) for token, users in sinks.items()]


def map_graph(graph: Graph, grid: Grid, *, seed: int = 1, attempts: int = 4,
              depth: int | None = None, moves: int = MOVES) -> Mapped:
    """Place and route a graph; the same seed gives the same result. ``moves``: of the placement.

    With a ``depth`` of token buffers, paths are balanced by delays for it, if routes can be found.

    Raises `GridTooSmall` if there are too few units of a kind, `RoutingError` if no routes are
    found with any of so many placements.
    """
    graph = prepare(graph, grid)
    if depth is not None:
        try:
            return _map(balanced(graph, grid, depth=depth), grid, seed, attempts, moves)
        except RoutingError:
            pass  # delays need links, too
    return _map(graph, grid, seed, attempts, moves)


def _map(graph: Graph, grid: Grid, seed: int, attempts: int, moves: int) -> Mapped:
    topology = Topology(grid)
    kinds = {number: kind_of(task) for number, task in graph.tasks.items()} | {SINK: Kind.SINK}
    edges = [(token.task, number) for token, number, _ in graph.edges()]
    edges += [(token.task, SINK) for token in graph.ends]
    failure = RoutingError(())
    for attempt in range(attempts):
        places = place(topology, kinds, edges, seed=1000 * seed + attempt,
                       moves=moves)
        try:
            return Mapped(grid, graph, places, tuple(route(topology, _demands(graph, places))))
        except RoutingError as error:
            failure = error
    raise failure
