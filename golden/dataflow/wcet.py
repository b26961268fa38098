"""Worst-case execution time of a mapped kernel, epoch by epoch.

This project, from SGMF, sections 4.1 and 5.1. All units send threads in epochs of ``depth``, so
that whoever waits, waits for an older epoch or for its own. In epoch e, let unit u be free at
B(u, e), when

- it has fired, and a load/store or special unit also sent, all of epoch e - 1, and
- all its consumers have fired epoch e - 1, so that they have room for each token of e;

and let A(u, e) be when all operands of the epoch are in its token buffer. From B on nobody stands
in its way, and it fires a complete thread in each cycle. If it has had threads to fire ever since
B, all ``depth`` have fired after that many cycles. If not, those that it fires without a pause to
the last one have become complete since: n at most in a cycle, one for each operand, so that
ceil(depth / n) cycles before A is the latest beginning. Hence F(u, e), all fired, is the later one
of B + depth + 1 and A + 2 + depth - ceil(depth / n); and S(u, e), all taken by the consumers'
buffers, follows it by what the unit takes for one thread, and a cycle for each switch on the way.
The kernel ends with the last S of the last epoch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import CONSTANT, NUMBER, Memory, Special, Task, Token
from cyclebound.golden.dataflow.mapper import Mapped
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES, Operation
from cyclebound.golden.dataflow.special_timing import BLOCKS, longest

__all__ = ["Estimate", "estimate", "longest_way"]


@dataclass(frozen=True)
class Estimate:
    """Of a mapped kernel.

    Attributes
    ----------
    fill : int
        Cycles from the start until the first epoch has ended.
    interval : int
        The most cycles from the end of an epoch to the end of the next.
    cycles : int
        From start to done, both included; ``fill + (epochs - 1) * interval`` at most.
    """

    fill: int
    interval: int
    cycles: int


def _hops(mapped: Mapped) -> dict[Token, int]:
    """By token: the most switches on a way."""
    names = {unit: number for number, unit in mapped.places.items()}
    return {Token(names[net.unit], net.channel): max(len(way.links) - 1 for way in net.routes)
            for net in mapped.nets}


def _times(task: Task, complete: int, free: int, depth: int, memory: int,
           stall: int) -> tuple[int, int]:
    """When all have fired, and when all are offered, from A and B."""
    if task.function in (NUMBER, CONSTANT):
        return free + depth, free + depth
    if task.function == Control.DELAY:
        at = max(complete + 1, free + depth + 1)
        return at, at
    operands = sum(isinstance(operand, Token) for operand in task.operands)
    last = max(free + depth + 1, complete + 2 + depth - -(-depth // operands))
    if isinstance(task.function, Memory):
        if stall:  # each request may hold up the next firing
            last = max(complete, free) + depth + 1 + (depth - 1) * stall
        return last, last + memory + 2
    if isinstance(task.function, Special):
        again = longest(task.function) + BLOCKS - 1  # special_epoch
        last = max(complete, free) + depth + 1 + (-(-depth // BLOCKS) - 1) * again
        return last, last + again + 1
    return last, last + PIPELINE_STAGES * isinstance(task.function, Operation)


def estimate(mapped: Mapped, *, threads: int, depth: int, memory: int = 2,
             stall: int = 0) -> Estimate:
    """Greatest number of cycles from start to done.

    Parameters
    ----------
    mapped : Mapped
        The kernel.
    threads, depth : int
        How many there are, and of an epoch.
    memory : int
        The most cycles from offering a request to its response, both included.
    stall : int
        The most cycles that a request waits until it is taken.
    """
    graph = mapped.graph
    hops = _hops(mapped)
    users: dict[int, set[int]] = {number: set() for number in graph.tasks}
    for token, number, _ in graph.edges():
        users[token.task].add(number)
    way = {number: max((hop for token, hop in hops.items() if token.task == number), default=0)
           for number in graph.tasks}
    fired: Mapping[int, int] = dict.fromkeys(graph.tasks, 0)
    sent: Mapping[int, int] = dict.fromkeys(graph.tasks, 0)
    ends = []
    for _ in range(-(-threads // depth)):
        fired_now, sent_now = {}, {}
        for number, task in graph.tasks.items():
            ready = [sent_now[operand.task] for operand in task.operands
                     if isinstance(operand, Token)]
            waits = isinstance(task.function, (Memory, Special, str))
            free = max([sent[number] if waits else fired[number],
                        *(fired[user] for user in users[number])])
            fires, offers = _times(task, max(ready, default=0), free, depth, memory, stall)
            fired_now[number], sent_now[number] = fires, offers + way[number]
        for number in reversed(list(graph.tasks)):
            if graph.tasks[number].function == Control.DELAY:  # it is free when what follows is
                fired_now[number] = max([sent_now[number],
                                         *(fired_now[user] for user in users[number])])
        fired, sent = fired_now, sent_now
        ends.append(max(sent[token.task] for token in graph.ends) + 2)
    intervals = [after - before for before, after in pairwise(ends)]
    return Estimate(ends[0], max(intervals, default=0), ends[-1])


def longest_way(mapped: Mapped) -> int:
    """Cycles that the first thread needs from source to sink, where no memory is involved."""
    hops = _hops(mapped)
    arrives: dict[int, int] = {}
    for number, task in mapped.graph.tasks.items():
        if isinstance(task.function, (Memory, Special)):
            raise ValueError(f"{task} has no fixed time")
        starts = [arrives[operand.task] + hops[operand] for operand in task.operands
                  if isinstance(operand, Token)]
        taken = max(starts, default=0)
        arrives[number] = taken + (1 if task.function in (NUMBER, CONSTANT, Control.DELAY) else
                                   2 + PIPELINE_STAGES * isinstance(task.function, Operation))
    return max(arrives[token.task] + hops[token] for token in mapped.graph.ends)


