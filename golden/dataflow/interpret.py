"""Interprets a graph on memory: its operations, each on all threads at once.

The reference of whatever runs the graph. Threads share no memory (SGMF, section 4.3), so that their
order does not matter.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from cyclebound.golden.dataflow import special
from cyclebound.golden.dataflow.compute_unit import evaluate
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import (
    CONSTANT,
    ENABLE,
    NUMBER,
    RESULT,
    Graph,
    Memory,
    Special,
    Task,
    Token,
)
from cyclebound.golden.dataflow.memory import with_spills
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.golden.floating import FLOAT_NAN

__all__ = ["interpret", "interpret_all"]

_FLOAT = {Operation.FADD: np.add, Operation.FSUB: np.subtract, Operation.FMUL: np.multiply,
          Special.FDIV: np.divide}
_WHOLE = {Operation.ADD: np.add, Operation.SUB: np.subtract, Operation.MUL: np.multiply,
          Operation.AND: np.bitwise_and, Operation.OR: np.bitwise_or,
          Operation.XOR: np.bitwise_xor}


def _float(bits: np.ndarray) -> np.ndarray:
    return bits.view(np.float32)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """The bit patterns of floats; every NaN is the one that units make."""
    return np.where(np.isnan(numbers), np.uint32(FLOAT_NAN),
                    numbers.astype(np.float32).view(np.uint32))


def _operate(function, values: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        if function in _FLOAT:
            return _bits(_FLOAT[function](*(_float(value) for value in values[:2])))
        if function == Special.FSQRT:
            return _bits(np.sqrt(_float(values[0])))
        if function in _WHOLE:
            return _WHOLE[function](*values[:2])
    if function == Operation.SELECT:
        return np.where(values[0] != 0, values[1], values[2])
    scalar = special.evaluate if isinstance(function, Special) else evaluate
    return np.array([scalar(function, [int(value) for value in operands])
                     for operands in zip(*values, strict=True)], dtype=np.uint32)


def _control(task: Task, values: list[np.ndarray]) -> np.ndarray:
    if task.delays:
        return values[0]
    if task.function == Control.PHI:
        return np.where(values[0] & 1, values[1], values[2])
    alive = [(value & 1) ^ (k in task.inverted) for k, value in enumerate(values)]
    gather = np.logical_and if task.function == Control.JOIN else np.logical_or
    return gather.reduce(alive).astype(np.uint32)


def interpret(graph: Graph, memory: Mapping[str, np.ndarray], threads: int,
              shared: list[tuple[str, int, int, int]] | None = None,
              share: int = 1) -> list[tuple[str, int, int]]:
    """Run the graph; arrays of ``memory`` (uint32) are changed in place.

    ``shared`` is told of elements that two threads access, one of which stores: array, index and
    the threads, an element for each array. What becomes of it depends on which of them is first.
    ``share``: it is told only of threads on different cores, each of which has so many in a row.

    Returns the accesses outside of their arrays, which are not made: array, thread, index. Raises
    `ValueError` for fewer ``threads`` than one, or a ``share`` below it.
    """
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    if share < 1:
        raise ValueError(f"threads of a core must be at least 1, not {share}")
    tokens: dict[Token, np.ndarray] = {}
    faults: list[tuple[str, int, int]] = []
    accesses: dict[str, list[tuple[np.ndarray, np.ndarray, bool]]] = {}

    def value(operand) -> np.ndarray:
        if isinstance(operand, Token):
            return tokens[operand]
        return np.full(threads, operand, dtype=np.uint32)

    for number, task in graph.tasks.items():
        result = Token(number, RESULT)
        if task.function == NUMBER:
            tokens[result] = np.arange(threads, dtype=np.uint32)
        elif task.function == CONSTANT:
            tokens[result] = value(task.value)
        elif isinstance(task.function, Memory):
            place, data, enable = (*task.operands, None, None)[:3]
            index = value(place).astype(np.int64)
            alive = np.ones(threads, bool) if enable is None else (value(enable) & 1).astype(bool)
            array = memory[task.array]
            inside = index < len(array)
            faults += [(task.array, int(thread), int(index[thread]))
                       for thread in np.flatnonzero(alive & ~inside)]
            makes = alive & inside
            accesses.setdefault(task.array, []).append(
                (index[makes], np.flatnonzero(makes), task.function == Memory.STORE))
            tokens[result] = np.zeros(threads, np.uint32)
            if task.function == Memory.STORE:
                array[index[makes]] = value(data)[makes]
            else:
                tokens[result][makes] = array[index[makes]]
            tokens[Token(number, ENABLE)] = alive.astype(np.uint32)
        else:
            values = [value(operand) for operand in task.operands]
            tokens[result] = (_control(task, values) if isinstance(task.function, Control)
                              else _operate(task.function, values))
    if shared is not None:
        shared += [places for name, made in accesses.items()
                   if (places := _shared(name, made, share))]
    return faults


def _shared(name: str, made: list[tuple[np.ndarray, np.ndarray, bool]], share: int
            ) -> tuple[str, int, int, int] | None:
    """An element of an array that a thread stores and one of another core accesses."""
    stores: dict[int, int] = {}
    for index, threads, store in made:
        if store:
            stores |= zip(index.tolist(), threads.tolist(), strict=True)
    for index, threads, _ in made:
        for element, thread in zip(index.tolist(), threads.tolist(), strict=True):
            if stores.get(element, thread) // share != thread // share:
                return name, element, *sorted((stores[element], thread))
    return None


def interpret_all(graphs: Sequence[Graph], arrays: Mapping[str, np.ndarray], threads: int,
                  shared: list[tuple[str, int, int, int]] | None = None, share: int = 1
                  ) -> tuple[dict[str, np.ndarray], list[tuple[str, int, int]]]:
    """Run a kernel's graphs, one after the other. Returns all arrays afterwards, as uint32, and the
    accesses outside of them; ``arrays`` are not changed. ``shared``, ``share``: `interpret`'s."""
    names = [task.array for graph in graphs for task in graph.tasks.values() if task.array]
    memory = {name: array.copy() for name, array in with_spills(names, arrays, threads).items()}
    return memory, [fault for graph in graphs
                    for fault in interpret(graph, memory, threads, shared, share)]
