"""Delays for graphs whose paths to one unit have different lengths.

Source: SGMF, section 4.4: delays, FIFOs of control units, "chaining control nodes, if needed, to
generate larger buffers". A token that comes early waits in its operand's buffer, one entry of
``depth``; where threads follow each other in every cycle, and it waits for longer than there are
entries, all that is before it comes to a stop. Delays are given where most is missing first, as
long as there are control units.
"""

from cyclebound.golden.dataflow.control import DELAY_SLOTS, Control
from cyclebound.golden.dataflow.graph import (
    Graph,
    Memory,
    Operand,
    Special,
    Task,
    Token,
    kind_of,
)
from cyclebound.golden.dataflow.grid import Grid, Kind
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES, Operation
from cyclebound.golden.dataflow.special_timing import longest

__all__ = ["balanced", "missing"]

HOPS = 2  # switches on a path, as long as nothing is placed
_MATCH = 2
_ACCESS = 4  # cycles of a load/store unit besides its memory's


def _latency(task: Task, memory: int) -> int:
    if isinstance(task.function, Operation):
        return _MATCH + PIPELINE_STAGES
    if isinstance(task.function, Memory):
        return _ACCESS + memory
    if isinstance(task.function, Special):
        return _MATCH + longest(task.function) + 1
    return 1 if task.delays or not isinstance(task.function, Control) else _MATCH


def _producer(operand: Operand) -> int:
    """The task of an operand that is a token."""
    if not isinstance(operand, Token):
        raise TypeError(f"operand {operand!r} is no token")
    return operand.task


def missing(graph: Graph, *, depth: int, memory: int = 4) -> dict[tuple[int, int], int]:
    """By task and operand, for how many more threads its route should have room."""
    arrives: dict[int, int] = {}
    room: dict[int, int] = {}  # of delays
    lacking: dict[tuple[int, int], int] = {}
    for number, task in graph.tasks.items():
        comes = {k: arrives[operand.task] + HOPS for k, operand in enumerate(task.operands)
                 if isinstance(operand, Token)}
        latest = max(comes.values(), default=0)
        arrives[number] = latest + _latency(task, memory)
        if task.delays:  # an empty one takes no time
            arrives[number] = latest - HOPS
            room[number] = task.slots + room.get(_producer(task.operands[0]), 0)
            continue
        for k, when in comes.items():
            lacks = latest - when + _MATCH - depth - room.get(_producer(task.operands[k]), 0)
            if lacks > 0:
                lacking[number, k] = lacks
    return lacking


def balanced(graph: Graph, grid: Grid, *, depth: int, memory: int = 4) -> Graph:
    """The graph with delays, as many as there are control units left.

    Parameters
    ----------
    graph : Graph
        As `tools.dataflow.mapper.prepare` makes it.
    grid : Grid
        Where it is to be placed.
    depth : int
        Entries of token buffers.
    memory : int
        Cycles of an access that hits.
    """
    graph = Graph({number: Task(task.function, list(task.operands), task.array, task.inverted,
                                task.slots, task.value, task.line)
                   for number, task in graph.tasks.items()}, list(graph.ends))
    left = len(grid.of_kind(Kind.CONTROL)) - sum(
        kind_of(task) == Kind.CONTROL for task in graph.tasks.values())
    while left > 0:
        lacks = missing(graph, depth=depth, memory=memory)
        if not lacks:
            break
        (number, k), most = max(lacks.items(), key=lambda pair: (pair[1], pair[0]))
        delay = graph.add(Task(Control.DELAY, [graph.tasks[number].operands[k]],
                               slots=max(2, min(DELAY_SLOTS, most))))
        graph.tasks[number].operands[k] = delay
        graph = graph.ordered()
        left -= 1
    return graph
