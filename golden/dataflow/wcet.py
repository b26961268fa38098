"""Worst-case execution time of a mapped kernel, epoch by epoch.

This project, from SGMF, sections 4.1 and 5.1. All units fire and send threads in epochs of
``depth``, so that whoever waits, waits for an older epoch or for its own. Let n be the threads of
epoch e. For a unit u, these are the last cycles in which, of epochs up to e,

- A(u, e): a token was taken by its token buffer; A(w, e): by way w to it;
- L(u, e): a thread was chosen to fire, so that its entry is free in the next cycle;
- V(u, e): load/store and special units only: a thread left the reservation buffer;
- R(u, e): a result would be taken, if nobody downstream were in the way.

*Order.* Units with nothing but sources before them get, fire and send threads in order. Two
streams of one order make threads complete in that order, one in a cycle at most; k streams of
different orders, k in a cycle.

*Whom does epoch e wait for downstream?* A way has room for two tokens in each switch and for those
of its delays, K in all. A unit's results can leave, one in each cycle, when all of older epochs
that do not fit into the way have been taken: after A(w, e - m), m = floor(K / depth); if K is less
than ``depth``, when the consumer's entries are free, after L(consumer, e - 1). Then the way, of h
cycles, fills up again. Y(w, e) is the cycle in which the last of the epoch can leave: one after
that, if the places that it waits for become free in the order in which it needs them, as those of
a way do, and those of a consumer that fires in order; else n after it. So A(w, e) is at most the
latest of R(u, e) + h, what the consumer's entries allow, and Y + h for other ways, whose consumers
can hold the token up at the fork.

*When do threads fire?* One in each cycle, unless epoch e - 1 has not been chosen, or the register
behind the buffer is not free, or none is complete. If none is in cycle z, the m that remain have
become complete since; each stream's tokens have come by A(w, e), one in a cycle, so that m is at
most the sum of A(w, e) - z + 1 over streams of different orders, where it is not negative, and n.
So L(u, e) is at most the latest of L(u, e - 1) + n, the greatest z + m, and what the register
behind allows:

- compute and control units: Y(u, e), the latest of all ways; and R = max(L, Y) + 1, and the cycles
  of the pipeline, which stands still as a whole.
- load/store units: after V(u, e - 1) all entries are free, and a thread fires in each 1 + ``stall``
  cycles, because a request may wait for its bank. A thread is answered ``memory`` cycles after it
  fired, at most, and chosen to leave in the next: a last moment of its own for each thread, so
  that, with one leaving in each cycle, none but those of epoch e leave later than the last of
  these: V(u, e) is at most the latest of L + 1 + memory + 1, V(u, e - 1) + n, and Y; R = V + 1.
- special units: after V(u, e - 1) too. Of threads in the order of their firing, number j takes a
  block when number j - blocks has left one, and blocks are emptied one in each cycle, each at its
  last moment at the latest, by the same argument (`special_epoch`).

A source makes a token in each cycle, from the one after the start on. The sink takes what comes,
and the kernel has ended in the cycle after the last token.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from cyclebound.golden.dataflow.graph import CONSTANT, NUMBER, Memory, Special, Task, Token
from cyclebound.golden.dataflow.mapper import SINK, Mapped
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES, Operation
from cyclebound.golden.dataflow.special_timing import BLOCKS, longest
from cyclebound.golden.dataflow.switch import PLACES

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


@dataclass(frozen=True)
class _Way:
    """From a unit to an operand of one that is no delay: its cycles, and tokens that it holds."""

    source: int
    to: int
    operand: int | None
    cycles: int
    room: int


def _hops(mapped: Mapped) -> dict[tuple[Token, int, int | None], int]:
    """By token, consumer and operand (None: the sink): switches on the way."""
    names = {unit: number for number, unit in mapped.places.items()}
    found = {}
    for net in mapped.nets:
        token = Token(names[net.unit], net.channel)
        for way in net.routes:
            user = names[mapped.grid.peer(*way.links[-1])[0]]
            found[token, user, None if user == SINK else way.operand] = len(way.links) - 1
    return found


def _ways(mapped: Mapped) -> Iterator[_Way]:
    """Every way, through all of its delays."""
    graph, hops = mapped.graph, _hops(mapped)
    uses = [(token, number, k) for token, number, k in graph.edges()]
    uses += [(token, SINK, None) for token in graph.ends]
    for token, user, operand in uses:
        if user != SINK and graph.tasks[user].delays:
            continue
        switches = hops[token, user, operand]
        cycles, room, source = switches, PLACES * switches, token.task
        while graph.tasks[source].delays:
            task = graph.tasks[source]
            switches = hops[task.operands[0], source, 0]
            cycles, room = cycles + switches + 1, room + PLACES * switches + task.slots
            source = task.operands[0].task
        yield _Way(source, user, operand, cycles, room)


class _Times:
    """The docstring's letters, by epoch and unit."""

    def __init__(self, mapped: Mapped, depth: int, memory: int, stall: int) -> None:
        self.depth, self.memory, self.stall = depth, memory, stall
        self.tasks = {number: task for number, task in mapped.graph.tasks.items()
                      if not task.delays}
        ways = list(_ways(mapped))
        self.sends = {number: [way for way in ways if way.source == number]
                      for number in self.tasks}
        self.takes = {number: [way for way in ways if way.to == number]
                      for number in [*self.tasks, SINK]}
        # by unit: the order in which it sends; None is that of threads
        self.order: dict[int, int | None] = {}
        self.in_order = {SINK}  # units that fire in the order of threads
        for number, task in self.tasks.items():
            if all(self.order[way.source] is None for way in self.takes[number]):
                self.in_order.add(number)
            own = number not in self.in_order or isinstance(task.function, (Memory, Special))
            self.order[number] = number if own else None
        self.taken: list[dict[_Way, int]] = []  # A
        self.chosen: list[dict[int, int]] = []  # L
        self.left: list[dict[int, int]] = []    # V; of a source, when its last token left

    def _before(self, what: list[dict], key, back: int = 1) -> int:
        """Of an older epoch; before the first, nobody was in the way."""
        return what[-back][key] if back <= len(what) else 0

    def _entries(self, way: _Way, count: int) -> int:
        """When the last token of the epoch can be taken, as to the consumer's entries."""
        if way.to == SINK or not self.chosen:
            return 0
        return self.chosen[-1][way.to] + (1 if way.to in self.in_order else count)

    def _room(self, way: _Way, count: int) -> int:
        """When the last result of the epoch can leave by this way: Y."""
        if way.to == SINK or not self.chosen:
            return 0
        fit = way.room // self.depth
        return way.cycles + (self._before(self.taken, way, fit) + 1 if fit
                             else self._entries(way, count))

    def epoch(self, count: int) -> int:
        """Work out one more epoch of so many threads; returns when its last token ended."""
        taken, chosen, left = {}, {}, {}
        for number, task in self.tasks.items():
            streams: dict[int | None, int] = {}  # by order: when the last token has come
            for way in self.takes[number]:
                order = self.order[way.source]
                streams[order] = max(streams.get(order, 0), taken[way])
            rooms = {way: self._room(way, count) for way in self.sends[number]}
            chosen[number], left[number], result = self._unit(
                number, task, count, list(streams.values()), max(rooms.values(), default=0))
            for way in rooms:
                others = [room + way.cycles for other, room in rooms.items() if other != way]
                taken[way] = max(result + way.cycles, self._entries(way, count), *others, 0)
        self.taken.append(taken)
        self.chosen.append(chosen)
        self.left.append(left)
        return max(taken[way] for way in self.takes[SINK])

    def _unit(self, number: int, task: Task, count: int, streams: list[int],
              room: int) -> tuple[int, int, int]:
        """L, V and R."""
        gone = self._before(self.left, number)
        if task.function in (NUMBER, CONSTANT):
            last = max(gone + count, room)
            return 0, last, last
        idle = list(_idle(streams, count))
        if isinstance(task.function, Memory):
            again = 1 + self.stall
            last = max(gone + (count - 1) * again, *(at + some * again for at, some in idle))
            left = max(last + 1 + self.memory + 1, gone + count, room)
            return last, left, left + 1
        if isinstance(task.function, Special):
            most = longest(task.function)
            last = max(at + (some - 1) // BLOCKS * max(BLOCKS, most) + (some - 1) % BLOCKS
                       for at, some in [(gone, count), *((at + 1, some) for at, some in idle)])
            left = max(last + 1 + most, gone + count, room)
            return last, left, left + 1
        last = max(self._before(self.chosen, number) + count, room,
                   *(at + some for at, some in idle))
        return last, 0, max(last, room) + 1 + PIPELINE_STAGES * isinstance(task.function,
                                                                           Operation)


def _idle(streams: list[int], count: int) -> Iterator[tuple[int, int]]:
    """Cycles in which no thread is complete, and how many can become so from then on, with streams
    of tokens that end in these cycles."""
    at, some = max(streams), 0
    while some < count:
        some = min(count, sum(max(0, end - at + 1) for end in streams))
        yield at, some
        at -= 1


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
    times = _Times(mapped, depth, memory, stall)
    ends = [times.epoch(min(depth, threads - begin)) + 2 for begin in range(0, threads, depth)]
    intervals = [after - before for before, after in pairwise(ends)]
    return Estimate(ends[0], max(intervals, default=0), ends[-1])


def longest_way(mapped: Mapped) -> int:
    """Cycles that the first thread needs from source to sink, where no memory is involved."""
    hops = _hops(mapped)
    arrives: dict[int, int] = {}
    for number, task in mapped.graph.tasks.items():
        if isinstance(task.function, (Memory, Special)):
            raise ValueError(f"{task} has no fixed time")
        starts = [arrives[operand.task] + hops[operand, number, k]
                  for k, operand in enumerate(task.operands) if isinstance(operand, Token)]
        taken = max(starts, default=0)
        arrives[number] = taken + (1 if task.delays or task.function in (NUMBER, CONSTANT) else
                                   2 + PIPELINE_STAGES * isinstance(task.function, Operation))
    return max(arrives[token.task] + hops[token, SINK, None] for token in mapped.graph.ends)
