"""An attack on the bound of mapped kernels: random graphs, memories that are slow where it hurts.

    python -m cyclebound.tools.dataflow.graph_attack RUNS SEED

Graphs of random tasks, mostly with tokens that many tasks take, are mapped on several grids. Each
access waits and takes as long as an adversary says, within times that are declared before; the
patterns of one graph that take longest are changed a little and tried again. Every run on the
golden fabric is compared with `golden.dataflow.wcet.estimate`. Prints each run that took longer
than its bound, and the nearest; exit status 1 if there was one.
"""

import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import (
    CONSTANT,
    ENABLE,
    NUMBER,
    Graph,
    Memory,
    Operand,
    Special,
    Task,
    Token,
)
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE, Grid, Kind
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.dataflow.placement import GridTooSmall
from cyclebound.tools.dataflow.routing import RoutingError

__all__ = ["AttackedGraph", "SlowMemory", "Violation", "attack", "random_graph", "random_target"]

GRIDS = (Grid(("SLLL", "SCKL", "LLLT")), Grid(("SLLLQ", "LCKCD", "SLLLT")),
         Grid(("SLQLL", "LCCKI", "DLLST")), FIVE_BY_FIVE)
ARRAYS, SIZE = "xyz", 64  # words of an array
Pattern = dict[tuple[int, int], tuple[int, int]]  # by unit and access: cycles to wait, and to take


def random_graph(grid: Grid, rng: random.Random) -> Graph:
    """A random graph of at most as many tasks as the grid has units; most values are indices."""
    graph = Graph()
    room = {kind: len(grid.of_kind(kind)) for kind in Kind}
    tokens = [graph.add(Task(NUMBER))]
    if room[Kind.SOURCE] > 1 and rng.random() < 0.3:
        tokens.append(graph.add(Task(CONSTANT, value=rng.choice((0, 5, 0x40490FDB)))))
    popular = rng.choice((0.0, 0.3, 0.6))  # how often the same few tokens are taken again

    def pick() -> Token:
        few = tokens[:1 + len(tokens) // 4] if rng.random() < popular else tokens[-4:]
        return rng.choice(few)

    kinds = [kind for kind in (Kind.COMPUTE, Kind.CONTROL, Kind.LOAD_STORE, Kind.DIVIDE,
                               Kind.INTEGER_DIVIDE, Kind.ROOT) for _ in range(room[kind])]
    rng.shuffle(kinds)
    for kind in kinds[:rng.randrange(2, len(kinds) + 1)]:
        if kind == Kind.COMPUTE:
            operation = rng.choice((Operation.AND, Operation.MIN, Operation.SELECT, Operation.XOR))
            operands: list[Operand] = [
                pick() for _ in range(3 if operation == Operation.SELECT else 2)]
            if operation == Operation.AND and rng.random() < 0.5:
                operands[1] = SIZE - 1
            task = Task(operation, operands)
        elif kind == Kind.CONTROL:
            control = rng.choice(list(Control))
            count = {Control.PHI: 3, Control.DELAY: 1}.get(control, rng.choice((1, 2, 3)))
            task = Task(control, [pick() for _ in range(count)], slots=rng.choice((1, 2, 5, 16)))
            if control == Control.DELAY and popular:
                task.slots = max(2, task.slots)
        elif kind == Kind.LOAD_STORE:
            enable = pick() if rng.random() < 0.25 else None
            store = rng.random() < 0.3
            task = Task(Memory.STORE if store else Memory.LOAD,
                        [pick(), pick() if store else None, enable], array=rng.choice(ARRAYS))
        else:
            special = {Kind.DIVIDE: Special.FDIV, Kind.INTEGER_DIVIDE: Special.IDIV,
                       Kind.ROOT: Special.FSQRT}[kind]
            task = Task(special, [pick() for _ in range(1 + (special != Special.FSQRT))])
        tokens.append(graph.add(task))
        if isinstance(task.function, Memory) and rng.random() < 0.3:
            tokens.append(Token(tokens[-1].task, ENABLE))
    taken = {token.task for token in graph.consumers()}
    graph.ends = [Token(number) for number in graph.tasks if number not in taken]
    return graph.pruned()


class SlowMemory:
    """Each access has its own times, and is answered within what was declared.

    Parameters
    ----------
    words : list of int
        Changed in place.
    units, memory : int
        Load/store units; the most cycles from an offer to its answer, both included.
    pattern : mapping
        By unit and number of its access: cycles that it waits to be taken, and from then to its
        answer. Where a unit has another answer in that cycle, it comes earlier, or later in time.
    """

    def __init__(self, words: list[int], *, units: int, memory: int, pattern: Pattern) -> None:
        self.words, self._memory, self._pattern = words, memory, pattern
        self._due: list[dict[int, tuple[int, int]]] = [{} for _ in range(units)]
        self._count = [0] * units
        self._since: list[int | None] = [None] * units
        self._now = 0

    def responses(self) -> list[tuple[int, int] | None]:
        return [due.pop(self._now, None) for due in self._due]

    def step(self, requests: tuple[TaggedAccess | None, ...]) -> list[bool]:
        taken = [False] * len(requests)
        for unit, request in enumerate(requests):
            if request is None:
                continue
            since = self._since[unit]
            if since is None:
                since = self._since[unit] = self._now
            wait, take = self._pattern.get((unit, self._count[unit]), (0, 2))
            if self._now < since + wait:
                continue
            last = since + self._memory - 1
            wanted = min(last, self._now + max(2, take) - 1)
            free = [cycle for cycle in range(self._now + 1, last + 1)
                    if cycle not in self._due[unit]]
            when = max((cycle for cycle in free if cycle <= wanted), default=free[0])
            self._due[unit][when] = request.tag, self.words[request.address]
            if request.write:
                self.words[request.address] = request.data
            taken[unit] = True
            self._count[unit] += 1
            self._since[unit] = None
        self._now += 1
        return taken


@dataclass
class AttackedGraph:
    """A mapped graph, its memory, and the times that are declared."""

    mapped: Mapped
    words: list[int]
    threads: int
    depth: int
    memory: int
    stall: int
    allowed: int = field(init=False)

    def __post_init__(self) -> None:
        self.allowed = estimate(self.mapped, threads=self.threads, depth=self.depth,
                                memory=self.memory, stall=self.stall).cycles

    @property
    def accesses(self) -> list[tuple[int, int]]:
        return [(unit, number) for unit, name in enumerate(self.mapped.accesses()) if name
                for number in range(self.threads)]

    def cycles(self, pattern: Pattern, limit: int = 100_000) -> int:
        """Cycles from start to done on the golden fabric."""
        buffers = {array: (SIZE * k, SIZE) for k, array in enumerate(ARRAYS)}
        fabric = FabricModel(self.mapped.grid, self.mapped.configuration(self.threads, buffers),
                             depth=self.depth)
        memory = SlowMemory(list(self.words), units=len(fabric.loads), memory=self.memory,
                            pattern=pattern)
        for cycle in range(limit):
            responses = memory.responses()
            taken = memory.step(fabric.requests())
            if fabric.step(start=cycle == 0, requests_taken=taken, responses=responses).done:
                return cycle + 1
        raise RuntimeError(f"threads were still under way after {limit} cycles")

    def access(self, rng: random.Random, late: float) -> tuple[int, int]:
        wait = rng.choice((0, self.stall, rng.randint(0, self.stall)))
        if rng.random() < late:
            return wait, self.memory - wait
        return wait, rng.choice((2, 2, rng.randint(2, self.memory)))

    def patterns(self, best: list[tuple[int, Pattern]], rng: random.Random) -> Iterator[Pattern]:
        """All late, fresh ones, and changed ones of the best so far."""
        accesses = self.accesses
        yield dict.fromkeys(accesses, (self.stall, self.memory - self.stall))
        while True:
            if len(best) < 4 or rng.random() < 0.25:
                share = rng.choice((0.1, 0.3, 0.6, 0.9))
                period = rng.choice((1, 2, 64)) * self.depth
                is_late = {access: self.access(rng, share) for access in accesses}
                yield {(unit, number): is_late[unit, number % period]
                       for unit, number in accesses}
            else:
                changed = set(rng.sample(accesses, max(1, len(accesses) // rng.choice((4, 20, 60)))
                                         if accesses else 0))
                yield rng.choice(best)[1] | {access: self.access(rng, 0.5) for access in changed}


def random_target(rng: random.Random, grid: Grid | None = None) -> AttackedGraph:
    """A graph that can be mapped, of a few epochs."""
    while True:
        grid = grid or rng.choice(GRIDS)
        depth = rng.choice((2, 4, 8))
        balance = depth if rng.random() < 0.3 else None
        try:
            mapped = map_graph(random_graph(grid, rng), grid, seed=rng.randrange(1 << 16),
                               attempts=1, depth=balance)
        except (GridTooSmall, RoutingError):
            continue
        value = [lambda: rng.randrange(SIZE), lambda: 0, lambda: rng.getrandbits(32),
                 lambda: rng.choice((0, 0x40490FDB, 0x80000000))]
        kinds = [rng.choices(value, (6, 1, 1, 1))[0] for _ in ARRAYS]
        words = [word() for word in kinds for _ in range(SIZE)]
        stall = rng.choice((0, 0, 0, 1, 3))
        threads = rng.choice((1, 2, 3, 4, 6)) * depth + rng.choice((0, 0, 1))
        return AttackedGraph(mapped, words, threads, depth, stall + rng.choice((2, 3, 8, 20, 40)),
                             stall)


@dataclass(frozen=True)
class Violation:
    """A run that took longer than allowed."""

    target: AttackedGraph
    pattern: Pattern
    cycles: int

    def __str__(self) -> str:
        target = self.target
        tasks = "; ".join(f"{number}: {task} {task.operands}"
                          for number, task in target.mapped.graph.tasks.items())
        return (f"{self.cycles} cycles of {target.allowed}: {target.threads} threads, depth "
                f"{target.depth}, memory {target.memory}, stall {target.stall}, grid "
                f"{' / '.join(target.mapped.grid.rows)}: {tasks}")


def attack(runs: int, *, seed: int, tries: int = 6,
           target_of: Callable[[random.Random], AttackedGraph] = random_target
           ) -> tuple[list[Violation], float]:
    """Make so many runs, ``tries`` for each target; returns those that exceeded the bound, and the
    greatest ratio of time to bound."""
    exceeding, nearest, done = [], 0.0, 0
    number = 0
    while done < runs:
        rng = random.Random(f"{seed} {number}")
        number += 1
        target = target_of(rng)
        best: list[tuple[int, Pattern]] = []
        for _, pattern in zip(range(min(tries, runs - done)), target.patterns(best, rng),
                              strict=False):
            cycles = target.cycles(pattern)
            done += 1
            nearest = max(nearest, cycles / target.allowed)
            if cycles > target.allowed:
                exceeding.append(Violation(target, pattern, cycles))
            best.append((cycles, pattern))
            best.sort(key=lambda attempt: -attempt[0])
            del best[4:]
    return exceeding, nearest


def main(arguments: list[str]) -> int:
    """The command line; the module's docstring has its arguments."""
    if len(arguments) != 2:
        sys.exit(__doc__)
    exceeding, nearest = attack(int(arguments[0]), seed=int(arguments[1]))
    for finding in exceeding:
        print(finding)
    print(f"{arguments[0]} runs, {len(exceeding)} over the bound, the nearest {nearest:.3f} of it")
    return int(bool(exceeding))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
