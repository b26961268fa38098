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
- ``every(n)``: true in the cycles n, 2n, 3n and so on after reset, the first of which is 0;
- ``rose(x)``, ``fell(x)``: the lowest bit of x is 1, or 0, and was not a cycle ago.

What Verilog writes for these is understood, too: ``&&``, ``||`` and ``!`` (whether a bit is set),
``8'h1f``, and ``$past``, ``$rose``, ``$fell``, ``$countones``. Where the two read a text without
parentheses in different ways, as ``a & b == 3``, it is refused.
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
_CUT_OFF = re.compile(r"([&|^~!+=<>(,-]|\b(for|in))$")
_MOST = 1 << 16  # indexes that a ``for`` goes through
# by the number of their arguments
_FUNCTIONS = {"past": 1, "any": 1, "count": 1, "first": 2, "held": 2, "nth": 2, "every": 1,
              "rose": 1, "fell": 1}
_VERILOG = re.compile(r"&&|\|\||!(?!=)|\$(?:past|rose|fell|countones)\b|"
                      r"(?<![\w'])\d*'s?[hbdoHBDO][0-9a-zA-Z_?]+")
_BASES = {"h": 16, "b": 2, "d": 10, "o": 8}


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
        Its syntax, of nothing but the constructs that are known; ``-x`` is Verilog's ``!x``.
    places : tuple of int
        Where each character that was parsed stands in the text.
    parsed : str
        The text that was parsed.
    """

    text: str
    tree: ast.expr
    places: tuple[int, ...] = ()
    parsed: str = ""

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
                case ast.UnaryOp(op=ast.USub()):
                    return ~functions["any"](within(node.operand))
                case ast.UnaryOp():
                    return ~within(node.operand)
                case ast.BoolOp():
                    together = operator.and_ if isinstance(node.op, ast.And) else operator.or_
                    return functools.reduce(together, (functions["any"](within(part))
                                                       for part in node.values))
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
        return ExpressionError(what, self.text, self.column(node.col_offset))

    def column(self, offset: int) -> int:
        """The column in the text of a place in what was parsed, which Python counts in bytes."""
        at = len(self.parsed.encode()[:offset].decode(errors="replace"))
        return (self.places[at] if at < len(self.places) else len(self.text)) + 1

    def bare(self, node: ast.expr) -> bool:
        """Whether it stands without parentheses around it."""
        text = self.parsed.encode()
        before, after = text[:node.col_offset].rstrip(), text[node.end_col_offset:].lstrip()
        return not (before.endswith(b"(") and after.startswith(b")"))


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
    parsed, places = _translated(text.strip())
    try:
        tree = ast.parse(parsed, mode="eval").body
    except SyntaxError as error:
        if _CUT_OFF.search(text.strip()):  # where Python names the beginning
            raise ExpressionError("the expression ends too early", text.strip(),
                                  len(text.strip()) + 1) from None
        at = (error.offset or 1) - 1
        raise ExpressionError(error.msg, text.strip(), (
            places[at] if at < len(places) else len(text.strip())) + 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text[:60]!r}: {error}") from None
    expression = Expression(text.strip(), tree, tuple(places), parsed)
    try:
        _check(expression, tree)
    except RecursionError:
        raise ExpressionError(f"{text[:60]!r}: nested too deeply") from None
    return expression


def _translated(text: str) -> tuple[str, list[int]]:
    """Verilog's signs as Python parses them, and where each character of the result stood."""
    parsed, places, at = "", [], 0
    for found in _VERILOG.finditer(text):
        word = found[0]
        if word in ("&&", "||"):
            new = " and " if word == "&&" else " or "
        elif word == "!":
            new = "-"  # binds as tightly
        elif word[0] == "$":
            new = word[1:].replace("countones", "count")
        else:
            new = _sized(text, found)
        parsed += text[at:found.start()] + new
        places += [*range(at, found.start()), *[found.start()] * len(new)]
        at = found.end()
    return parsed + text[at:], places + list(range(at, len(text)))


def _sized(text: str, found: re.Match[str]) -> str:
    """A number as Verilog writes it. Raises `ExpressionError`."""
    width, _, digits = found[0].replace("_", "").lower().partition("'")
    digits = digits.removeprefix("s")
    column = found.start() + 1
    if text[:found.start()].rstrip().endswith("~"):  # a number here has no more bits than it needs
        raise ExpressionError(f"~ of {found[0]}: write the number itself", text, column)
    try:
        value = int(digits[1:], _BASES[digits[0]])
    except ValueError:
        raise ExpressionError(f"{found[0]} is no known number", text, column) from None
    if width and value.bit_length() > int(width):
        raise ExpressionError(f"{found[0]} has more than {width} bits", text, column)
    return str(value)


def _check(whole: Expression, node: ast.expr) -> None:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool) and number >= 0:
            return
        case ast.BinOp() if type(node.op) in _BINARY:
            inner = [node.left, node.right]
        case ast.UnaryOp(op=ast.Invert()):
            inner = [node.operand]
        case ast.UnaryOp(op=ast.USub()) if whole.text[whole.column(node.col_offset) - 1] == "!":
            inner = [node.operand]
        case ast.BoolOp() if not re.search(r"\b(and|or)\b", whole.text):
            inner = node.values
        case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
            inner = [node.left, *node.comparators]
            for part in inner:  # in Verilog, these bind less tightly than a comparison
                if isinstance(part, ast.BinOp) and isinstance(
                        part.op, ast.BitAnd | ast.BitOr | ast.BitXor) and whole.bare(part):
                    raise whole._error(part, "a comparison beside & | ^ needs parentheses, as in "
                                             "a & (b == 3)")
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
                                     "indexes, whole numbers, & | ^ ~ && || ! + -, a comparison, "
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
