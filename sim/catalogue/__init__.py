"""The catalogue: every block, one page a family.

A page is a module with a tuple ``BLOCKS``. The pages of this project are the modules of this
package; others are named by ``--catalogue MODULE``, by ``CYCLEBOUND_CATALOGUE`` (comma-separated
modules), or by an installed package's entry point in the group ``cyclebound.catalogue``.
"""

import functools
import importlib
import importlib.metadata
import json
import os
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator

from cyclebound.sim.block import Block
from cyclebound.sim.errors import UserError, unknown

__all__ = ["Catalogue", "load", "more_pages"]


class Catalogue:
    """All blocks by name, in the order of their pages."""

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks: dict[str, Block] = {}
        for block in blocks:
            if block.name in self._blocks:
                raise UserError(f"two blocks in the catalogue are called {block.name!r}")
            _check_parameters(block)
            _check_names(block)
            self._blocks[block.name] = block

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks.values())

    def find(self, name: str) -> Block:
        """The block of that name; its family may be left out where that is clear."""
        if name in self._blocks:
            return self._blocks[name]
        short = [block for block in self if block.name.partition(".")[2] == name]
        if len(short) == 1:
            return short[0]
        raise unknown("block", name, self._blocks)

    def select(self, names: Iterable[str] | None) -> list[Block]:
        """The blocks of these names, or of the families; all of them if none is named."""
        found: dict[str, Block] = {}
        for name in names or ():
            family = [block for block in self if block.family == name]
            found |= {block.name: block for block in family or [self.find(name)]}
        return list(found.values()) or list(self)


def more_pages() -> tuple[str, ...]:
    """Pages from ``CYCLEBOUND_CATALOGUE`` and from installed packages."""
    named = os.environ.get("CYCLEBOUND_CATALOGUE", "")
    points = importlib.metadata.entry_points(group="cyclebound.catalogue")
    return tuple(dict.fromkeys([*filter(None, map(str.strip, named.split(","))),
                                *(point.value for point in points)]))


@functools.cache
def load(pages: tuple[str, ...] = ()) -> Catalogue:
    """This project's pages and then ``pages``. Raises `UserError` for a page that is none."""
    blocks: list[Block] = []
    for module in pkgutil.iter_modules(__path__):
        blocks += importlib.import_module(f"{__name__}.{module.name}").BLOCKS
    if pages and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a page beside the user's own block
    for page in pages:
        try:
            found = importlib.import_module(page)
        except ModuleNotFoundError as error:
            raise UserError(f"catalogue page {page!r}: {error}") from error
        except Exception as error:  # whatever the user's own code does
            raise UserError(f"catalogue page {page!r}: {type(error).__name__}: {error}"
                            f"{_where(error)}") from error
        if not hasattr(found, "BLOCKS"):
            raise UserError(f"catalogue page {page!r} has no BLOCKS")
        blocks += found.BLOCKS
    return Catalogue(blocks)


def _check_parameters(block: Block) -> None:
    """Runs are kept by parameters, in JSON. Raises `UserError` for any that JSON cannot hold."""
    named = [(f"configuration {name}", configuration.parameters)
             for name, configuration in block.configurations.items()]
    named += [(f"property {claim.name}", instance)
              for claim in block.properties for instance in claim.instances]
    for where, parameters in named:
        for name, value in parameters.items():
            try:
                json.dumps(value)
            except TypeError:
                raise UserError(
                    f"{block.name}: {where}: {name} must be a number, a name, or a list or mapping "
                    f"of these, not an object of class {type(value).__name__}") from None


def _check_names(block: Block) -> None:
    """Raises `UserError` where a testbench names a configuration that the block has not."""
    for bench in block.testbenches:
        for name in (*(bench.configurations or ()), *(bench.quick or ())):
            if name not in block.configurations:
                raise unknown(f"{block.name}: testbench {bench.name}: configuration", name,
                              block.configurations)


def _where(error: Exception) -> str:
    """Where in the user's code an error came from; a syntax error says so itself."""
    if isinstance(error, SyntaxError):
        return ""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f" ({last.filename}, line {last.lineno})"
