"""How many lines a configuration asks for at most, and what that costs: a persistence analysis.

This project, from SGMF, sections 4.6 and 5. docs/dataflow-cache.md derives it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.compute_unit import evaluate
from cyclebound.golden.dataflow.graph import CONSTANT, NUMBER, Graph, Memory, Token
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["LineTraffic", "cycles_lost", "index_of", "line_traffic"]


@dataclass(frozen=True)
class LineTraffic:
    """What a configuration does at most, from an empty cache on to the end of its threads.

    Attributes
    ----------
    accesses, reads, writes : int
        By load/store units; of lines, in the memory below.
    """

    accesses: int
    reads: int
    writes: int


def index_of(graph: Graph, operand: Token | int | None, threads: int) -> list[int] | None:
    """A token's value in each thread, if it is a term of the thread's number; else None.

    A term has the thread's number, constants, and integer operations of a compute unit.
    """
    if not isinstance(operand, Token):
        return [operand or 0] * threads
    task = graph.tasks[operand.task]
    if task.function == NUMBER:
        return list(range(threads))
    if task.function == CONSTANT:
        return [task.value] * threads
    if task.delays:
        return index_of(graph, task.operands[0], threads)
    if not isinstance(task.function, Operation):
        return None
    values = []
    for own in task.operands:
        value = index_of(graph, own, threads)
        if value is None:
            return None
        values.append(value)
    return [evaluate(task.function, list(of_thread)) for of_thread in zip(*values, strict=True)]


def line_traffic(graph: Graph, buffers: Mapping[str, tuple[int, int]], *, threads: int,
                 shape: CacheShape) -> LineTraffic:
    """The most that a configuration does, whatever the order of its accesses.

    A set for which no more lines are accessed than it has ways never gives one up, so that each
    of them is read once at most; of any other set each access may read a line, and write another
    one. An access whose index is no term of the thread may be of any line of its array. Accesses
    that a condition guards count as made.

    Parameters
    ----------
    graph : Graph
        Of the configuration.
    buffers : mapping of str to (int, int)
        By array: its first word, and how many there are.
    threads : int
        That run.
    shape : CacheShape
        Of the cache.
    """
    groups = shape.banks * shape.sets
    lines: dict[int, set[int]] = {}   # by set of a bank: what may be fetched or displaced there
    visits: list[tuple[bool, bool, dict[int, int]]] = []  # known, stores, by set: accesses
    accesses = 0
    for task in graph.tasks.values():
        if not isinstance(task.function, Memory):
            continue
        base, size = buffers[task.array]
        store = task.function == Memory.STORE
        index = index_of(graph, task.operands[0], threads)
        words = range(size) if index is None else [place for place in index if place < size]
        accesses += len(words) if index is not None else threads
        made: dict[int, int] = {}
        for word in words:
            line = (base + word) // shape.line
            made[line % groups] = made.get(line % groups, 0) + 1
            if not store or shape.policy == WRITE_BACK:
                lines.setdefault(line % groups, set()).add(line)
        visits.append((index is not None, store, made))

    crowded = {group for group, its in lines.items() if len(its) > shape.ways}
    reads = sum(len(its) for group, its in lines.items() if group not in crowded)
    again = around = 0
    for known, store, made in visits:
        if store and shape.policy != WRITE_BACK:
            around += sum(made.values()) if known else threads
        elif known:
            again += sum(count for group, count in made.items() if group in crowded)
        elif crowded & made.keys():
            again += threads
    return LineTraffic(accesses, reads + again,
                       again if shape.policy == WRITE_BACK else around)


def cycles_lost(traffic: LineTraffic, *, turn: int, latency: int, targets: int) -> int:
    """The most cycles in which an access may have to wait for a line or for the port of lines.

    In each of them a request for a line is on offer (``turn`` cycles at most for each), or a line
    is in the memory below or on its way into the cache (``latency``), or an access that has waited
    is made (``targets`` at most for each line).
    """
    return ((traffic.reads + traffic.writes) * turn + traffic.reads * latency
            + min(traffic.accesses, traffic.reads * targets))
