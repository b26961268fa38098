"""Expressions over named signals, such as ``ports[0].request.valid & ~past(done)``.

One text defines an event for all its uses: in hardware beside a block (`cyclebound.tb.probe`), and
over a recorded waveform. It is parsed and never evaluated as Python:
names with fields and indexes (``x[4:8]`` and ``x[-8:]`` are elements, or bits, side by side, and
``x[:]`` all of them), whole numbers, ``& | ^ ~ + -``, one comparison, and these functions:

- ``past(x)``: the value one cycle ago, 0 after reset;
- ``any(x)``: whether a bit of x is set; ``count(x)``: the number of set bits;
- ``any(ports[p].valid for p in lanes)``: whether it is true for an index p, and ``count(...)``: for
  how many; ``lanes`` is a number, the name of one, or an array of ports;
- ``first(x, y)``: x, for the first time since an earlier cycle in which y was true, or since reset;
- ``held(x, y)``: x as it was when y was true for the last time, this cycle included;
- ``nth(x, n)``: true where the sum of x since reset reaches n, 2n, 3n and so on; x is at most n;
- ``every(n)``: true in the cycles n, 2n, 3n and so on after reset, the first of which is 0.
"""

import ast
import functools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Expression", "ExpressionError", "parse"]

Step = str | int | slice
"""A step of a path: a field's name, an index, or several indexes."""

_BINARY = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
           ast.Add: operator.add, ast.Sub: operator.sub}
_COMPARED = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
             ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
_CUT_OFF = re.compile(r"([&|^~+=<>(,-]|\b(for|in))$")
_MOST = 1 << 16  # indexes that a ``for`` goes through
# by the number of their arguments
_FUNCTIONS = {"past": 1, "any": 1, "count": 1, "first": 2, "held": 2, "nth": 2, "every": 1}


class ExpressionError(ValueError):
    """An expression that cannot be parsed, with the column of the error.

    Attributes
    ----------
    text : str
        The expression, if the column is known.
    column : int
        From 1; 0: it is not known.
    role : str
        Which of a probe's expressions it is; empty if that is not known.
    """

    role = ""

    def __init__(self, what: str, text: str = "", column: int = 0) -> None:
        super().__init__(f"column {column} of {text!r}: {what}" if column else what)
        self.what, self.text, self.column = what, text, column

    @property
    def pointed(self) -> str:
        """The message, and below it the expression with a caret at the column."""
        return (f"{self.what}\n    {self.text}\n    {' ' * (self.column - 1)}^" if self.column
                else self.what)


@dataclass(frozen=True)
class Expression:
    """A parsed expression.

    Attributes
    ----------
    text : str
        As it was written.
    tree : ast.expr
        Its syntax, of nothing but the constructs that are known.
    """

    text: str
    tree: ast.expr

    def value(self, resolve: Callable[[tuple[Step, ...]], Any],
              functions: Mapping[str, Callable[..., Any]],
              numbers: Mapping[str, int] | None = None,
              counts: Callable[[str], int] | None = None) -> Any:
        """The value of the expression, for given values of its names.

        Parameters
        ----------
        resolve : callable
            From a path, such as ``("ports", 0, "valid")``, to what supports the operators. A
            `LookupError` or `AttributeError` of it becomes an `ExpressionError` with the column.
        functions : mapping
            Those named above, from their arguments to their value.
        numbers : mapping or None
            Names that stand for whole numbers, in indexes too.
        counts : callable or None
            From the name of how many there are to the number, for ``for``. A `LookupError` or
            `AttributeError` of it becomes an `ExpressionError`.
        """

        def of(node: ast.expr, values: Mapping[str, int]) -> Any:
            def within(inner: ast.expr) -> Any:
                return of(inner, values)

            match node:
                case ast.Constant():
                    return node.value
                case ast.BinOp():
                    return _BINARY[type(node.op)](within(node.left), within(node.right))
                case ast.UnaryOp():
                    return ~within(node.operand)
                case ast.Compare():
                    return _COMPARED[type(node.ops[0])](within(node.left),
                                                        within(node.comparators[0]))
                case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp(elt=one, generators=[
                        ast.comprehension(target=ast.Name(id=letter), iter=many)])]):
                    together = operator.or_ if name == "any" else operator.add
                    return functools.reduce(together, (
                        functions["any"](of(one, {**values, letter: number}))
                        for number in range(self._many(many, counts))))
                case ast.Call(func=ast.Name(id=name)):
                    return functions[name](*map(within, node.args))
                case ast.Name() if node.id in values:
                    return values[node.id]
            path = tuple(_path(node, values))
            try:
                return resolve(path)
            except (LookupError, AttributeError) as error:
                raise self._error(node, f"there is no {ast.unparse(node)}: {error}") from error

        return of(self.tree, numbers or {})

    def _many(self, node: ast.expr, counts: Callable[[str], int] | None) -> int:
        """The count for a ``for``, from a number or a name; at least 1."""
        many: object = 0
        if isinstance(node, ast.Constant):
            many = node.value
        elif isinstance(node, ast.Name) and counts:
            try:
                many = counts(node.id)
            except (LookupError, AttributeError) as error:
                raise self._error(node, f"there is no {node.id}: {error}") from error
        if not isinstance(many, int) or not 1 <= many <= _MOST:
            raise self._error(node, f"{ast.unparse(node)} must be a number from 1 to {_MOST:,}, "
                                    f"not {many!r}")
        return many

    def fields_of(self, name: str) -> list[str]:
        """The fields of ``name`` that it reads."""
        return [node.attr for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name) and node.value.id == name]

    def _error(self, node: ast.expr, what: str) -> ExpressionError:
        # what Python counts are bytes
        before = self.text.encode()[:node.col_offset].decode(errors="replace")
        return ExpressionError(what, self.text, len(before) + 1)


def _path(node: ast.expr, numbers: Mapping[str, int]) -> list[Step]:
    match node:
        case ast.Name():
            return [node.id]
        case ast.Attribute():
            return [*_path(node.value, numbers), node.attr]
        case ast.Subscript(slice=ast.Constant(value=int() as index)):
            return [*_path(node.value, numbers), index]
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            return [*_path(node.value, numbers), slice(_number(lower), _number(upper))]
        case ast.Subscript(slice=ast.Name(id=name)) if name in numbers:
            return [*_path(node.value, numbers), numbers[name]]
    raise ExpressionError(f"column {node.col_offset + 1}: {ast.unparse(node)} is no index that is "
                          "known")


def _number(node: ast.expr | None) -> int | None:
    """A whole number, perhaps negative, or nothing."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
        case ast.Constant(value=int() as value):
            return value
    return None


@functools.cache
def parse(text: str) -> Expression:
    """Parse an expression. Raises `ExpressionError` with the column of the error."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        if _CUT_OFF.search(text.strip()):  # where Python names the beginning
            raise ExpressionError("the expression ends too early", text.strip(),
                                  len(text.strip()) + 1) from None
        raise ExpressionError(error.msg, text.strip(), error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text[:60]!r}: {error}") from None
    expression = Expression(text.strip(), tree)
    try:
        _check(expression, tree)
    except RecursionError:
        raise ExpressionError(f"{text[:60]!r}: nested too deeply") from None
    return expression


def _check(whole: Expression, node: ast.expr) -> None:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool) and number >= 0:
            return
        case ast.BinOp() if type(node.op) in _BINARY:
            inner = [node.left, node.right]
        case ast.UnaryOp(op=ast.Invert()):
            inner = [node.operand]
        case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
            inner = [node.left, *node.comparators]
        case ast.Call(func=ast.Name(id="any" | "count"), keywords=[], args=[ast.GeneratorExp(
                elt=one, generators=[ast.comprehension(
                    target=ast.Name(), iter=ast.Name() | ast.Constant(value=int()), ifs=[],
                    is_async=0)])]):
            inner = [one]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                len(arguments) == _FUNCTIONS.get(name)):
            inner = arguments
        case ast.Name():
            return
        case ast.Attribute():
            inner = [node.value]
            _only_names(whole, node.value)
        case ast.Subscript(slice=ast.Name() | ast.Constant(value=int())):
            inner = [node.value]
            _only_names(whole, node.value)
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=None)) if (
                _is_number(lower) and _is_number(upper)):
            inner = [node.value]
            _only_names(whole, node.value)
        case _:
            raise whole._error(node, f"{ast.unparse(node)[:40]!r} is none of names, fields, "
                                     "indexes, whole numbers, & | ^ ~ + -, a comparison, "
                                     f"and {', '.join(_FUNCTIONS)}")
    for child in inner:
        _check(whole, child)


def _is_number(node: ast.expr | None) -> bool:
    match node:
        case None | ast.Constant(value=int()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return True
    return False


def _only_names(whole: Expression, node: ast.expr) -> None:
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        raise whole._error(node, "only names have fields and indexes")
