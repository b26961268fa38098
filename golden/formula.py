"""A bound as a formula in a line, such as ``width + 2`` or ``(n - 1) * burst + 5``."""

import ast
import inspect
import operator
import re
from collections.abc import Callable, Iterator, Mapping

from cyclebound.golden.bound import Bound, NotCovered

__all__ = ["FormulaError", "as_bound", "formula_bound"]

_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
              ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
_FUNCTIONS = {"min": min, "max": max}
_LARGEST = 1 << 63
_CUT_OFF = re.compile(r"([-+*/%(,]|^)$")


class FormulaError(ValueError):
    """A formula that cannot be read.

    Attributes
    ----------
    text, column
        The formula, and where in it, from 1.
    """

    def __init__(self, what: str, text: str, column: int) -> None:
        super().__init__(f"column {column} of {text!r}: {what}")
        self.what, self.text, self.column = what, text, column


def formula_bound(text: str) -> Bound:
    """The bound that a formula says: whole numbers, names, ``+ - * // %``, ``min`` and ``max``.

    Its names are its arguments. Raises `FormulaError`.
    """
    text = text.strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        if _CUT_OFF.search(text):  # where Python names the beginning
            raise FormulaError("the formula ends too early" if text else "the formula is empty",
                               text, len(text) + 1) from None
        raise FormulaError(error.msg, text, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(str(error) or "it is too deep", text[:60], 1) from None
    try:
        names = tuple(dict.fromkeys(_names(tree, text)))
        value = _compiled(tree)
    except RecursionError:
        raise FormulaError("it is too deep", text[:60], 1) from None

    def function(**values: int) -> int:
        if missing := [name for name in names if name not in values]:
            raise NotCovered(f"the formula {text} needs {', '.join(missing)}")
        result = value(values)
        if not -_LARGEST < result < _LARGEST:
            raise NotCovered(f"the formula {text} gives more than 64 bits")
        return result

    return _Formula(text, "given on the command line", function, names=names)


def as_bound(claim: object, source: str = "a plain function") -> Bound:
    """A bound, from what may stand for one: a number, a formula, or a function with its parameters
    as arguments.

    Raises `FormulaError`; ValueError for a function whose arguments have no names, and for a rate;
    TypeError for anything else.
    """
    if isinstance(claim, int | str) and not isinstance(claim, bool):
        return formula_bound(str(claim))
    if isinstance(claim, Bound):
        if claim.kind == "rate":
            raise ValueError(f"{claim.name} is a rate, which is no latency; name a bound or a "
                             "prediction")
        return claim
    if not callable(claim):
        raise TypeError(f"Bound must be a number, a formula or a function, not {claim!r}")
    name = getattr(claim, "__name__", type(claim).__name__)
    arguments = inspect.signature(claim).parameters
    if any(argument.kind in (argument.POSITIONAL_ONLY, argument.VAR_POSITIONAL,
                             argument.VAR_KEYWORD)
           for argument in arguments.values()):
        raise ValueError(f"{name}: its arguments must have names, not * or **")
    return Bound(name, f"{name}({', '.join(arguments)})", source, claim)


class _Formula(Bound):
    """A bound whose arguments are the formula's names."""

    _names: tuple[str, ...]

    def __init__(self, text: str, source: str, function: Callable[..., int], *,
                 names: tuple[str, ...]) -> None:
        super().__init__(text, text, source, function)
        object.__setattr__(self, "_names", names)

    @property
    def parameters(self) -> tuple[str, ...]:
        return self._names

    def required(self) -> set[str]:
        return set(self._names)

    def _arguments(self, values: Mapping[str, object]) -> dict[str, object]:
        return {name: values[name] for name in self._names if name in values}


def _names(node: ast.expr, text: str) -> Iterator[str]:
    """The names in a formula; raises for what is none."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool) and (
                number < _LARGEST):
            return
        case ast.Name(id=name):
            yield name
        case ast.BinOp() if type(node.op) in _OPERATORS:
            yield from _names(node.left, text)
            yield from _names(node.right, text)
        case ast.UnaryOp(op=ast.USub()):
            yield from _names(node.operand, text)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS and node.args:
            for arg in node.args:
                yield from _names(arg, text)
        case _:
            before = text.encode()[:node.col_offset].decode(errors="replace")
            what = (f"{ast.unparse(node)[:40]} has more than 63 bits"
                    if isinstance(node, ast.Constant) and type(node.value) is int else
                    f"{ast.unparse(node)[:40]!r} is none of whole numbers, names, + - * // %, "
                    "min(...) and max(...)")
            raise FormulaError(what, text, len(before) + 1)


def _compiled(node: ast.expr) -> Callable[[Mapping[str, int]], int]:
    match node:
        case ast.Constant(value=int() as number):
            return lambda values: number
        case ast.Name(id=name):
            return lambda values: values[name]
        case ast.UnaryOp(operand=inner):
            negated = _compiled(inner)
            return lambda values: -negated(values)
        case ast.BinOp(left=left, op=sign, right=right):
            apply, one, other = _OPERATORS[type(sign)], _compiled(left), _compiled(right)
            return lambda values: apply(one(values), other(values))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            choose, inside = _FUNCTIONS[name], [_compiled(argument) for argument in arguments]
            return lambda values: choose(part(values) for part in inside)
    raise AssertionError(node)
