"""Control-data-flow graph of a kernel: operations, and the tokens between them.

Source: SGMF, sections 2 and 4.3 to 4.5.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.grid import Kind
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["ENABLE", "RESULT", "Graph", "Memory", "Special", "Task", "Token", "kind_of"]

RESULT, ENABLE = 0, 1  # channels


class Memory(StrEnum):
    """The functions of load/store units; their operands are index, value, enable."""

    LOAD = "load"
    STORE = "store"


class Special(StrEnum):
    """The functions of special units."""

    IDIV = "idiv"    # signed integers, towards zero; x / 0 is -1
    FDIV = "fdiv"
    FSQRT = "fsqrt"


NUMBER, CONSTANT = "number", "constant"  # what sources do
Function = Operation | Control | Memory | Special | str


@dataclass(frozen=True)
class Token:
    """A task's token; ``channel`` 1 is the enable token of a load or store."""

    task: int
    channel: int = RESULT


Operand = Token | int | None  # an integer is a literal's 32 bits; None: not needed


@dataclass
class Task:
    """The work of one unit for each thread: its function and operands.

    Attributes
    ----------
    function : Operation, Control, Memory, Special, "number" or "constant"
        The thread's number and constants come from sources.
    operands : list of Token, int or None
        By operand of the unit.
    array : str
        Of a load or store.
    inverted : tuple[int, ...]
        Operands of a join or label of which the opposite counts.
    slots : int
        Of a delay.
    value : int
        Of a constant.
    line : int
        Of the kernel's source; 0 if the mapper made it.
    """

    function: Function
    operands: list[Operand] = field(default_factory=list)
    array: str = ""
    inverted: tuple[int, ...] = ()
    slots: int = 1
    value: int = 0
    line: int = 0

    @property
    def delays(self) -> bool:
        """Whether it is a delay. Not for ``==``: the numbers of `Operation` and `Control` meet."""
        return self.function is Control.DELAY

    def __str__(self) -> str:
        name = self.function.name.lower() if isinstance(self.function, (Operation, Control)) \
            else str(self.function)
        return f"{name} {self.array}".strip()


def kind_of(task: Task) -> Kind:
    """The kind of unit that can do it."""
    if isinstance(task.function, Operation):
        return Kind.COMPUTE
    if isinstance(task.function, Control):
        return Kind.CONTROL
    if isinstance(task.function, Memory):
        return Kind.LOAD_STORE
    if isinstance(task.function, Special):
        return {Special.IDIV: Kind.INTEGER_DIVIDE, Special.FDIV: Kind.DIVIDE,
                Special.FSQRT: Kind.ROOT}[task.function]
    return Kind.SOURCE


@dataclass
class Graph:
    """Tasks by number, each after those whose tokens it takes.

    Attributes
    ----------
    tasks : dict of int to Task
        In an order in which they can be done.
    ends : list of Token
        The tokens with which a thread ends.
    """

    tasks: dict[int, Task] = field(default_factory=dict)
    ends: list[Token] = field(default_factory=list)

    def add(self, task: Task) -> Token:
        number = max(self.tasks, default=-1) + 1
        self.tasks[number] = task
        return Token(number)

    def consumers(self) -> dict[Token, list[tuple[int, int]]]:
        """By token, the tasks that take it, each with the operand."""
        consumers: dict[Token, list[tuple[int, int]]] = {}
        for number, task in self.tasks.items():
            for k, operand in enumerate(task.operands):
                if isinstance(operand, Token):
                    consumers.setdefault(operand, []).append((number, k))
        return consumers

    def edges(self) -> Iterator[tuple[Token, int, int]]:
        """Token, task and operand that it goes to."""
        for token, users in self.consumers().items():
            for number, k in users:
                yield token, number, k

    def ordered(self) -> "Graph":
        """This graph with its tasks in topological order."""
        done: dict[int, Task] = {}

        def visit(number: int) -> None:
            stack = [(number, False)]
            while stack:
                task, ready = stack.pop()
                if task in done:
                    continue
                if ready:
                    done[task] = self.tasks[task]
                    continue
                stack.append((task, True))
                stack += [(operand.task, False) for operand in reversed(self.tasks[task].operands)
                          if isinstance(operand, Token)]

        for number in self.tasks:
            visit(number)
        return Graph(done, list(self.ends))

    def reordered(self, rng: random.Random) -> "Graph":
        """This graph with its tasks in another topological order: some as soon
        as their tokens are there, and others as late as can be."""
        rank = {number: rng.random() for number in self.tasks}
        waits = {number: {operand.task for operand in task.operands
                          if isinstance(operand, Token)} for number, task in self.tasks.items()}
        done: dict[int, Task] = {}
        while len(done) < len(self.tasks):
            ready = [number for number in self.tasks if number not in done
                     and waits[number] <= done.keys()]
            number = min(ready, key=rank.__getitem__)
            done[number] = self.tasks[number]
        return Graph(done, list(self.ends))

    def pruned(self) -> "Graph":
        """Without unused tasks; stores are needed, and the ends."""
        needed = {token.task for token in self.ends}
        needed |= {number for number, task in self.tasks.items() if task.function == Memory.STORE}
        stack = list(needed)
        while stack:
            for operand in self.tasks[stack.pop()].operands:
                if isinstance(operand, Token) and operand.task not in needed:
                    needed.add(operand.task)
                    stack.append(operand.task)
        return Graph({number: task for number, task in self.tasks.items() if number in needed},
                     list(self.ends))
