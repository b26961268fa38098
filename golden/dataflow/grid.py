"""The grid of an SGMF core: which unit stands where, and which links there are.

Source: SGMF, section 5.2 (Figure 8) and 5.3 (Figure 9). A grid of R rows and C columns has R * C
units and as many switches; switch (r, c) stands at the lower right corner of unit (r, c). Each one
has eight ports, each a link in either direction:

- a unit's ports 0 to 3 go to the units above, right, below and left (none at the edge), 4 to 7 to
  the switches at its corners, upper left, upper right, lower left, lower right. At the upper and
  the left edge, these are the ones of the opposite edge;
- a switch's ports 0 to 3 go to the switches two rows above, two columns to the right, two rows
  below, two columns to the left; at the edges the line is folded, so that it goes on backwards and
  0, 2, 4, 3, 1 is a ring. Ports 4 to 7 go to the units at its corners, in the same order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

__all__ = ["CHANNELS", "FIVE_BY_FIVE", "PAPER", "PORTS", "SPECIAL", "Grid", "Kind", "Node", "fold"]

PORTS = 8
_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))


class Kind(StrEnum):
    """Kinds of units, by the letter that stands for them in a description."""

    COMPUTE = "C"
    CONTROL = "K"
    LOAD_STORE = "L"
    INTEGER_DIVIDE = "I"
    DIVIDE = "D"
    ROOT = "Q"
    SOURCE = "S"
    SINK = "T"


# tokens that a unit sends: its result, and a load/store unit's enable token besides
# what special units do, by `golden.dataflow.graph.Special`'s names
SPECIAL = {Kind.INTEGER_DIVIDE: "idiv", Kind.DIVIDE: "fdiv", Kind.ROOT: "fsqrt"}
CHANNELS = {kind: 2 if kind == Kind.LOAD_STORE else 0 if kind == Kind.SINK else 1 for kind in Kind}
PERIMETER = frozenset(Kind) - {Kind.COMPUTE, Kind.CONTROL}


class Node(NamedTuple):
    """Unit or switch at a place. A tuple: nothing is hashed and compared as often."""

    switch: bool
    row: int
    column: int

    def __str__(self) -> str:
        return f"{'switch' if self.switch else 'unit'} ({self.row}, {self.column})"


def fold(position: int, size: int) -> int:
    """A position on a line of that size which goes on backwards beyond its ends."""
    if position < 0:
        return -1 - position
    return position if position < size else 2 * size - 1 - position


@dataclass(frozen=True)
class Grid:
    """A grid from its description, a letter for each unit.

    Raises `ValueError` for rows that are not as said here, and names the unit or the column.

    Attributes
    ----------
    rows : tuple[str, ...]
        `Kind` letters; all rows of one length, two rows and columns at least. Load/store units,
        special units, sources and sinks stand on the perimeter, and nothing but compute and control
        units inside, each column of one kind.
    """

    rows: tuple[str, ...]

    def __post_init__(self) -> None:
        lengths = {len(row) for row in self.rows}
        if len(self.rows) < 2 or len(lengths) != 1 or min(lengths) < 2:
            raise ValueError("grid must be two rows or more of one length, at least two, not "
                             f"{' / '.join(self.rows) or 'none'}")
        unknown = sorted(set("".join(self.rows)) - set(Kind))
        if unknown:
            raise ValueError(f"grid must be made of {''.join(Kind)}, not {unknown[0]!r}")
        for r, row in enumerate(self.rows):
            for c, letter in enumerate(row):
                edge = r in (0, len(self.rows) - 1) or c in (0, len(row) - 1)
                if not edge and letter in PERIMETER:
                    raise ValueError(f"unit ({r}, {c}) must be compute or control, not "
                                     f"{Kind(letter).name.lower()}, for it is inside the grid")
        for c in range(1, self.width - 1):
            column = {row[c] for row in self.rows[1:-1]}
            if len(column) > 1:
                raise ValueError(f"column {c} must be of one kind inside the grid, not "
                                 f"{' and '.join(sorted(column))}")

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return len(self.rows[0])

    @cached_property
    def units(self) -> tuple[Node, ...]:
        """All units, row by row."""
        return tuple(Node(False, r, c) for r in range(self.height) for c in range(self.width))

    @cached_property
    def switches(self) -> tuple[Node, ...]:
        return tuple(Node(True, node.row, node.column) for node in self.units)

    def kind(self, unit: Node) -> Kind:
        return Kind(self.rows[unit.row][unit.column])

    def of_kind(self, kind: Kind) -> tuple[Node, ...]:
        """The units of a kind, row by row."""
        return tuple(unit for unit in self.units if self.kind(unit) == kind)

    def end(self, node: Node, port: int) -> Node:
        """The node at the other end of a port's link. Raises `ValueError` for a port at the edge,
        which has none."""
        there = self.peer(node, port)
        if there is None:
            raise ValueError(f"port {port} of {node} is at the edge")
        return there[0]

    def peer(self, node: Node, port: int) -> tuple[Node, int] | None:
        """The other end of a port's link: a node and its port; None at the edge."""
        if port >= 4:
            down, right = (port - 4) // 2, (port - 4) % 2
            by = 0 if node.switch else -1
            return (Node(not node.switch, (node.row + down + by) % self.height,
                         (node.column + right + by) % self.width), 11 - port)
        rows, columns = _STEPS[port]
        if not node.switch:
            row, column = node.row + rows, node.column + columns
            if not (0 <= row < self.height and 0 <= column < self.width):
                return None
            return Node(False, row, column), (port + 2) % 4
        row, column = node.row + 2 * rows, node.column + 2 * columns
        there = Node(True, fold(row, self.height), fold(column, self.width))
        # a folded line comes in where it would have gone out
        return there, (port + 2) % 4 if (there.row, there.column) == (row, column) else port

    def links(self) -> Iterator[tuple[Node, int, Node, int]]:
        """Every link, once for each direction: from, its port, to, its port."""
        for node in (*self.units, *self.switches):
            for port in range(PORTS):
                peer = self.peer(node, port)
                if peer is not None:
                    yield node, port, *peer


FIVE_BY_FIVE = Grid(("SLLLL",
                     "LCKCL",
                     "LCKCD",
                     "LCKCQ",
                     "SLLIT"))

# Figure 8 with the paper's counts: 64 units inside and 44 around them are 6 rows of 18, and no
# other grid has as many. The paper counts no sources and sinks: here, they stand in the places of
# two of its 32 load/store units.
_INSIDE = "CK" * 8
PAPER = Grid(("SLLLLLLLLLLLLLLLLL", f"D{_INSIDE}D", f"Q{_INSIDE}Q", f"I{_INSIDE}I",
              f"D{_INSIDE}D", "QQLLLLIILLLLLLLLLT"))
