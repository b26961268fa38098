"""How many lines a configuration asks for at most, and what that costs: a persistence analysis.

This project, from SGMF, sections 4.6 and 5. docs/dataflow-cache.md derives it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.compute_unit import evaluate
from cyclebound.golden.dataflow.graph import CONSTANT, NUMBER, Graph, Memory, Token
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["LineTraffic", "cycles_lost", "index_of", "line_traffic", "lines_accessed",
           "shared_traffic"]


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


def index_of(graph: Graph, operand: Token | int | None, threads: int, first: int = 0
             ) -> list[int] | None:
    """A token's value in each thread, if it is a term of the thread's number; else None.

    A term has the thread's number, which begins with ``first``, constants, and integer operations
    of a compute unit.
    """
    if not isinstance(operand, Token):
        return [operand or 0] * threads
    task = graph.tasks[operand.task]
    if task.function == NUMBER:
        return list(range(first, first + threads))
    if task.function == CONSTANT:
        return [task.value] * threads
    if task.delays:
        return index_of(graph, task.operands[0], threads, first)
    if not isinstance(task.function, Operation):
        return None
    values = []
    for own in task.operands:
        value = index_of(graph, own, threads, first)
        if value is None:
            return None
        values.append(value)
    return [evaluate(task.function, list(of_thread)) for of_thread in zip(*values, strict=True)]


def _accesses(graph: Graph, buffers: Mapping[str, tuple[int, int]], threads: int, first: int
              ) -> Iterator[tuple[bool, bool, list[int]]]:
    """Of each access of the graph: whether it stores; whether its index is known, and then the word
    of each thread that makes it, else all words of its array."""
    for task in graph.tasks.values():
        if isinstance(task.function, Memory):
            base, size = buffers[task.array]
            index = index_of(graph, task.operands[0], threads, first)
            yield task.function == Memory.STORE, index is not None, [
                base + place for place in (range(size) if index is None else index)
                if place < size]


def lines_accessed(graph: Graph, buffers: Mapping[str, tuple[int, int]], *, threads: int, line: int,
                   first: int = 0) -> set[int]:
    """The lines, of ``line`` words each, that a configuration may access."""
    return {word // line for _, _, words in _accesses(graph, buffers, threads, first)
            for word in words}


def shared_traffic(requests: int, lines: Collection[int], shape: CacheShape) -> LineTraffic:
    """The most that a second level does, from empty on, for so many requests of these lines.

    If no set has more of the lines than ways, each is read once. Else each request may read one
    and write another.
    """
    groups = shape.banks * shape.sets
    sizes: dict[int, int] = {}
    for line in lines:
        sizes[line % groups] = sizes.get(line % groups, 0) + 1
    crowded = any(size > shape.ways for size in sizes.values())
    return LineTraffic(requests, requests if crowded else min(requests, len(lines)),
                       requests if crowded else 0)


def line_traffic(graph: Graph, buffers: Mapping[str, tuple[int, int]], *, threads: int,
                 shape: CacheShape, first: int = 0) -> LineTraffic:
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
    first : int
        The number of the first thread.
    """
    groups = shape.banks * shape.sets
    lines: dict[int, set[int]] = {}   # by set of a bank: what may be fetched or displaced there
    visits: list[tuple[bool, bool, dict[int, int]]] = []  # known, stores, by set: accesses
    accesses = 0
    for store, known, words in _accesses(graph, buffers, threads, first):
        accesses += len(words) if known else threads
        made: dict[int, int] = {}
        for word in words:
            line = word // shape.line
            made[line % groups] = made.get(line % groups, 0) + 1
            if not store or shape.policy == WRITE_BACK:
                lines.setdefault(line % groups, set()).add(line)
        visits.append((known, store, made))

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
