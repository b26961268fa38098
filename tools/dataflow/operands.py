"""Operands of a kernel's expressions: values with their kinds, as tokens or as 32 bits."""

import ast
import math
import struct
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.graph import Token
from cyclebound.golden.dataflow.operations import FLOAT_NAN
from cyclebound.tools.dataflow.spans import ANY, LEAST, MASK, MOST, Span

__all__ = ["Spilled", "Value", "constant", "float_bits", "operand", "span_of", "unify"]


@dataclass(frozen=True)
class Spilled:
    """A variable that waits in memory, from an earlier part; and its span, of an integer."""

    name: str
    span: Span = ANY


@dataclass(frozen=True)
class Value:
    """A token, a number that is known, or what waits in memory; ``kind`` is ``int``, ``float`` or
    ``bool``."""

    what: Token | Spilled | int | float
    kind: str

    @property
    def known(self) -> bool:
        return not isinstance(self.what, (Token, Spilled))


def constant(number: int | np.float32) -> Value:
    if isinstance(number, (bool, np.bool_)):
        return Value(int(number), "bool")
    return Value(number, "int" if isinstance(number, int) else "float")


def float_bits(number: float) -> int:
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


def operand(compiler, node: ast.AST, value: Value, kind: str, *, wide: bool = False) -> Token | int:
    """The value as an operand: a token, or a literal's 32 bits, as a number of that kind.

    ``wide``: only the bits matter, so that integers up to 2**32 - 1 may stand for them.
    """
    if not value.known:
        return value.what
    if kind == "float":
        try:
            return float_bits(value.what)
        except ValueError as error:
            raise compiler.fail(node, str(error)) from None
    if not LEAST <= value.what <= (MASK if wide else MOST):
        raise compiler.fail(node, f"{value.what} is no integer of 32 bits"
                            + ("" if wide or value.what > MASK or value.what < 0 else
                               " with a sign"))
    return int(value.what) & MASK


def unify(one: Value, other: Value) -> str | None:
    """The kind of both, where constants may become floats; None if there is none."""
    kinds = {one.kind, other.kind}
    if len(kinds) == 1:
        return one.kind
    if kinds == {"int", "bool"}:
        return "int"
    plain = one if other.kind == "float" else other
    return "float" if "float" in kinds and plain.known else None


def span_of(compiler, value: Value) -> Span:
    """Least and greatest of an integer's values."""
    if value.known:
        number = int(value.what)
        return (number, number) if number <= MOST else (number - MASK - 1,) * 2
    if value.kind == "bool":
        return 0, 1
    return compiler.spans.get(value.what, ANY)
