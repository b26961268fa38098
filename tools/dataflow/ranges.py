"""Ranges whose limits are not known when the kernel is mapped: their elements, by number.

Source: SGMF, section 4.6: iterations differ in a constant only. So does the number of an element;
whether there is one is a comparison with how far the limits are apart, which needs all 32 bits.
"""

from cyclebound.tools.dataflow.expressions import emit
from cyclebound.tools.dataflow.operands import Compiling, Node, Value, constant
from cyclebound.tools.dataflow.spans import MASK, wrapped

__all__ = ["RANGES", "emit_range"]

RANGES = ("distance", "element", "within")


def _step(compiler: Compiling, node: Node, step: Value) -> int:
    if not step.known or step.kind == "float" or step.number == 0:
        raise compiler.fail(node, "the step of a range must be a constant integer other than 0")
    return int(step.number)


def emit_range(compiler: Compiling, node: Node, name: str, *values: Value) -> Value:
    """Of a range: how far its end is ``distance`` from its start, without a sign (start, stop,
    step); whether an element is ``within`` (its number, distance, step); and the ``element``
    (its number, start, step)."""
    if any(value.kind == "float" for value in values):
        raise compiler.fail(node, "a range is of integers")
    first, second, step = *values[:2], _step(compiler, node, values[2])
    if name == "distance":
        low, high = (first, second) if step > 0 else (second, first)
        some = emit(compiler, node, "<", low, high)
        if some.known and not some.what:
            return constant(0)
        return compiler.choose(some, emit(compiler, node, "-", high, low), constant(0), "int", node)
    moved = int(first.number) * step
    if name == "within":
        return constant(False) if abs(moved) > MASK else emit(compiler, node, "ltu",
                                                              constant(abs(moved)), second)
    if second.known:  # of an element that is within, the sum has 32 bits
        return constant(wrapped(int(second.number) + moved))
    return emit(compiler, node, "+", second, constant(wrapped(moved)))
