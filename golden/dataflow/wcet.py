"""Worst-case execution time of a mapped kernel: the latest cycle of every step of every token.

This project, from SGMF, sections 4.1 and 5.1. The derivation is docs/dataflow-wcet.md. In short:
every step of a unit, a switch or a delay happens in the first cycle in which all its conditions
hold, and a condition that holds keeps holding until the step is made. So the latest cycle of the
step number *n* is one more than the latest of what it waits for, and what it waits for is a step of
an older number, or of the same number further upstream. Steps are counted, not threads: which
thread is number *n* of an epoch depends on memory, how many have passed does not.

- *Nets.* A channel's tokens go down a tree of queues: a switch's input has two places, a delay as
  many as it has slots. Branches share the queues before they part. A token leaves a queue when
  every branch has taken it, so that a slow branch holds up its siblings.
- *Token buffers.* An operand takes a token when the thread before it in its entry has fired. Of
  ``count`` threads, number *j* is complete when no more than ``count - j`` tokens are missing, in
  all streams of different orders together.
- *Units.* A pipeline stands still as a whole; a load's or division's entry is free when all of the
  older epoch have left; blocks are taken, emptied and sent on one thread in a cycle.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cyclebound.golden.bound import NotCovered, check_count
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import CONSTANT, NUMBER, Memory, Special, Task, Token
from cyclebound.golden.dataflow.mapped import SINK, Mapped
from cyclebound.golden.dataflow.operations import BLOCKS, PIPELINE_STAGES, Operation
from cyclebound.golden.dataflow.special_timing import longest, overtaken
from cyclebound.golden.dataflow.switch import PLACES

__all__ = ["Estimate", "estimate", "longest_path"]


@dataclass(frozen=True)
class Estimate:
    """The worst-case time of a mapped kernel.

    Attributes
    ----------
    fill : int
        Cycles from the start until the first epoch has ended.
    interval : int
        Cycles from the end of an epoch to the end of the next, on average, rounded down.
    rest : int
        The cycles by which all epochs together exceed their averages: less than there are epochs.
    """

    fill: int
    interval: int
    rest: int
    epochs: int

    @property
    def cycles(self) -> int:
        """Cycles from start to done, both included."""
        return self.fill + (self.epochs - 1) * self.interval + self.rest

    @property
    def parameters(self) -> dict[str, int]:
        """The arguments of `golden.dataflow.fabric_bounds.fabric_completion`, in cycles."""
        return {"fill": self.fill, "interval": self.interval, "rest": self.rest}


@dataclass
class _Queue:
    """A switch's input, or a delay; ``gone``: by token, the latest cycle in which it leaves."""

    places: int
    after: list["_Queue | _Operand"] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


@dataclass
class _Operand:
    """The end of a net at an operand; ``taken``: the latest cycle in which each token is taken."""

    user: int
    source: int = -1
    order: int | None = None
    taken: list[int] = field(default_factory=list)


def _hops(mapped: Mapped) -> dict[tuple[Token, int, int | None], int]:
    """Number of switches from a token's unit to an operand (None: the sink) of a consumer."""
    names = {unit: number for number, unit in mapped.places.items()}
    hops = {}
    for net in mapped.nets:
        token = Token(names[net.unit], net.channel)
        for path in net.routes:
            user = names[mapped.grid.end(*path.links[-1])]
            hops[token, user, None if user == SINK else path.operand] = len(path.links) - 1
    return hops


def _trees(mapped: Mapped) -> dict[Token, list[_Queue | _Operand]]:
    """By token, the operands and queues that its unit feeds; a delay's come after its queue."""
    names = {unit: number for number, unit in mapped.places.items()}
    trees: dict[Token, list[_Queue | _Operand]] = {}
    delays = {number: _Queue(task.slots) for number, task in mapped.graph.tasks.items()
              if task.delays}
    for net in mapped.nets:
        number = names[net.unit]
        first = delays[number].after if number in delays else []
        trees[Token(number, net.channel)] = first
        queues: dict[tuple, _Queue] = {}  # by link: the switch input at its end
        for path in net.routes:
            after = first
            for link in path.links[:-1]:
                if link not in queues:
                    queues[link] = _Queue(PLACES)
                    after.append(queues[link])
                after = queues[link].after
            user = names[mapped.grid.end(*path.links[-1])]
            after.append(delays[user] if user in delays else _Operand(user))
    return {token: tree for token, tree in trees.items() if token.task not in delays}


def _operands(tree: Sequence[_Queue | _Operand], places: int = 0,
              queues: int = 0) -> Iterator[tuple[_Operand, int, int]]:
    """Yield the operands at the tree's leaves, each with the places and queues before it."""
    for node in tree:
        if isinstance(node, _Operand):
            yield node, places, queues
        else:
            yield from _operands(node.after, places + node.places, queues + 1)


def _queues(tree: Sequence[_Queue | _Operand]) -> Iterator[_Queue]:
    for node in tree:
        if isinstance(node, _Queue):
            yield node
            yield from _queues(node.after)


class _Unit:
    """A task that is no delay, with the latest cycles of its steps, by number of thread.

    Attributes
    ----------
    chosen : list of int
        When a thread is chosen to fire: its entries of the token buffer are free one cycle later.
    fired : list of int
        When it leaves the token buffer's register.
    left : list of int
        When it is chosen to leave the reservation buffer.
    sent : list of int
        When all consumers have its result, and its enable token.
    held : list of int
        Until when this thread's result, or an older one, may wait for consumers.
    without : dict of int to list of int
        By unit before this one: when a thread is chosen as far as that unit is not the reason.
    """

    def __init__(self, number: int, task: Task, trees: Sequence[Sequence[_Queue | _Operand]],
                 takes: Sequence[_Operand]) -> None:
        self.number, self.task, self.trees, self.takes = number, task, trees, takes
        self.chosen: list[int] = []
        self.fired: list[int] = []
        self.left: list[int] = []
        self.sent: list[int] = []
        self.held: list[int] = []
        self.without: dict[int, list[int]] = {}
        self.in_order = all(operand.order is None for operand in takes)
        own = not self.in_order or isinstance(task.function, (Memory, Special))
        self.order = number if own else None
        self.ends = [end for tree in trees for end in _operands(tree)]
        # by consumer: places and queues on the paths to it
        self.paths: dict[int, list[tuple[int, int]]] = {}
        for operand, places, queues in self.ends:
            self.paths.setdefault(operand.user, []).append((places, queues))
        # fires one thread in a cycle, if only its consumers hold it up
        self.prompt = isinstance(task.function, (Operation, Control))
        self.narrow = any(queue.places < PLACES for tree in trees for queue in _queues(tree))

    def lists(self) -> Iterator[list[int]]:
        yield from (self.chosen, self.fired, self.left, self.sent, self.held)
        yield from self.without.values()
        for tree in self.trees:
            yield from (queue.gone for queue in _queues(tree))
            yield from (end.taken for end, _, _ in _operands(tree))


class _Times:
    """All units' steps, epoch by epoch."""

    def __init__(self, mapped: Mapped, threads: int, depth: int, memory: int, stall: int) -> None:
        self.threads, self.depth, self.memory, self.stall = threads, depth, memory, stall
        trees = _trees(mapped)
        self.units: dict[int, _Unit] = {}
        takes: dict[int, list[_Operand]] = {}
        for number, task in mapped.graph.tasks.items():
            if task.delays:
                continue
            own = [tree for token, tree in trees.items() if token.task == number]
            unit = _Unit(number, task, own, takes.get(number, []))
            self.units[number] = unit
            for operand, _, _ in unit.ends:
                operand.order, operand.source = unit.order, number
                takes.setdefault(operand.user, []).append(operand)
        for unit in self.units.values():
            if unit.in_order and unit.prompt:
                unit.without = {operand.source: [] for operand in unit.takes}
        self.sinks = takes[SINK]
        # steps that a step depends on are no older than this, in threads
        self.reach = depth + max(BLOCKS, *(places for unit in self.units.values()
                                           for _, places, _ in unit.ends))

    def free(self, operand: _Operand, n: int) -> int:
        """The earliest cycle in which the operand can take token n."""
        if operand.user == SINK or n < self.depth:
            return 0
        user = self.units[operand.user]
        if user.in_order:
            return user.chosen[n - self.depth] + 1
        return user.chosen[n - n % self.depth - 1] + 1

    def push(self, tree: Sequence[_Queue | _Operand], n: int, offered: int) -> int:
        """Offer token n from cycle ``offered`` on; returns the cycle in which all have it."""
        last = offered
        for node in tree:
            if isinstance(node, _Operand):
                node.taken.append(max(offered, self.free(node, n)))
                last = max(last, node.taken[n])
                continue
            enters = max(offered, node.gone[n - node.places] + 1 if n >= node.places else 0)
            node.gone.append(self.push(node.after, n, max(enters, node.gone[-1] if n else 0) + 1))
            last = max(last, enters)
        return last

    def held(self, unit: _Unit, n: int) -> int:
        """The latest cycle until which the result of thread n waits for consumers, apart from
        those that themselves wait for this unit."""
        if unit.narrow:
            return unit.sent[n]
        last = 0
        for end, places, queues in unit.ends:
            if end.user == SINK or n < places + self.depth:
                continue
            user = self.units[end.user]
            if unit.number in user.without and all(
                    queues - others + room + 2 <= places + self.depth
                    and room <= places + self.depth + 1
                    for room, others in unit.paths[end.user]):
                free = user.without[unit.number][n - places - self.depth] + 1
            else:
                free = self.free(end, n - places)
            last = max(last, free + queues)
        return last

    def complete(self, unit: _Unit, begin: int, count: int) -> list[int]:
        """By number of threads of the epoch: the cycle in which that many are complete."""
        streams: dict[int | None, list[int]] = {}  # by order
        for operand in unit.takes:
            taken = operand.taken[begin:begin + count]
            stream = streams.get(operand.order, taken)
            streams[operand.order] = [max(pair) for pair in zip(stream, taken, strict=True)]
        return sorted(cycle for stream in streams.values() for cycle in stream)[-count:]

    def epoch(self, begin: int) -> None:
        """The steps of one more epoch."""
        count = min(self.depth, self.threads - begin)
        for unit in self.units.values():
            if unit.task.function in (NUMBER, CONSTANT):
                for n in range(begin, begin + count):
                    self.send(unit, n, unit.sent[-1] + 1 if n else 1)
                continue
            complete = self.complete(unit, begin, count)
            for n in range(begin, begin + count):
                self.step(unit, n, complete[n - begin])

    def send(self, unit: _Unit, n: int, shown: int) -> None:
        unit.sent.append(max((self.push(tree, n, shown) for tree in unit.trees), default=shown))

    def step(self, unit: _Unit, n: int, complete: int) -> None:
        """All of thread number n's steps in one unit, up to its consumers."""
        function, chosen, fired, left = unit.task.function, unit.chosen, unit.fired, unit.left
        older = n - n % self.depth - 1  # the last thread of the epoch before
        for source, without in unit.without.items():
            others = [operand.taken[n] for operand in unit.takes if operand.source != source]
            register = 1 + isinstance(function, Operation)  # the pipeline comes after the register
            without.append(max(max(others, default=-1) + 1, without[-1] + 1 if n else 0,
                               unit.held[n - register] if n >= register else 0))
        # chosen once the thread before has left the register
        chosen.append(max(complete + 1, fired[-1] if n else 0))
        if isinstance(function, Operation):
            held = unit.held[-1] if n else 0
            fired.append(max(chosen[n] + 1, held))
            self.send(unit, n, fired[n] + PIPELINE_STAGES)
        elif isinstance(function, (Memory, Special)):
            again, entry = fired[-1] + 1 if n else 0, left[older] + 1 if older >= 0 else 0
            if isinstance(function, Memory):
                again += self.stall
                answered = self.memory
            else:
                answered = longest(function) - 1
                if n >= BLOCKS:
                    again = max(again, fired[n - BLOCKS] + answered + 1)
            fired.append(max(chosen[n] + 1, again, entry))
            answered += fired[n]
            if isinstance(function, Special):
                younger = self.threads - older - 1 - self.depth
                answered += overtaken(depth=self.depth, blocks=BLOCKS, younger=max(0, younger))
            left.append(max(answered + 1, max(left[-1] + 1, unit.sent[-1]) if n else 0))
            self.send(unit, n, left[n] + 1)
        else:
            self.send(unit, n, chosen[n] + 1)
            fired.append(unit.sent[n])
        if unit.prompt:
            unit.held.append(max(unit.held[-1] if n else 0, self.held(unit, n)))

    def period(self) -> int:
        """Cycles between the last two epochs, if the same for all that later steps depend on;
        else 0."""
        reach, depth, periods = self.reach, self.depth, set()
        for steps in self.lists():
            if steps:
                if len(steps) < reach + depth:
                    return 0
                periods |= {later - earlier for later, earlier in
                            zip(steps[-reach:], steps[-reach - depth:-depth], strict=True)}
                if len(periods) > 1:
                    return 0
        return periods.pop()

    def repeat(self, epochs: int, period: int) -> None:
        """Append so many epochs, each later by the period than the one before."""
        for steps in self.lists():
            last = steps[-self.depth:]
            steps.extend(cycle + period * k for k in range(1, epochs + 1) for cycle in last)

    def lists(self) -> Iterator[list[int]]:
        for unit in self.units.values():
            yield from unit.lists()

    def ends(self) -> Iterator[int]:
        """Yield, for each epoch, the cycle in which its last token has ended."""
        begin = 0
        while begin < self.threads:
            self.epoch(begin)
            begin += self.depth
            whole = (self.threads - begin - BLOCKS) // self.depth  # with as many that follow
            period = self.period() if whole > 0 else 0
            if period:
                self.repeat(whole, period)
                begin += whole * self.depth
        last = range(self.depth - 1, self.threads + self.depth - 1, self.depth)
        for n in last:
            yield max(operand.taken[min(n, self.threads - 1)] for operand in self.sinks)


def estimate(mapped: Mapped, *, threads: int, depth: int, memory: int = 2,
             stall: int = 0) -> Estimate:
    """Greatest number of cycles from start to done. Raises `NotCovered` where there is no bound.

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
    check_count("threads", threads)
    check_count("depth", depth, least=2)
    check_count("memory", memory, least=2)
    check_count("stall", stall, least=0)
    if not mapped.graph.ends:
        raise NotCovered("a graph must have tokens with which threads end, not none")
    ends = [end + 2 for end in _Times(mapped, threads, depth, memory, stall).ends()]
    interval, rest = divmod(ends[-1] - ends[0], max(1, len(ends) - 1))
    return Estimate(ends[0], interval, rest, len(ends))


def longest_path(mapped: Mapped) -> int:
    """Cycles that the first thread needs from source to sink, where no memory is involved.

    Raises `ValueError` for an access or a special operation, whose time is not fixed.
    """
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
