"""Worst-case execution time of a mapped kernel, epoch by epoch.

This project, from SGMF, sections 4.1 and 5.1. All units send threads in epochs of ``depth``, so
that whoever waits, waits for an older epoch or for its own. In epoch e, unit u is at X(u, e) when

- all operands of the epoch are in its token buffer,
- it has fired, and a load/store or special unit also sent, all of epoch e - 1,
- all its consumers have fired epoch e - 1, so that they have room for each token of e.

From then on nobody stands in its way: it fires a thread in each cycle, `depth` of them, and each
token passes its way, a cycle for each switch. So F(u, e), all fired, and S(u, e), all taken by the
consumers' buffers, follow X(u, e) by what the unit and its way take. The kernel ends with the last
S of the last epoch. What units do earlier, while an older epoch is under way, is not credited.
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
    slowest : int
        The task whose sum of firing and way is the largest.
    """

    fill: int
    interval: int
    cycles: int
    slowest: int


def _hops(mapped: Mapped) -> dict[Token, int]:
    """By token: the most switches on a way."""
    names = {unit: number for number, unit in mapped.places.items()}
    return {Token(names[net.unit], net.channel): max(len(way.links) - 1 for way in net.routes)
            for net in mapped.nets}


def _costs(task: Task, depth: int, memory: int, stall: int) -> tuple[int, int]:
    """Cycles from X to all fired, and to all offered."""
    if task.function in (NUMBER, CONSTANT):
        return depth, depth
    if isinstance(task.function, Memory):
        waits = (depth - 1) * stall
        return depth + 1 + waits, depth + memory + 3 + waits
    if isinstance(task.function, Special):
        again = longest(task.function) + BLOCKS - 1  # special_epoch
        rounds = -(-depth // BLOCKS)
        return depth + 1 + (rounds - 1) * again, depth + 2 + rounds * again
    if task.function == Control.DELAY:
        return 0, 1 + min(depth, task.slots)
    stages = PIPELINE_STAGES if isinstance(task.function, Operation) else 0
    return depth + 1, depth + 1 + stages


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
    costs = {number: _costs(task, depth, memory, stall) for number, task in graph.tasks.items()}
    fired: Mapping[int, int] = dict.fromkeys(graph.tasks, 0)
    sent: Mapping[int, int] = dict.fromkeys(graph.tasks, 0)
    ends = []
    for _ in range(-(-threads // depth)):
        fired_now, sent_now = {}, {}
        for number, task in graph.tasks.items():
            ready = [sent_now[operand.task] for operand in task.operands
                     if isinstance(operand, Token)]
            ready += [fired[user] for user in users[number]]
            waits = isinstance(task.function, (Memory, Special, str))
            at = max([*ready, sent[number] if waits else fired[number]])
            fires, offers = costs[number]
            fired_now[number], sent_now[number] = at + fires, at + offers + way[number]
        for number in reversed(list(graph.tasks)):
            if graph.tasks[number].function == Control.DELAY:  # it is free when what follows is
                fired_now[number] = max([sent_now[number],
                                         *(fired_now[user] for user in users[number])])
        fired, sent = fired_now, sent_now
        ends.append(max(sent[token.task] for token in graph.ends) + 2)
    intervals = [after - before for before, after in pairwise(ends)]
    return Estimate(ends[0], max(intervals, default=0), ends[-1],
                    max(graph.tasks, key=lambda number: costs[number][1] + way[number]))


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


