"""Kernels: Python functions for one thread, made into graphs.

Source: SGMF, sections 2, 4.3, 4.5 and 4.6. A kernel's first parameter is its thread's number; all
others are annotated: arrays `Ints` and `Floats`, and constants `Int` and `Float`, whose values are
known when it is mapped::

    @kernel
    def saxpy(tid, x: Floats, y: Floats, a: Float):
        y[tid] = a * x[tid] + y[tid]

There are assignments, loads and stores, ``if`` and ``else``, arithmetic (``/`` of floats, ``//`` of
integers, which truncates), comparisons, ``and``, ``or``, ``not``, conditional expressions, and the
functions of `FUNCTIONS`. An undecorated kernel is ordinary Python: called with numpy scalars and
arrays, it is its own reference.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["FUNCTIONS", "Float", "Floats", "Int", "Ints", "Kernel", "KernelError", "kernel"]

FUNCTIONS = ("fma", "float32", "int32", "max", "min", "sqrt")


class Ints:
    """An array of 32-bit integers."""


class Floats:
    """An array of single-precision numbers."""


class Int:
    """An integer that is known when the kernel is mapped."""


class Float:
    """A number in single precision that is known when the kernel is mapped."""


class KernelError(ValueError):
    """The kernel has something that cannot be mapped; says in which line, and what."""

    def __init__(self, name: str, line: int, what: str) -> None:
        super().__init__(f"kernel {name}, line {line}: {what}")
        self.line = line


@dataclass(frozen=True)
class Kernel:
    """A kernel's source.

    Attributes
    ----------
    name : str
        Of the function.
    function : callable
        The function itself.
    tree : ast.FunctionDef
        Lines count from the ``def``, which is line 1.
    thread : str
        The parameter that is the thread's number.
    parameters : mapping of str to type
        All others, and what they are.
    """

    name: str
    function: Callable[..., None]
    tree: ast.FunctionDef
    thread: str
    parameters: Mapping[str, type]

    @property
    def arrays(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.parameters.items() if kind in (Ints, Floats))

    @property
    def constants(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.parameters.items() if kind in (Int, Float))

    def __call__(self, *arguments, **named):
        """What the function does for one thread."""
        return self.function(*arguments, **named)


def kernel(function: Callable[..., None]) -> Kernel:
    """Make a function into a kernel. Raises `KernelError`."""
    lines = textwrap.dedent(inspect.getsource(function))
    tree = next(node for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.FunctionDef))
    ast.increment_lineno(tree, 1 - tree.lineno)
    names = list(inspect.signature(function).parameters.values())
    if not names:
        raise KernelError(function.__name__, 1, "there is no parameter for the thread's number")
    kinds = {}
    for parameter in names[1:]:
        if parameter.annotation not in (Ints, Floats, Int, Float):
            raise KernelError(function.__name__, 1, f"parameter {parameter.name} must be Ints, "
                              "Floats, Int or Float")
        kinds[parameter.name] = parameter.annotation
    return Kernel(function.__name__, function, tree, names[0].name, kinds)
