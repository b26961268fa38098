"""The work-groups of a grid that have the same items in it: a rectangle of columns and lines.

What follows from a work-group's offsets has as many values as there are columns, or lines, and not
as there are work-groups: a grid may have a million of them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from cyclebound.golden.simd.machine import Grid, Place

__all__ = ["Places", "kinds_of"]

Kind = tuple[int, int]
"""Items across and lines of a work-group that are in the grid."""


class Places(NamedTuple):
    """Work-groups side by side: first items ``lefts``, first lines ``tops``; ``across`` of them are
    in a line of the grid."""

    lefts: range
    tops: range
    across: int

    @property
    def count(self) -> int:
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


def kinds_of(grid: Grid) -> dict[Kind, Places]:
    """The work-groups of each kind, in the order in which the first of a kind starts."""
    def cut(size: int, unit: int) -> list[tuple[int, range]]:
        full = size // unit * unit
        found = [(unit, range(0, full, unit)), (size - full, range(full, size, unit))]
        return [(inside, firsts) for inside, firsts in found if firsts]

    return {(wide, high): Places(lefts, tops, grid.across)
            for high, tops in cut(grid.y, grid.height) for wide, lefts in cut(grid.x, grid.width)}
