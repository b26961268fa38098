"""What C's operators do that Python's do not: integers that wrap around, with signs and without.

An integer is its 32 bits; as a constant, it is the number with a sign that has these bits. What the
standard leaves undefined is what the units do: sums wrap around, a shift takes the lowest five bits
of its second operand, a quotient by 0 is that of the divider, and a float beyond an integer's range
saturates.
"""

from collections.abc import Sequence

import numpy as np

from cyclebound.golden.dataflow import special
from cyclebound.golden.dataflow.compute_unit import evaluate
from cyclebound.golden.dataflow.graph import Special, Task, Token
from cyclebound.golden.dataflow.operations import WIDTH, Operation
from cyclebound.tools.dataflow.expressions import emit, nearest
from cyclebound.tools.dataflow.operands import (
    Compiling,
    Node,
    Value,
    constant,
    literal,
    operand,
    span_of,
)
from cyclebound.tools.dataflow.spans import ANY, LEAST, MASK, MOST, Span, span_after, wrapped

__all__ = ["OPERATIONS", "emit_c"]

_SIMPLE = {"add": (Operation.ADD, "+"), "sub": (Operation.SUB, "-"), "mul": (Operation.MUL, "*"),
           "and": (Operation.AND, "&"), "or": (Operation.OR, "|"), "xor": (Operation.XOR, "^"),
           "shl": (Operation.SHL, "<<"), "shr": (Operation.SHR, "shr"),
           "sar": (Operation.SRA, ">>"), "min": (Operation.MIN, "min"),
           "max": (Operation.MAX, "max")}  # and what `span_after` calls them
_SAME = ("float32", "int32", "sqrt", "fma", "abs", "ltu", "leu")  # as in Python's kernels
OPERATIONS = (*_SIMPLE, *_SAME, "div", "udiv", "rem", "urem", "utof", "ftou", "umin", "umax",
              "fmin", "fmax", "lesser", "greater", "iabs", "whole", "natural", "rint", "round")
_HALF = 0x4F00_0000  # 2**31 in single precision
_SIGN, _ONE_HALF, _NO_FRACTION = 0x8000_0000, 0x3F00_0000, 0x4B00_0000  # 0.5, 2**23


class _C:
    """Adds tasks for one operation."""

    def __init__(self, compiler: Compiling, node: Node) -> None:
        self.compiler, self.node = compiler, node

    def task(self, function: Operation | Special, kind: str, *values: Value | int,
             span: Span = ANY) -> Value:
        """A task, or what it makes of constants; an integer among ``values`` is 32 bits."""
        bits: list[Token | int] = [
            value & MASK if isinstance(value, int) else operand(
                self.compiler, self.node, value, "float" if value.kind == "float" else "int",
                wide=True) for value in values]
        numbers = [bit for bit in bits if isinstance(bit, int)]
        if len(numbers) == len(bits):
            return self.known(special.evaluate(function, numbers) if isinstance(function, Special)
                              else evaluate(function, numbers), kind)
        token = self.compiler.graph.add(Task(function, list(bits), line=self.node.lineno))
        if span != ANY:
            self.compiler.spans[token] = span
        return Value(token, kind)

    def known(self, bits: int, kind: str) -> Value:
        if kind == "float":
            return constant(np.uint32(bits).view(np.float32))
        return constant(bool(bits) if kind == "bool" else wrapped(bits))

    def span(self, value: Value) -> Span:
        return span_of(self.compiler, value)

    def natural(self, *values: Value) -> bool:
        """Whether none of them can be negative, so that signs do not matter."""
        return all(self.span(value)[0] >= 0 for value in values)

    def select(self, condition: Value, yes: Value | int, no: Value | int, kind: str) -> Value:
        return self.task(Operation.SELECT, kind, condition, yes, no)

    def simple(self, name: str, values: Sequence[Value]) -> Value:
        if name in ("shl", "shr", "sar") and values[1].known and not (
                0 <= values[1].number < WIDTH):
            raise self.compiler.fail(self.node, f"a shift must be by 0 to {WIDTH - 1}, not "
                                     f"{values[1].number}")
        function, span = _SIMPLE[name]
        return self.task(function, "int", *values,
                         span=span_after(span, [self.span(value) for value in values]))

    # -- divisions: the unit's is with signs, towards zero -----------------------------------------

    def power(self, right: Value, signed: bool) -> int | None:
        """The exponent of a divisor that is a power of two."""
        if not right.known:
            return None
        number = literal(self.compiler, self.node, right, "int", wide=True)
        if number == 0:
            raise self.compiler.fail(self.node, "a division by 0")
        if number & (number - 1) or (signed and number > MOST):
            return None
        return number.bit_length() - 1

    def quotient(self, left: Value, right: Value) -> Value:
        """With signs, rounded towards zero."""
        exponent = self.power(right, signed=True)
        if exponent == 0:
            return Value(left.what, "int")
        if exponent is not None:
            if not self.natural(left):  # a negative dividend is rounded up
                sign = self.task(Operation.SRA, "int", left, WIDTH - 1)
                up = self.task(Operation.SHR, "int", sign, WIDTH - exponent)
                left = self.task(Operation.ADD, "int", left, up)
            return self.task(Operation.SRA, "int", left, exponent)
        span = ANY
        if self.natural(left) and self.span(right)[0] > 0:
            span = span_after("//", [self.span(left), self.span(right)])
        return self.task(Special.IDIV, "int", left, right, span=span)

    def unsigned_quotient(self, left: Value, right: Value) -> Value:
        """Without signs: half the dividend's quotient, doubled, and at most one more. By a divisor
        from 2**31 on, it is 1 or 0."""
        exponent = self.power(right, signed=False)
        if exponent is not None:
            return self.simple("shr", (left, constant(exponent))) if exponent else Value(
                left.what, "int")
        if self.natural(left, right):
            return self.quotient(left, right)
        large = self.task(Operation.LEU, "bool", right, left)
        low, high = self.span(right)
        if high < 0:
            return Value(large.what, "int")
        half = self.task(Special.IDIV, "int", self.task(Operation.SHR, "int", left, 1), right)
        twice = self.task(Operation.SHL, "int", half, 1)
        rest = self.task(Operation.SUB, "int", left, self.task(Operation.MUL, "int", twice, right))
        more = self.task(Operation.LEU, "bool", right, rest)
        result = self.task(Operation.ADD, "int", twice, more)
        if low >= 0:
            return result
        negative = self.task(Operation.LT, "bool", right, 0)
        return self.select(negative, large, result, "int")

    def rest(self, left: Value, right: Value, quotient: Value) -> Value:
        span = ANY
        if self.natural(left) and self.span(right)[0] > 0:
            span = span_after("%", [self.span(left), self.span(right)])
        return self.task(Operation.SUB, "int", left, self.task(Operation.MUL, "int", quotient,
                                                               right), span=span)

    def remainder(self, left: Value, right: Value) -> Value:
        exponent = self.power(right, signed=True)
        if exponent is not None and self.natural(left):
            return self.unsigned_remainder(left, right)
        return self.rest(left, right, self.quotient(left, right))

    def unsigned_remainder(self, left: Value, right: Value) -> Value:
        if self.power(right, signed=False) is not None:
            mask = constant(wrapped(int(right.number) - 1))
            return self.simple("and", (left, mask))
        return self.rest(left, right, self.unsigned_quotient(left, right))

    # -- integers without signs, and floats --------------------------------------------------------

    def float_of_unsigned(self, value: Value) -> Value:
        """From 2**31 on: half of it, whose lowest bit is set if any was, so that it is rounded as
        the whole; and twice that."""
        plain = emit(self.compiler, self.node, "float32", value)
        if self.natural(value):
            return plain
        odd = self.task(Operation.AND, "int", value, 1)
        half = self.task(Operation.OR, "int", self.task(Operation.SHR, "int", value, 1), odd)
        single = emit(self.compiler, self.node, "float32", half)
        twice = self.task(Operation.FADD, "float", single, single)
        return self.select(self.task(Operation.LT, "bool", value, 0), twice, plain, "float")

    def unsigned_of_float(self, value: Value) -> Value:
        """From 2**31 on: what is above it, and its bit."""
        plain = self.task(Operation.TO_INT, "int", value)
        above = self.task(Operation.TO_INT, "int",
                          self.task(Operation.FSUB, "float", value, _HALF))
        large = self.task(Operation.XOR, "int", above, 1 << WIDTH - 1)
        return self.select(self.task(Operation.FLE, "bool", _HALF, value), large, plain, "int")

    # -- the lesser and the greater ----------------------------------------------------------------

    def unsigned_extreme(self, name: str, left: Value, right: Value) -> Value:
        if self.natural(left, right):
            return self.simple(name.removeprefix("u"), (left, right))
        less = self.task(Operation.LTU, "bool", left, right)
        both = (left, right) if name == "umin" else (right, left)
        return self.select(less, *both, "int")

    def float_extreme(self, name: str, left: Value, right: Value) -> Value:
        """OpenCL's min and max: the first, unless the second is less (greater)."""
        order = (right, left) if name == "lesser" else (left, right)
        return self.select(self.task(Operation.FLT, "bool", *order), right, left, "float")

    def number_extreme(self, name: str, left: Value, right: Value) -> Value:
        """C's fmin and fmax: the other operand, if one is no number."""
        order = (left, right) if name == "fmin" else (right, left)
        first = self.task(Operation.FLT, "bool", *order)
        number = self.task(Operation.FEQ, "bool", right, right)
        takes = self.task(Operation.LEU, "bool", number, first)  # right is none, or left is first
        return self.select(takes, left, right, "float")

    def rint(self, value: Value) -> Value:
        """C's rint: the nearest integer, the even one of two."""
        if value.known:
            return constant(np.rint(np.float32(value.number)))
        return nearest(self.compiler, self.node, value)

    def round(self, value: Value) -> Value:
        """C's round: the nearest integer, of two the one that is further from 0."""
        size = self.task(Operation.AND, "float", value, _SIGN - 1)
        whole = self.task(Operation.TO_INT, "int", size)
        rest = self.task(Operation.FSUB, "float", size,
                         self.task(Operation.TO_FLOAT, "float", whole))
        up = self.task(Operation.FLE, "bool", _ONE_HALF, rest)
        result = self.task(Operation.TO_FLOAT, "float",
                           self.task(Operation.ADD, "int", whole, up))
        small = self.task(Operation.FLT, "bool", size, _NO_FRACTION)  # else it is one, or none
        result = self.select(small, result, size, "float")
        return self.task(Operation.OR, "float", result,
                         self.task(Operation.AND, "int", value, _SIGN))

    def parameter(self, name: str, value: Value) -> Value:
        """A constant of the kernel, which must be of its type."""
        number = int(value.number)
        low, high = (LEAST, MOST) if name == "whole" else (0, MASK)
        if not low <= number <= high:
            raise self.compiler.fail(self.node, f"{number} is no integer of 32 bits with"
                                     f"{'out' * (name == 'natural')} a sign")
        return constant(wrapped(number))


def emit_c(compiler: Compiling, node: Node, name: str, *values: Value) -> Value:
    """The value of an operation of `OPERATIONS`, whose operands have the types that it is for."""
    this = _C(compiler, node)
    match name:
        case "div":
            return this.quotient(*values)
        case "udiv":
            return this.unsigned_quotient(*values)
        case "rem":
            return this.remainder(*values)
        case "urem":
            return this.unsigned_remainder(*values)
        case "utof":
            return this.float_of_unsigned(*values)
        case "ftou":
            return this.unsigned_of_float(*values)
        case "umin" | "umax":
            return this.unsigned_extreme(name, *values)
        case "lesser" | "greater":
            return this.float_extreme(name, *values)
        case "fmin" | "fmax":
            return this.number_extreme(name, *values)
        case "iabs":
            if this.natural(values[0]):
                return Value(values[0].what, "int")
            return this.simple("max", (values[0], this.simple("sub", (constant(0), values[0]))))
        case "rint":
            return this.rint(*values)
        case "round":
            return this.round(*values)
        case "whole" | "natural":
            return this.parameter(name, *values)
    if name in _SAME:
        return emit(compiler, node, name, *values)
    return this.simple(name, values)
