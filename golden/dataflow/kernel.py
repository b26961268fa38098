"""Kernels: Python functions for one thread, made into graphs.

Source: SGMF, sections 2, 4.3, 4.5 and 4.6. A kernel's first parameter is its thread's number; all
others are annotated: arrays `Ints` and `Floats`, and constants `Int` and `Float`, whose values are
known when it is mapped::

    @kernel
    def saxpy(tid, x: Floats, y: Floats, a: Float):
        y[tid] = a * x[tid] + y[tid]

There are assignments, loads and stores, ``if`` and ``else``, ``for`` over a range of constants,
``while`` with a condition that is known each time, both with other limits where a bound on their
iterations is stated (`bounded`), ``break``, ``continue``,
``return`` without a value, arithmetic, comparisons, ``and``, ``or``, ``not``, conditional
expressions, and the functions of `FUNCTIONS`. What each of them means is said in docs/dataflow.md,
and `golden.dataflow.plain` does it: Python calls the function for one thread after the other.
"""

import ast
import inspect
import os
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FUNCTIONS", "LOOP", "Float", "Floats", "Int", "Ints", "Kernel", "KernelError", "kernel"]

FUNCTIONS = ("abs", "bool", "bounded", "float", "float32", "fma", "idiv", "int", "int32", "leu",
             "ltu", "max", "min", "range", "round", "shr", "sqrt")


LOOP = "!"  # begins the names of arrays without words: an access says that a loop went on


class Ints:
    """An array of 32-bit integers."""


class Floats:
    """An array of single-precision numbers."""


class Int:
    """An integer that is known when the kernel is mapped."""


class Float:
    """A number in single precision that is known when the kernel is mapped."""


class KernelError(ValueError):
    """The kernel has something that cannot be mapped; says in which file and line, and what."""

    def __init__(self, file: str, line: int, name: str, what: str, column: int = 0) -> None:
        place = f"{file}, line {line}" + (f", column {column}" if column else "")
        super().__init__(f"{place}: kernel {name}: {what}" if name else f"{place}: {what}")
        self.file, self.line, self.what = file, line, what


@dataclass(frozen=True)
class Kernel:
    """A kernel's source.

    Attributes
    ----------
    name : str
        Of the function.
    function : callable or None
        The function itself; a kernel in C has none.
    tree : ast.FunctionDef
        Lines are those of the file.
    thread : str
        The parameter that is the thread's number.
    parameters : mapping of str to type
        All others, and what they are.
    file : str
        Where it is written.
    columns : bool
        Whether the tree's columns are those of the file, too.
    unsigned : frozenset of str
        Parameters whose integers have no sign: 0 to 2**32 - 1.
    """

    name: str
    function: Callable[..., None] | None
    tree: ast.FunctionDef
    thread: str
    parameters: Mapping[str, type]
    file: str = ""
    columns: bool = False
    unsigned: frozenset[str] = frozenset()

    @property
    def arrays(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.parameters.items() if kind in (Ints, Floats))

    @property
    def constants(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.parameters.items() if kind in (Int, Float))

    def error(self, line: int, what: str) -> KernelError:
        return KernelError(self.file, line, self.name, what)

    def error_at(self, node: ast.expr | ast.stmt, what: str) -> KernelError:
        """The error for a node of the tree."""
        return KernelError(self.file, node.lineno, self.name, what,
                           node.col_offset + 1 if self.columns else 0)

    def check_loops(self, faults: Iterable[tuple[str, int, int]]) -> None:
        """Raise the `KernelError` for a loop that went on after the bound that is stated for it:
        an access (array, thread, index) that only such a loop makes."""
        for name, thread, _ in faults:
            if name.startswith(LOOP):
                line, column, most = map(int, name.removeprefix(LOOP).split("."))
                raise KernelError(self.file, line, self.name, f"the loop goes on after {most} "
                                  f"iteration{'s' * (most > 1)}, its stated bound, in thread "
                                  f"{thread}", column if self.columns else 0)

    def __call__(self, *arguments, **named):
        """Call the kernel's function for one thread."""
        if self.function is None:
            raise TypeError(f"kernel {self.name} is no function of Python")
        return self.function(*arguments, **named)


def _place(function: Callable[..., None]) -> tuple[str, int]:
    """File, as it is seen from the current folder, and first line."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "<unknown>", 0
    path = Path(code.co_filename)
    if path.is_absolute() and path.is_relative_to(os.getcwd()):
        path = path.relative_to(os.getcwd())
    return str(path), code.co_firstlineno


def kernel(function: Callable[..., None]) -> Kernel:
    """Make a function into a kernel. Raises `KernelError`."""
    file, first = _place(function)
    name = getattr(function, "__name__", repr(function))
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        raise KernelError(file, first, name, "there is no source to read; a kernel is a function "
                          "in a file") from None
    if not isinstance(tree, ast.FunctionDef):
        raise KernelError(file, first, name, "a kernel must be a function that begins with def")
    ast.increment_lineno(tree, first - 1)
    try:
        names = list(inspect.signature(function, eval_str=True).parameters.values())
    except NameError as error:
        raise KernelError(file, tree.lineno, name, str(error)) from None
    if not names:
        raise KernelError(file, tree.lineno, name,
                          "there is no parameter for the thread's number")
    kinds = {}
    for parameter in names:
        if (parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
                or parameter.default is not inspect.Parameter.empty):
            raise KernelError(file, tree.lineno, name, f"parameter {parameter.name} must be a "
                              "plain one, without * and without a default")
    if names[0].annotation in (Ints, Floats, Int, Float):
        raise KernelError(file, tree.lineno, name, f"the first parameter, {names[0].name}, is the "
                          "thread's number and has no annotation")
    for parameter in names[1:]:
        if parameter.annotation not in (Ints, Floats, Int, Float):
            raise KernelError(file, tree.lineno, name, f"parameter {parameter.name} must be Ints, "
                              "Floats, Int or Float")
        kinds[parameter.name] = parameter.annotation
    for taken in (*kinds, names[0].name):
        if taken in FUNCTIONS:
            raise KernelError(file, tree.lineno, name,
                              f"parameter {taken} must not be named like a function of the "
                              "language")
    return Kernel(name, function, tree, names[0].name, kinds, file)
