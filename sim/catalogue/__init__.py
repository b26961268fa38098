"""The catalogue: every block, one page a family.

A page is a module with a tuple ``BLOCKS``. The pages of this project are the modules of this
package, ``<family>.py`` or ``<family>_<more>.py``, each read when a block of its family is first
asked for: one family takes a fifth of the time of all. Other pages are named by
``--catalogue MODULE``, by ``CYCLEBOUND_CATALOGUE`` (comma-separated modules), or by an installed
package's entry point in the group ``cyclebound.catalogue``.
"""

import functools
import importlib
import importlib.metadata
import itertools
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.lazy import import_whole
from cyclebound.sim.base.shape import shown
from cyclebound.sim.describe.block import Block
from cyclebound.sim.describe.block_check import check_block

__all__ = ["Catalogue", "load", "more_pages"]


class Catalogue:
    """All blocks by name, in the order of their pages.

    Parameters
    ----------
    blocks : list[Block]
        Those that are known already; they come last.
    pages : mapping
        For each page that is still to be read its family, and what reads it.
    """

    def __init__(self, blocks: list[Block],
                 pages: Mapping[str, tuple[str, Callable[[], Sequence[Block]]]] | None = None
                 ) -> None:
        self._unread = dict(pages or {})
        self._pages: dict[str, list[Block]] = {page: [] for page in self._unread}
        self._blocks: dict[str, Block] = {}
        self._add("", blocks)

    def _add(self, page: str, blocks: Sequence[Block]) -> None:
        for block in blocks:
            check_block(block)
            if block.name in self._blocks:
                raise UserError(f"two blocks in the catalogue are called {block.name!r}")
            self._blocks[block.name] = block
        self._pages[page] = list(blocks)

    def _read(self, family: str | None = None) -> None:
        """Read the pages of that family, or all."""
        for page, (owner, read) in list(self._unread.items()):
            if family in (None, owner):
                del self._unread[page]
                self._add(page, read())

    def __iter__(self) -> Iterator[Block]:
        self._read()
        return itertools.chain.from_iterable(self._pages.values())

    def find(self, name: str) -> Block:
        """The block of that name; its family may be left out where that is clear."""
        self._read(name.partition(".")[0])
        if name in self._blocks:
            return self._blocks[name]
        short = [block for block in self if block.name.partition(".")[2] == name]
        if len(short) == 1:
            return short[0]
        raise unknown("block", name, self._blocks)

    def page_of(self, name: str) -> str:
        """The module of the page that declares that block; empty for one that is on none."""
        self._read(name.partition(".")[0])
        page = next((page for page, blocks in self._pages.items()
                     if name in (block.name for block in blocks)), "")
        return page and f"{__name__}.{page}"

    def select(self, names: Iterable[str] | None) -> list[Block]:
        """The blocks of these names, or of the families; all of them if none is named."""
        chosen: dict[str, Block] = {}
        for name in names or ():
            self._read(name)
            family = [block for block in self._blocks.values() if block.family == name]
            chosen |= {block.name: block for block in family or [self.find(name)]}
        return list(chosen.values()) or list(self)


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
    own = {module.name: (module.name.partition("_")[0], functools.partial(_own, module.name))
           for module in pkgutil.iter_modules(__path__)}
    if pages and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a page beside the user's own block
    for page in pages:
        try:
            imported = importlib.import_module(page)
        except ModuleNotFoundError as error:
            raise UserError(f"catalogue page {page!r}: {error}") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever the user's own code does, sys.exit() too
            raise UserError(f"catalogue page {page!r}: {type(error).__name__}: {error}"
                            f"{_where(error)}") from error
        if not hasattr(imported, "BLOCKS"):
            raise UserError(f"catalogue page {page!r} has no BLOCKS")
        if not isinstance(imported.BLOCKS, list | tuple):
            raise UserError(f"BLOCKS of catalogue page {page!r} must be a tuple of blocks, "
                            f"not {shown(imported.BLOCKS)}")
        for block in imported.BLOCKS:
            try:
                check_block(block)
            except UserError as error:
                raise UserError(f"catalogue page {page!r}: {error}") from None
        blocks += imported.BLOCKS
    return Catalogue(blocks, own)


def _own(name: str) -> Sequence[Block]:
    return import_whole(f"{__name__}.{name}").BLOCKS


def _where(error: BaseException) -> str:
    """File and line of the user's code that raised the error; a syntax error names them itself."""
    if isinstance(error, SyntaxError):
        return ""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f" ({last.filename}, line {last.lineno})"
