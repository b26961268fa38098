"""The work-groups of a grid that have the same items in it: a rectangle of columns and lines.

What follows from a work-group's offsets has as many values as there are columns, or lines, and not
as there are work-groups: a grid may have a million of them.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cyclebound.golden.simd.machine import Grid, Place

__all__ = ["Kind", "Places", "kinds_of"]


class Kind(NamedTuple):
    """Of a work-group: how many items across and lines of it are in the grid; and in which part of
    the grid's columns and lines it lies, if these are cut (`kinds_of`)."""

    wide: int
    high: int
    column: int = 0
    line: int = 0


class Places(NamedTuple):
    """Work-groups side by side: first items ``lefts``, first lines ``tops``; ``across`` of them are
    in a line of the grid."""

    lefts: range
    tops: range
    across: int

    @property
    def total(self) -> int:
        return len(self.lefts) * len(self.tops)

    @property
    def first(self) -> Place:
        return next(self.each())

    def each(self) -> Iterator[Place]:
        """All of them, in order."""
        for y in self.tops:
            for x in self.lefts:
                yield Place(y // self.tops.step * self.across + x // self.lefts.step, x, y)

    def along(self, offsets: frozenset[str]) -> "Places":
        """Those among which all values of these of a work-group's offsets (``wg_off_x``,
        ``wg_off_y``) are found."""
        return self._replace(lefts=self.lefts if "wg_off_x" in offsets else self.lefts[:1],
                             tops=self.tops if "wg_off_y" in offsets else self.tops[:1])


def kinds_of(grid: Grid, columns: Iterable[int] = (), lines: Iterable[int] = ()
             ) -> dict[Kind, Places]:
    """The work-groups of each kind, in the order in which the first of a kind starts.

    ``columns``, ``lines``: first items and first lines of work-groups from which on they are of
    another kind than those before.
    """
    def cut(size: int, unit: int, at: Iterable[int]) -> list[tuple[int, int, range]]:
        full = size // unit * unit
        bounds = [0, *sorted({place for place in at if 0 < place < full}), full]
        found = [(unit, part, range(*ends, unit))
                 for part, ends in enumerate(itertools.pairwise(bounds))]
        found.append((size - full, len(found) - 1, range(full, size, unit)))
        return [(inside, part, firsts) for inside, part, firsts in found if firsts]

    return {Kind(wide, high, column, line): Places(lefts, tops, grid.across)
            for high, line, tops in cut(grid.y, grid.height, lines)
            for wide, column, lefts in cut(grid.x, grid.width, columns)}
