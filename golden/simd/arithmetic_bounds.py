"""Latencies of the arithmetic units: a pipeline of fixed length that never waits."""

from cyclebound.golden.bound import bound, check_count

__all__ = ["execute_result", "execute_stream"]


@bound(formula="stages + 1", source="this project, from Sim-D, section 3.1")
def execute_result(*, stages: int) -> int:
    """Cycles from an operation's operands to its result, both included.

    Derivation: "in-order, single issue" with an execute step of ``stages`` pipeline stages (five in
    the paper's evaluation): each holds an operation for one cycle, and the result is there in the
    cycle after the last. The same for every operation and operand; nothing else is under way that
    could hold it up.
    """
    check_count("stages", stages)
    return stages + 1


@bound(formula="operations + stages", source="this project, from Sim-D, section 3.1")
def execute_stream(*, operations: int, stages: int) -> int:
    """Cycles from the first operands of so many operations in a row to the last result.

    Derivation: "pipelined" units take an operation in every cycle, so the last operands come
    ``operations - 1`` cycles after the first; their result is there ``stages`` cycles later.
    """
    check_count("operations", operations)
    check_count("stages", stages)
    return operations + stages
