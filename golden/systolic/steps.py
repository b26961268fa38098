"""Which operands meet in which PE in which step: the pictures of Tables 5.1 and 5.2.

Ref: thesis on AI accelerators, chapter 5.2: with delay streaming and propagation streaming [Eq.
5.3 and 5.4], PE (i, j) executes the MAC with index s of its fold in step s + i + j.
"""

from dataclasses import dataclass

from cyclebound.golden.systolic.mapping import Dataflow

__all__ = ["Mac", "steps"]


@dataclass(frozen=True)
class Mac:
    """A PE's work in a step: ``A[a] * B[b]``, the ``number``-th product of its sum, from 1."""

    a: tuple[int, int]
    b: tuple[int, int]
    number: int


def steps(dataflow: Dataflow, rows: int, columns: int, time: int) -> list[list[list[Mac | None]]]:
    """For each step of a fold, the rows of PEs with their MACs; None where a PE is idle."""

    def mac(i: int, j: int, s: int) -> Mac:
        if dataflow is Dataflow.OUTPUT:
            return Mac((i, s), (s, j), s + 1)
        if dataflow is Dataflow.WEIGHT:
            return Mac((s, i), (i, j), i + 1)
        return Mac((j, i), (i, s), i + 1)

    return [[[mac(i, j, step - i - j) if 0 <= step - i - j < time else None
              for j in range(columns)] for i in range(rows)]
            for step in range(rows + columns + time - 2)]
