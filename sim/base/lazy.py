"""Modules that are imported when something in them is first used.

``cyclebound --help`` and `bound` need neither cocotb nor a database nor a plot library, whose
import takes longer than what they do. Modules with commands name what they use by `lazily`.
"""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from cyclebound.sim.base.errors import UserError

__all__ = ["import_whole", "lazily"]


def import_whole(name: str) -> ModuleType:
    """The module of that name. Raises `UserError` if it, or what it imports, is broken."""
    try:
        return importlib.import_module(name)
    except UserError:
        raise
    except Exception as error:
        raise UserError(_says(error)) from error


@contextmanager
def lazily() -> Iterator[None]:
    """Modules that are imported within are loaded at the first use of one of their attributes.

    As ``from package import module``: a name that is taken out of a module is such a use. Then, and
    whenever it is used again, `UserError` is raised if it cannot be imported. Editors and type
    checkers see plain imports.
    """
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    """Finds what the others find, to be loaded later."""

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = importlib.util.LazyLoader(_Loader(spec.loader))
                return spec
        return None


class _BrokenModule(ModuleType):
    """A module whose import has failed: what is left of it is none."""

    def __getattr__(self, name: str) -> object:
        raise UserError(vars(self)["_why"])


class _Loader(Loader):
    """Says what is broken, in a line, if a module cannot be imported."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        try:
            self._loader.exec_module(module)
        except Exception as error:
            why = str(error) if isinstance(error, UserError) else _says(error)
            vars(module)["_why"] = why
            module.__class__ = _BrokenModule
            raise UserError(why) from error


def _says(error: Exception) -> str:
    """Where an import has failed, and with what."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith("<")]
    file, line = ((error.filename, error.lineno) if isinstance(error, SyntaxError)
                  else (frames[-1].filename, frames[-1].lineno))
    said = (error.msg if isinstance(error, SyntaxError) else str(error)).splitlines() or [""]
    path = Path(file or "?")
    return (f"cannot import what this needs: {type(error).__name__}: {said[0]} "
            f"({path.parent.name}/{path.name}, line {line}); is that package whole? "
            "`pip check` says which are not, `pip install --force-reinstall` mends one")
