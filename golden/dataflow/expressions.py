"""Expressions of a kernel: values with their kinds, and the operations that make them."""

import ast
import operator
import struct
from dataclasses import dataclass

from cyclebound.golden.dataflow.graph import Special, Task, Token
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["Value", "bits_of", "constant", "emit", "unify"]


@dataclass(frozen=True)
class Value:
    """A token, or a number that is known; ``kind`` is ``int``, ``float`` or ``bool``."""

    what: Token | int | float
    kind: str


def constant(number: float) -> Value:
    if isinstance(number, bool):
        return Value(int(number), "bool")
    return Value(number, "float" if isinstance(number, float) else "int")


def bits_of(value: Value, kind: str) -> Token | int:
    """The value as an operand: a token, or a literal's 32 bits, as a number of that kind."""
    if isinstance(value.what, Token):
        return value.what
    if kind == "float":
        return struct.unpack("<I", struct.pack("<f", value.what))[0]
    return int(value.what) & 0xFFFF_FFFF


def unify(one: Value, other: Value) -> str | None:
    """The kind of both, where literals may become floats; None if there is none."""
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return one.kind
    if kinds == {"int", "bool"}:
        return "int"
    plain = one if other.kind == "float" else other
    return "float" if "float" in kinds and not isinstance(plain.what, Token) else None


_INT = {"+": Operation.ADD, "-": Operation.SUB, "*": Operation.MUL, "&": Operation.AND,
        "|": Operation.OR, "^": Operation.XOR, "<<": Operation.SHL, ">>": Operation.SRA,
        "==": Operation.EQ, "!=": Operation.NE, "<": Operation.LT, "<=": Operation.LE,
        "min": Operation.MIN, "max": Operation.MAX, "and": Operation.AND, "or": Operation.OR,
        "//": Special.IDIV}
_FLOAT = {"+": Operation.FADD, "-": Operation.FSUB, "*": Operation.FMUL, "==": Operation.FEQ,
          "<": Operation.FLT, "<=": Operation.FLE, "/": Special.FDIV}
_SWAPPED = {">": "<", ">=": "<="}
_COMPARE = frozenset(("==", "!=", "<", "<=", "and", "or", "not"))
_KNOWN = {"+": operator.add, "-": operator.sub, "*": operator.mul, "<<": operator.lshift,
          ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
          "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
          "min": min, "max": max}


def emit(compiler, node: ast.expr, name: str, *values: Value) -> Value:
    """The value of an operation; ``compiler`` has the graph, and the words for what fails."""
    if name in _SWAPPED:
        name, values = _SWAPPED[name], values[::-1]
    arity = {"fma": 3, "sqrt": 1, "float32": 1, "int32": 1, "neg": 1, "pos": 1, "~": 1,
             "not": 1}.get(name, 2)
    if arity != len(values):
        raise compiler.fail(node, f"{name} has {arity} operand{'s' * (arity > 1)}, not "
                            f"{len(values)}")

    def task(function, kind: str, *operands: Token | int) -> Value:
        return Value(compiler.graph.add(Task(function, list(operands), line=node.lineno)), kind)

    if name in ("fma", "sqrt"):
        if any(bits_of(value, "float") == value.what and value.kind != "float"
               for value in values if isinstance(value.what, Token)):
            raise compiler.fail(node, f"{name} is for floats")
        operands = [bits_of(value, "float") for value in values]
        return task(Operation.FMA if name == "fma" else Special.FSQRT, "float", *operands)
    if name in ("float32", "int32"):
        return _convert(compiler, node, name, values[0], task)
    if name == "pos":
        return values[0]
    if name == "not":
        (value,) = values
        return (task(Operation.XOR, "bool", value.what, 1) if isinstance(value.what, Token)
                else constant(not value.what))
    if name in ("neg", "~"):
        (value,) = values
        if not isinstance(value.what, Token):
            return Value(-value.what if name == "neg" else ~value.what, value.kind)
        if name == "~":
            return task(Operation.XOR, "int", value.what, 0xFFFF_FFFF)
        if value.kind == "float":  # only the sign changes
            return task(Operation.XOR, "float", value.what, 0x8000_0000)
        return task(Operation.SUB, "int", 0, value.what)

    kind = unify(*values)
    if kind is None:
        raise compiler.fail(node, f"{name} of {values[0].kind} and {values[1].kind}; convert one "
                            "with float32() or int32()")
    if not any(isinstance(value.what, Token) for value in values):
        if name not in _KNOWN or kind == "float":  # a float's rounding is the unit's business
            raise compiler.fail(node, f"{name} of two constants; work it out before")
        return constant(_KNOWN[name](*(value.what for value in values)))
    if name == "!=" and kind == "float":
        equal = task(Operation.FEQ, "bool", *(bits_of(value, kind) for value in values))
        return task(Operation.XOR, "bool", equal.what, 1)
    table = _FLOAT if kind == "float" else _INT
    if name not in table:
        raise compiler.fail(node, f"{name} of {kind}s cannot be mapped")
    result = "bool" if name in _COMPARE else "int" if kind == "bool" else kind
    return task(table[name], result, *(bits_of(value, kind) for value in values))


def _convert(compiler, node: ast.expr, name: str, value: Value, task) -> Value:
    kind = "float" if name == "float32" else "int"
    if not isinstance(value.what, Token):
        return constant(float(value.what) if kind == "float" else int(value.what))
    if (value.kind == "float") == (kind == "float"):
        return Value(value.what, kind)
    if kind == "float":
        return task(Operation.TO_FLOAT, "float", value.what)
    return task(Operation.TO_INT, "int", value.what)
