"""Operands of a kernel's expressions: values with their kinds, as tokens or as 32 bits."""

import ast
import math
import struct
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cyclebound.golden.dataflow.graph import Graph, Token
from cyclebound.golden.dataflow.kernel import KernelError
from cyclebound.golden.floating import FLOAT_NAN
from cyclebound.tools.dataflow.spans import ANY, LEAST, MASK, MOST, Span

__all__ = ["Compiling", "Node", "Spilled", "Value", "constant", "float_bits", "literal", "operand",
           "span_of", "unify"]

Node = ast.expr | ast.stmt  # what has a line


@dataclass(frozen=True)
class Spilled:
    """A variable that waits in memory, from an earlier part; and its span, of an integer."""

    name: str
    span: Span = ANY


@dataclass(frozen=True, eq=False)
class Value:
    """A token, a number that is known, or what waits in memory; ``kind`` is ``int``, ``float`` or
    ``bool``. Equal are those of the same bits: 0.0 is not -0.0."""

    what: Token | Spilled | int | np.float32
    kind: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, str]:
        what = self.what
        return what.tobytes() if isinstance(what, np.float32) else what, self.kind

    @property
    def known(self) -> bool:
        return not isinstance(self.what, (Token, Spilled))

    @property
    def number(self) -> int | np.float32:
        """What a known value is."""
        if isinstance(self.what, (Token, Spilled)):
            raise TypeError(f"{self} is not known")
        return self.what

    @property
    def token(self) -> Token:
        """What the value of a task is."""
        if not isinstance(self.what, Token):
            raise TypeError(f"{self} is no token")
        return self.what


class Compiling(Protocol):
    """A graph under way, as expressions see it (`tools.dataflow.values.Valuer`)."""

    graph: Graph
    spans: dict[Token, Span]

    def fail(self, node: Node, what: str) -> KernelError: ...

    def truth(self, node: Node, value: Value) -> Value: ...

    def choose(self, condition: Value, yes: Value, no: Value, kind: str, node: Node) -> Value: ...


def constant(number: int | np.float32) -> Value:
    if isinstance(number, (bool, np.bool_)):
        return Value(int(number), "bool")
    return Value(number, "int" if isinstance(number, int) else "float")


def float_bits(number: float | np.float32) -> int:
    """The bits of the nearest number in single precision. Raises `ValueError` for one that is too
    large, and for an integer that not even double precision represents."""
    try:
        if int(number) != int(float(number)):
            raise ValueError(f"{number} has too many digits for a float")
    except OverflowError:
        if isinstance(number, int):
            raise ValueError(f"{number} is too large for single precision") from None
    except ValueError:
        if not math.isnan(number):
            raise
        return FLOAT_NAN
    try:
        return struct.unpack("<I", struct.pack("<f", number))[0]
    except OverflowError:
        raise ValueError(f"{number} is too large for single precision") from None


def operand(compiler: Compiling, node: Node, value: Value, kind: str, *,
            wide: bool = False) -> Token | int:
    """The value as an operand: a token, or a literal's 32 bits, as a number of that kind.

    ``wide``: only the bits matter, so that integers up to 2**32 - 1 may stand for them.
    """
    return literal(compiler, node, value, kind, wide=wide) if value.known else value.token


def literal(compiler: Compiling, node: Node, value: Value, kind: str, *, wide: bool = False) -> int:
    """The 32 bits of a known value, as `operand` has them."""
    number = value.number
    if kind == "float":
        try:
            return float_bits(number)
        except ValueError as error:
            raise compiler.fail(node, str(error)) from None
    if not LEAST <= number <= (MASK if wide else MOST):
        raise compiler.fail(node, f"{number} is no integer of 32 bits"
                            + ("" if wide or number > MASK or number < 0 else
                               " with a sign"))
    return int(number) & MASK


def unify(one: Value, other: Value) -> str | None:
    """The kind of both, where constants may become floats; None if there is none."""
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return one.kind
    if kinds == {"int", "bool"}:
        return "int"
    plain = one if other.kind == "float" else other
    return "float" if "float" in kinds and plain.known else None


def span_of(compiler: Compiling, value: Value) -> Span:
    """Least and greatest of an integer's values."""
    if value.known:
        number = int(value.number)
        return (number, number) if number <= MOST else (number - MASK - 1,) * 2
    if value.kind == "bool":
        return 0, 1
    return compiler.spans.get(value.token, ANY)
