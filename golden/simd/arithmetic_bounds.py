"""Latencies of the arithmetic units: a pipeline of fixed length that never waits."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction

__all__ = ["execute_result", "execute_stream"]

Stages = Annotated[int, Range(1, says="registers between operands and result")]
Operations = Annotated[int, Range(1, says="operations, one in each cycle")]


@bound(formula="stages + 1", source="this project, from Sim-D, section 3.1",
       environment="any operation may begin in any cycle before and after")
def execute_result(*, stages: Stages) -> int:
    """Cycles from an operation's operands to its result, both included.

    Derivation: "in-order, single issue" with an execute step of ``stages`` pipeline stages (five in
    the paper's evaluation): each holds an operation for one cycle, and the result is there in the
    cycle after the last. The same for every operation and operand; nothing else is under way that
    could hold it up.
    """
    return stages + 1


@prediction(formula="operations + stages", source="this project, from Sim-D, section 3.1")
def execute_stream(*, operations: Operations, stages: Stages) -> int:
    """Cycles from the first operands of ``operations`` operations in a row to the last result.

    Derivation: "pipelined" units take an operation in every cycle, so the last operands come
    ``operations - 1`` cycles after the first; their result is there ``stages`` cycles later.
    """
    return operations + stages
