"""Modules that are imported when something in them is first used.

``cyclebound --help`` and `bound` need neither cocotb nor a database nor a plot library, whose
import takes longer than what they do. Modules with commands name what they use by `lazy`.
"""

import importlib.util
import sys
from types import ModuleType

__all__ = ["lazy"]


def lazy(name: str) -> ModuleType:
    """The module of that name, imported at the first use of one of its attributes."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"no module named {name!r}")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)
    return module
