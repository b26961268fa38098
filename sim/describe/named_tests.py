"""The names of a testbench's tests, from its source: it can be imported in a simulator only."""

import ast
import importlib.util
from pathlib import Path

__all__ = ["named_tests"]


def named_tests(module: str) -> list[str]:
    """Names of the tests that ``module`` defines, in its order; none if it cannot be read.

    A test is a coroutine with a decorator, or what a call gives (``name = interrupted(other)``).
    """
    try:
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            return []
        tree = ast.parse(Path(spec.origin).read_text())
    except (ImportError, OSError, ValueError, SyntaxError):
        return []  # the simulator will say
    names = []
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list:
            names.append(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names += [target.id for target in node.targets
                      if isinstance(target, ast.Name) and target.id[0].islower()]
    return names
