"""From a graph to a configured grid: places, ways, and every unit's configuration.

Source: SGMF, sections 2, 4.4 and 5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cyclebound.golden.dataflow.balance import balanced
from cyclebound.golden.dataflow.bitstream import Configuration, Net, connect, encode
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import (
    CONSTANT,
    NUMBER,
    Graph,
    Memory,
    Special,
    Task,
    Token,
    kind_of,
)
from cyclebound.golden.dataflow.grid import CHANNELS, Grid, Kind, Node
from cyclebound.golden.dataflow.lower import lower
from cyclebound.golden.dataflow.operations import OPERANDS, Operation
from cyclebound.golden.dataflow.placement import MOVES, place
from cyclebound.golden.dataflow.routing import Demand, RoutingError, Topology, route

__all__ = ["SINK", "Mapped", "map_graph", "prepare"]

SINK = -1  # the task in which threads end
_MOST_ENDS = 4


@dataclass(frozen=True)
class Mapped:
    """A graph on a grid.

    Attributes
    ----------
    grid : Grid
        The grid.
    graph : Graph
        What was mapped, with all that the mapper added.
    places : mapping of int to Node
        By task: its unit; `SINK` is where threads end.
    nets : tuple of Net
        The tokens' ways.
    """

    grid: Grid
    graph: Graph
    places: Mapping[int, Node]
    nets: tuple[Net, ...]

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays that are accessed."""
        return tuple(sorted({task.array for task in self.graph.tasks.values() if task.array}))

    def accesses(self) -> list[str]:
        """Of each load/store unit of the grid: what it does, or "" if nothing."""
        tasks = {unit: number for number, unit in self.places.items()}
        return [str(self.graph.tasks[tasks[unit]]) if unit in tasks else ""
                for unit in self.grid.of_kind(Kind.LOAD_STORE)]

    def configuration(self, threads: int,
                      buffers: Mapping[str, tuple[int, int]]) -> Configuration:
        """For so many threads, and arrays with these first words and sizes."""
        values = {self.places[number]: _settings(task, threads, buffers)
                  for number, task in self.graph.tasks.items()}
        needed = sum(1 << way.operand for net in self.nets for way in net.routes
                     if self.grid.peer(*way.links[-1])[0] == self.places[SINK])
        values[self.places[SINK]] = {"needed": needed, "threads": threads}
        return connect(self.grid, values, self.nets)

    def words(self, threads: int, buffers: Mapping[str, tuple[int, int]], *, tid_width: int,
              address_width: int) -> list[int]:
        """What the configuration port takes."""
        return encode(self.grid, self.configuration(threads, buffers), tid_width=tid_width,
                      address_width=address_width)


def _settings(task: Task, threads: int, buffers: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    literals = {k: operand for k, operand in enumerate(task.operands) if isinstance(operand, int)}
    chosen = {"literals": sum(1 << k for k in literals),
              "value": next(iter(literals.values()), 0)}
    present = [k for k, operand in enumerate(task.operands) if operand is not None]
    if isinstance(task.function, Operation):
        return {"operation": int(task.function), **chosen}
    if isinstance(task.function, Control):
        return {"function": int(task.function), "operands": sum(1 << k for k in present),
                "inverted": sum(1 << k for k in task.inverted), "slots": task.slots}
    if isinstance(task.function, Memory):
        base, size = buffers[task.array]
        return {"store": task.function == Memory.STORE, "gated": 2 in present, "base": base,
                "size": size}
    if isinstance(task.function, Special):
        return chosen
    return {"threads": threads, "number": task.function == NUMBER, "value": task.value}


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

    With a ``depth`` of token buffers, ways are balanced by delays for it, if routes can be found.

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
    failure: RoutingError | None = None
    for attempt in range(attempts):
        places = place(topology, kinds, edges, seed=1000 * seed + attempt,
                       moves=moves)
        try:
            return Mapped(grid, graph, places, tuple(route(topology, _demands(graph, places))))
        except RoutingError as error:
            failure = error
    raise failure


def utilisation(mapped: Mapped) -> dict[Kind, tuple[int, int]]:
    """By kind: units in use, and units."""
    used = [mapped.grid.kind(unit) for unit in mapped.places.values()]
    return {kind: (used.count(kind), len(mapped.grid.of_kind(kind))) for kind in CHANNELS
            if mapped.grid.of_kind(kind)}


def is_source(task: Task) -> bool:
    return task.function in (NUMBER, CONSTANT)
