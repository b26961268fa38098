"""Expressions of a kernel: values with their kinds, and the operations that make them.

Integers have 32 bits: sums, differences, products and left shifts wrap around, and everything else
is what Python makes of the numbers -2**31 to 2**31 - 1. Floats are numpy.float32; an integer that
meets one in arithmetic or a comparison, or is divided by ``/``, is rounded to one first. Of
constants, an integer that has no 32 bits is refused, where its operands would have to wrap around
for it; one from 2**31 to 2**32 - 1 may be given where only its bits matter.
"""

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyclebound.golden.dataflow import special
from cyclebound.golden.dataflow.compute_unit import evaluate
from cyclebound.golden.dataflow.graph import Function, Special, Task, Token
from cyclebound.golden.dataflow.kernel import FUNCTIONS, KernelError
from cyclebound.golden.dataflow.operations import WIDTH, Operation
from cyclebound.tools.dataflow.operands import (
    Compiling,
    Node,
    Value,
    constant,
    float_bits,
    literal,
    operand,
    span_of,
    unify,
)
from cyclebound.tools.dataflow.spans import ANY, MASK, MOST, Span, span_after

__all__ = ["emit", "nearest"]

_MOST_POWER = 64  # of exponents
_LOOPS = ("bounded", "range")  # functions of loops only


_KNOWN: dict[str, Callable[..., Any]] = {  # Python's, of ints or of numpy.float32
          "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
          "//": operator.floordiv, "%": operator.mod, "<<": operator.lshift,
          ">>": operator.rshift, "&": operator.and_, "|": operator.or_, "^": operator.xor,
          "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
          ">": operator.gt, ">=": operator.ge, "neg": operator.neg, "pos": operator.pos,
          "~": operator.invert, "not": operator.not_, "and": lambda a, b: a and b,
          "or": lambda a, b: a or b, "min": min, "max": max, "abs": abs, "int": int, "bool": bool,
          "round": round}
_SWAPPED = {">": "<", ">=": "<="}
_RING = {"+": Operation.ADD, "-": Operation.SUB, "*": Operation.MUL, "&": Operation.AND,
         "|": Operation.OR, "^": Operation.XOR}  # of them, only the bits of an operand matter
_ORDER = {"==": Operation.EQ, "!=": Operation.NE, "<": Operation.LT, "<=": Operation.LE}
_UNSIGNED = {"ltu": Operation.LTU, "leu": Operation.LEU}
_FLOAT: dict[str, Function] = {"+": Operation.FADD, "-": Operation.FSUB, "*": Operation.FMUL,
                               "/": Special.FDIV}
_FLOAT_ORDER: dict[str, Function] = {"==": Operation.FEQ, "<": Operation.FLT, "<=": Operation.FLE}
_ARITY = {"fma": 3, **dict.fromkeys(("sqrt", "float32", "int32", "neg", "pos", "~", "not", "abs",
                                     "float", "int", "bool", "round"), 1)}
_SIGN = 0x8000_0000
_NO_FRACTION = 0x4B00_0000  # 2**23 in single precision: from here on, all are integers


@dataclass(frozen=True)
class _Emitter:
    """Adds tasks for one expression."""

    compiler: Compiling
    node: Node

    def task(self, function: Function, kind: str, *operands: Token | int,
             span: Span = ANY) -> Value:
        task = Task(function, list(operands), line=self.node.lineno)
        token = self.compiler.graph.add(task)
        if span != ANY:
            self.compiler.spans[token] = span
        return Value(token, kind)

    def operand(self, value: Value, kind: str, *, wide: bool = False) -> Token | int:
        return operand(self.compiler, self.node, value, kind, wide=wide)

    def literal(self, value: Value, kind: str, *, wide: bool = False) -> int:
        return literal(self.compiler, self.node, value, kind, wide=wide)

    def fail(self, what: str) -> KernelError:
        return self.compiler.fail(self.node, what)

    def unknown(self, name: str) -> KernelError:
        """The error for an operation that there is not."""
        if name in _LOOPS:
            return self.fail(f"{name} is for loops: for k in range(8), for k in bounded(range(x), "
                             "8), while bounded(x > 1, 8)")
        return self.fail(f"function {name} cannot be mapped; there are "
                         f"{', '.join(known for known in FUNCTIONS if known not in _LOOPS)}"
                         if name.isidentifier() and name.islower() else
                         f"'{ast.unparse(self.node)}' cannot be mapped")

    def span(self, value: Value) -> Span:
        return span_of(self.compiler, value)

    def integer(self, function: Function, name: str, *values: Value, wide: bool = False) -> Value:
        """An operation on integers."""
        return self.task(function, "int", *(self.operand(value, "int", wide=wide)
                                            for value in values),
                         span=span_after(name, [self.span(value) for value in values]))

    # -- what units cannot do by themselves --------------------------------------------------------

    def shift(self, name: str, value: Value, by: Value) -> Value:
        """Shift a value; by 32 or more or by a negative number, all bits are shifted out."""
        function = {"<<": Operation.SHL, ">>": Operation.SRA, "shr": Operation.SHR}[name]
        low, high = self.span(by)
        if by.known and not 0 <= by.number < WIDTH:
            raise self.fail(f"a shift must be by 0 to {WIDTH - 1}, not {by.number}")
        value_bits = self.operand(value, "int", wide=name != ">>")
        if low >= 0 and high < WIDTH:
            return self.task(function, "int", value_bits, self.operand(by, "int"),
                             span=span_after(name, [self.span(value), (low, high)]))
        fits = self.task(Operation.LTU, "bool", by.token, WIDTH)
        if name == ">>":
            by = self.task(Operation.SELECT, "int", fits.token, by.token, WIDTH - 1)
            return self.task(function, "int", value_bits, by.token)
        shifted = self.task(function, "int", value_bits, by.token)
        return self.task(Operation.SELECT, "int", fits.token, shifted.token, 0)

    def divide(self, name: str, left: Value, right: Value) -> Value:
        """``//`` or ``%``, towards minus infinity as Python's; the unit truncates towards zero.

        By 0, the unit's quotient is -1 and the rest is the dividend.
        """
        least, most = self.span(right)
        if least == most == 0:
            raise self.fail(f"{name} by 0")
        span = span_after(name, [self.span(left), (least, most)])
        divisor = int(right.number) if right.known else 0
        if divisor > 0 and divisor & (divisor - 1) == 0:
            bits = self.literal(right, "int")
            if name == "%":
                return self.task(Operation.AND, "int", self.operand(left, "int"), bits - 1,
                                 span=span)
            return self.task(Operation.SRA, "int", self.operand(left, "int"),
                             bits.bit_length() - 1, span=span)
        a, b = self.operand(left, "int"), self.operand(right, "int")
        quotient = self.task(Special.IDIV, "int", a, b).token
        plain = self.span(left)[0] >= 0 and least > 0
        if plain and name == "//":
            self.compiler.spans[quotient] = span
            return Value(quotient, "int")
        product = self.task(Operation.MUL, "int", quotient, b).token
        rest = self.task(Operation.SUB, "int", a, product).token
        if plain:
            self.compiler.spans[rest] = span
            return Value(rest, "int")
        if least > 0:  # all ones if the rest is negative
            down = self.task(Operation.SRA, "int", rest, WIDTH - 1).token
        else:  # or if it is not 0 and of the other sign than the divisor
            other = self.task(Operation.XOR, "int", rest, b).token
            differ = self.task(Operation.SRA, "int", other, WIDTH - 1).token
            down = self.task(Operation.SELECT, "int", rest, differ, 0).token
        if name == "//":
            return self.task(Operation.ADD, "int", quotient, down, span=span)
        more = self.task(Operation.AND, "int", down, b).token
        return self.task(Operation.ADD, "int", rest, more, span=span)

    def power(self, base: Value, exponent: Value) -> Value:
        """A product, from the left; each is rounded."""
        if not exponent.known or exponent.kind == "float" or not (
                0 <= exponent.number <= _MOST_POWER):
            raise self.fail("an exponent must be a constant integer from 0 to "
                            f"{_MOST_POWER}")
        kind = "float" if base.kind == "float" else "int"
        if exponent.number == 0:
            return constant(1 if kind == "int" else np.float32(1))
        result = Value(base.what, kind)
        for _ in range(int(exponent.number) - 1):
            result = emit(self.compiler, self.node, "*", result, Value(base.what, kind))
        return result

    def extreme(self, name: str, values: Sequence[Value]) -> Value:
        """``min`` or ``max``, of floats as Python has it: the first, unless a later one is less."""
        result, *rest = values
        for value in rest:
            if result.known and value.known:
                result = self.fold(name, (result, value))
                continue
            kind = unify(result, value)
            if kind is None:
                raise self.mixed(name, result, value)
            if kind != "float":
                result = self.integer(Operation.MIN if name == "min" else Operation.MAX, name,
                                      result, value)
                continue
            old, new = self.operand(result, kind), self.operand(value, kind)
            replaces = self.task(Operation.FLT, "bool", *((new, old) if name == "min" else
                                                          (old, new)))
            result = self.task(Operation.SELECT, "float", replaces.token, new, old)
        return result

    def single(self, value: Value) -> Value:
        """An integer as a float."""
        if value.kind == "float":
            return value
        if value.known:
            return constant(np.uint32(self.literal(value, "float")).view(np.float32))
        return self.task(Operation.TO_FLOAT, "float", value.token)

    def mixed(self, name: str, one: Value, other: Value) -> KernelError:
        return self.fail(f"{name} of {one.kind} and {other.kind}; convert one with float32() or "
                         "int32()")

    # -- constants ---------------------------------------------------------------------------------

    def fold(self, name: str, values: Sequence[Value]) -> Value:
        """Evaluate an operation on constants as Python does; floats are rounded at each step, as
        units round them."""
        if name in ("ltu", "leu", "shr", "idiv"):
            return self.fold_bits(name, values)
        kinds = {value.kind for value in values}
        if "float" in kinds or name in ("fma", "sqrt", "float", "float32", "/"):
            return self.fold_floats(name, values)
        numbers = [int(value.number) for value in values]
        if name not in (*_RING, "<<", "neg", "pos", "~", "**", "not", "bool", "int", "int32",
                        "round"):
            for value in values:
                self.operand(value, "int")  # its sign matters
        if name == "<<":
            self.operand(values[1], "int")
        if name == "**":
            return self.power(*values)
        if name in ("<<", ">>") and not 0 <= numbers[1] < WIDTH:
            raise self.fail(f"a shift must be by 0 to {WIDTH - 1}, not {numbers[1]}")
        if name in ("//", "%") and numbers[1] == 0:
            raise self.fail(f"{name} by 0")
        result = _KNOWN[name](*numbers)
        if isinstance(result, bool):
            return constant(result)
        folded = constant(int(result))
        self.operand(folded, "int", wide=True)
        return folded

    def fold_floats(self, name: str, values: Sequence[Value]) -> Value:
        if name == "/" and all(value.kind != "float" for value in values):
            if values[1].number == 0:
                raise self.fail("/ by 0")
        if name == "**":
            return self.power(*values)
        if name in ("int", "int32", "round"):
            number = self.literal(values[0], "float")
            if name == "round":
                number = float_bits(np.rint(np.uint32(number).view(np.float32)))
            word = evaluate(Operation.TO_INT, [number])
            return constant(word - (1 << WIDTH) if word > MOST else word)
        if name in ("//", "%", "&", "|", "^", "<<", ">>", "~"):
            raise self.fail(f"{name} of floats cannot be mapped")
        for value in values:
            if value.kind != "float":
                self.operand(value, "int")
        bits = [self.literal(value, "float") for value in values]
        if name in ("fma", "sqrt"):
            word = evaluate(Operation.FMA, bits) if name == "fma" else special.root(bits[0])
            return constant(np.uint32(word).view(np.float32))
        if name == "/":
            return constant(np.uint32(special.divide(*bits)).view(np.float32))
        numbers = [np.uint32(bit).view(np.float32) for bit in bits]
        with np.errstate(all="ignore"):
            result = numbers[0] if name in ("float", "float32") else _KNOWN[name](*numbers)
        truth = isinstance(result, (bool, np.bool_))
        return constant(bool(result) if truth else np.float32(result))

    def fold_bits(self, name: str, values: Sequence[Value]) -> Value:
        """The value of a bitwise function, or a shift, of constants."""
        if any(value.kind == "float" for value in values):
            raise self.fail(f"{name} is for integers")
        if name == "shr" and not 0 <= values[1].number < WIDTH:
            raise self.fail(f"a shift must be by 0 to {WIDTH - 1}, not {values[1].number}")
        if name == "idiv" and values[1].number == 0:
            raise self.fail("idiv by 0")
        bits = [self.literal(value, "int", wide=name != "idiv") for value in values]
        if name == "idiv":
            result = special.divide_integers(*bits)
        else:
            result = evaluate({**_UNSIGNED, "shr": Operation.SHR}[name], bits)
        if name in _UNSIGNED:
            return constant(bool(result))
        return constant(result - (1 << WIDTH) if result > MOST else result)


def emit(compiler: Compiling, node: Node, name: str, *values: Value) -> Value:
    """The value of an operation; ``compiler`` has the graph, and the words for what fails."""
    this = _Emitter(compiler, node)
    if name not in _ARITY and name not in _KNOWN and name not in ("ltu", "leu", "shr", "idiv",
                                                                  "**"):
        raise this.unknown(name)
    arity = _ARITY.get(name, 2)
    if name in ("min", "max"):
        if len(values) < 2:
            raise this.fail(f"{name} has 2 operands or more, not {len(values)}")
    elif arity != len(values):
        raise this.fail(f"{name} has {arity} operand{'s' * (arity > 1)}, not {len(values)}")
    if all(value.known for value in values):
        return this.fold(name, values)
    if name in _SWAPPED:
        name, values = _SWAPPED[name], values[::-1]
    match name:
        case "fma" | "sqrt":
            if any(value.kind != "float" and not value.known for value in values):
                raise this.fail(f"{name} is for floats")
            operands = [this.operand(value, "float") for value in values]
            return this.task(Operation.FMA if name == "fma" else Special.FSQRT, "float", *operands)
        case "min" | "max":
            return this.extreme(name, values)
        case "**":
            return this.power(*values)
    if len(values) == 1:
        return _unary(this, name, values[0])
    if name in _UNSIGNED or name in ("<<", ">>", "shr", "idiv", "//", "%"):
        if "float" in (values[0].kind, values[1].kind):
            raise this.fail(f"{name} of floats cannot be mapped" if name in ("//", "%", "<<", ">>")
                            else f"{name} is for integers")
        if name in _UNSIGNED:
            bits = [this.operand(value, "int", wide=True) for value in values]
            return this.task(_UNSIGNED[name], "bool", *bits)
        if name == "idiv":
            if values[1].known and values[1].number == 0:
                raise this.fail("idiv by 0")
            return this.task(Special.IDIV, "int", *(this.operand(value, "int")
                                                    for value in values))
        return (this.divide if name in ("//", "%") else this.shift)(name, *values)

    kind = unify(*values)
    if kind is None or name == "/":
        if name in ("and", "or"):
            raise this.mixed(name, *values)
        kind, values = "float", tuple(map(this.single, values))
    if kind == "float":
        if name == "!=":
            equal = this.task(Operation.FEQ, "bool", *(this.operand(value, kind)
                                                       for value in values))
            return this.task(Operation.XOR, "bool", equal.token, 1)
        if name not in _FLOAT and name not in _FLOAT_ORDER:
            raise this.fail(f"{name} of floats cannot be mapped")
        return this.task((_FLOAT | _FLOAT_ORDER)[name], "bool" if name in _FLOAT_ORDER else kind,
                         *(this.operand(value, kind) for value in values))
    if name in _RING:
        return this.integer(_RING[name], name, *values, wide=True)
    if name in _ORDER:
        return this.task(_ORDER[name], "bool", *(this.operand(value, "int") for value in values))
    if name in ("and", "or") and kind == "bool":
        return this.task(_RING["&" if name == "and" else "|"], "bool",
                         *(this.operand(value, "int") for value in values))
    raise this.fail(f"{name} of ints cannot be mapped")


def nearest(compiler: Compiling, node: Node, value: Value) -> Value:
    """The float that is the nearest integer, the even one of two; of a value that is not known.

    A sum with 2**23 has no place for a fraction, and is rounded; its sign is put back, for -0.
    """
    this = _Emitter(compiler, node)
    size = this.task(Operation.AND, "float", value.token, _SIGN - 1)
    moved = this.task(Operation.FADD, "float", size.token, _NO_FRACTION)
    back = this.task(Operation.FSUB, "float", moved.token, _NO_FRACTION)
    small = this.task(Operation.FLT, "bool", size.token, _NO_FRACTION)
    result = this.task(Operation.SELECT, "float", small.token, back.token, size.token)
    sign = this.task(Operation.AND, "int", value.token, _SIGN)
    return this.task(Operation.OR, "float", result.token, sign.token)


def _unary(this: _Emitter, name: str, value: Value) -> Value:
    floating = value.kind == "float"
    match name:
        case "pos" | "int" | "int32":
            if floating and name != "pos":
                return this.task(Operation.TO_INT, "int", value.token)
            return Value(value.what, "float" if floating else "int")
        case "round":
            if floating:
                return this.task(Operation.TO_INT, "int",
                                 nearest(this.compiler, this.node, value).token)
            return Value(value.what, "int")
        case "float" | "float32":
            return value if floating else this.task(Operation.TO_FLOAT, "float", value.token)
        case "not":
            return this.task(Operation.XOR, "bool", value.token, 1)
        case "~":
            if floating:
                raise this.fail("~ of floats cannot be mapped")
            low, high = this.span(value)
            return this.task(Operation.XOR, "int", value.token, MASK, span=(~high, ~low))
        case "neg":
            if floating:  # only the sign changes
                return this.task(Operation.XOR, "float", value.token, _SIGN)
            return this.integer(Operation.SUB, "-", constant(0), value)
        case "abs":
            if floating:
                return this.task(Operation.AND, "float", value.token, _SIGN - 1)
            if this.span(value)[0] >= 0:
                return Value(value.what, "int")
            negative = this.integer(Operation.SUB, "-", constant(0), value)
            return this.integer(Operation.MAX, "max", Value(value.what, "int"), negative)
    return this.compiler.truth(this.node, value)
