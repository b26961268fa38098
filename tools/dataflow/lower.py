"""Lowering of a graph to operations that units have: literals, and common subexpressions."""

from cyclebound.golden.dataflow.graph import (
    CONSTANT,
    NUMBER,
    Graph,
    Memory,
    Operand,
    Special,
    Task,
    Token,
)
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["lower"]


def lower(graph: Graph, *, sources: int) -> Graph:
    """This graph with operands that units can take, and each operation once only.

    A compute or special unit has one literal, others have none: what cannot be a literal becomes a
    constant of its own, from a source, while there are enough of them (``sources``, the thread's
    number being the first), or from a compute unit that chooses between two equal literals.
    """
    lowered = Graph()
    renamed: dict[int, int] = {}
    kept: dict[tuple, int] = {}
    constants: dict[int, int] = {}
    numbers = [number for number, task in graph.tasks.items() if task.function == NUMBER]
    following = max(graph.tasks, default=0) + 1

    def constant(value: int) -> Token:
        nonlocal following
        if value not in constants:
            if len(constants) < sources - 1:
                task = Task(CONSTANT, value=value)
            else:
                start = Token(numbers[0]) if numbers else Token(constants[next(iter(constants))])
                task = Task(Operation.SELECT, [start, value, value])
            constants[value], lowered.tasks[following] = following, task
            following += 1
        return Token(constants[value])

    for number, task in graph.tasks.items():
        operands: list[Operand] = []
        literal: int | None = None
        for operand in task.operands:
            if isinstance(operand, Token):
                operand = Token(renamed[operand.task], operand.channel)
            elif operand is not None:
                able = isinstance(task.function, (Operation, Special))
                if able and literal in (None, operand):
                    literal = operand
                else:
                    operand = constant(operand)
            operands.append(operand)
        if operands and isinstance(operands[0], int) and not any(
                isinstance(operand, Token) for operand in operands):
            operands[0] = constant(operands[0])
        made = Task(task.function, operands, task.array, task.inverted, task.slots, task.value,
                    task.line)
        key = (str(task), tuple(operands), task.inverted, task.slots, task.value)
        if not isinstance(task.function, Memory) and key in kept:
            renamed[number] = kept[key]
        else:
            renamed[number] = kept[key] = number
            lowered.tasks[number] = made
    lowered.ends = [Token(renamed[token.task], token.channel) for token in graph.ends]
    return lowered.pruned().ordered()
