"""Graphs that are too large for a grid: parts, with what they have in common in memory.

Source: SGMF, section 4.6, where this was done by hand: all threads execute the first part, storing
their intermediate values; the grid is configured anew; all threads execute the second.
"""

from collections.abc import Sequence

from cyclebound.golden.dataflow.graph import ENABLE, NUMBER, Graph, Memory, Task, Token, kind_of
from cyclebound.golden.dataflow.grid import Grid, Kind
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.tools.dataflow.mapper import map_graph, prepare
from cyclebound.tools.dataflow.placement import MOVES, GridTooSmall, check_room
from cyclebound.tools.dataflow.routing import RoutingError

__all__ = ["map_parts"]


def _array(token: Token) -> str:
    return f"#{token.task}" + ("e" if token.channel == ENABLE else "")


def _always(graph: Graph, token: Token) -> bool:
    """Whether it is the enable token of an access that every thread makes: nothing but order."""
    return token.channel == ENABLE and graph.tasks[token.task].operands[2] is None


def _cut(graph: Graph, order: Sequence[int], begin: int, end: int) -> Graph:
    """The part with ``order[begin:end]``, and loads and stores for what crosses its borders."""
    inside = set(order[begin:end])
    numbers = {number for number, task in graph.tasks.items() if task.function == NUMBER}
    part = Graph()
    following = max(graph.tasks) + 1
    thread = min(numbers, default=following)  # a graph of constants has none
    part.tasks[thread] = Task(NUMBER)
    following = max(following, thread + 1)
    loads: dict[Token, Token] = {}
    for number in order[begin:end]:
        task = graph.tasks[number]
        operands = []
        for k, operand in enumerate(task.operands):
            if isinstance(operand, Token) and operand.task in numbers:
                operand = Token(thread)
            elif isinstance(operand, Token) and operand.task not in inside:
                if isinstance(task.function, Memory) and k == 2 and _always(graph, operand):
                    operand = None  # that part is over
                else:
                    if operand not in loads:
                        loads[operand] = Token(following)
                        part.tasks[following] = Task(Memory.LOAD, [Token(thread), None, None],
                                                     array=_array(operand))
                        following += 1
                    operand = loads[operand]
            operands.append(operand)
        part.tasks[number] = Task(task.function, operands, task.array, task.inverted, task.slots,
                                  task.value, task.line)
    crossing = {operand for number in order[end:] for k, operand in
                enumerate(graph.tasks[number].operands)
                if isinstance(operand, Token) and operand.task in inside
                and not (isinstance(graph.tasks[number].function, Memory) and k == 2
                         and _always(graph, operand))}
    for token in sorted(crossing, key=lambda token: (token.task, token.channel)):
        part.tasks[following] = Task(Memory.STORE, [Token(thread), token, None],
                                     array=_array(token))
        following += 1
    part = part.ordered()
    followed = {token.task for token in part.consumers()}
    part.ends = [Token(number) for number, task in part.tasks.items()
                 if task.function == Memory.STORE and number not in followed]
    return part


def _needs(part: Graph, grid: Grid) -> None:
    """Raise `GridTooSmall` unless there is a unit for each task."""
    check_room(grid, [kind_of(task) for task in prepare(part, grid).tasks.values()] + [Kind.SINK])


def map_parts(graph: Graph, grid: Grid, *, seed: int = 1,
              depth: int | None = None, moves: int = MOVES) -> list[Mapped]:
    """The graph on the grid, in as few parts as a greedy choice finds: each takes as many tasks, in
    their order, as fit. ``depth``, ``moves``: as for `map_graph`.

    Raises `GridTooSmall` or `RoutingError` if a single task does not fit.
    """
    order = [number for number, task in graph.ordered().tasks.items() if task.function != NUMBER]
    parts: list[Mapped] = []
    begin = 0
    while begin < len(order):
        failure: ValueError | None = None
        for end in range(len(order), begin, -1):
            part = _cut(graph, order, begin, end)
            try:
                _needs(part, grid)
                parts.append(map_graph(part, grid, seed=seed, attempts=2, depth=depth,
                                       moves=moves))
            except (GridTooSmall, RoutingError) as error:
                failure = error
                continue
            begin, failure = end, None
            break
        if failure is not None:
            raise failure
    return parts
