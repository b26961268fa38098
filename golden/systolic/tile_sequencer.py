"""Golden model and bound of the tile sequencer: how a matrix is cut into tiles of an array.

Ref: thesis on AI accelerators, Eq. 5.6 (partial tiles count as whole ones); this project for
the order: down a column of tiles first, since the sums of these accumulate.
"""

from collections import deque
from dataclasses import dataclass
from typing import Annotated

from cyclebound.golden.bound import Range, prediction
from cyclebound.golden.systolic.bounds import Columns, Rows
from cyclebound.golden.systolic.mapping import ceil_div

__all__ = ["TileSequencerModel", "Visit", "walk", "walk_cycles"]

Extent = Annotated[int, Range(1, says="rows or columns of the matrix")]


@dataclass(frozen=True)
class Visit:
    """One tile, as in tile_layout.py."""

    row: int
    column: int
    height: int
    width: int
    first: bool
    last: bool
    final: bool


def walk(down: int, across: int, rows: int, columns: int) -> list[Visit]:
    """All tiles of a matrix of ``down`` x ``across``, in order."""
    return [Visit(row, column, len(range(down)[row:row + rows]),
                  len(range(across)[column:column + columns]), row == 0, row + rows >= down,
                  row + rows >= down and column + columns >= across)
            for column in range(0, across, columns) for row in range(0, down, rows)]


@prediction(formula="ceil(down / r) ceil(across / c) + 1", source="this project")
def walk_cycles(*, rows: Rows, columns: Columns, down: Extent, across: Extent) -> int:
    """Cycles of a walk, from the command to the last tile.

    Unit: cycles. Counted: from the cycle in which the command is accepted to the cycle in which
    the last tile is taken, both inclusive; the sink always ready.

    Derivation: the command is in registers in the cycle after it was accepted, and the first tile
    on offer (1). From then on there is another tile in each cycle.
    """
    return ceil_div(down, rows) * ceil_div(across, columns) + 1


class TileSequencerModel:
    """Golden model, one call of `step` per cycle."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self._to_come: deque[Visit] = deque()

    def step(self, command: tuple[int, int] | None, ready: bool) -> tuple[bool, Visit | None]:
        """One cycle: whether a command would be taken, and the tile on offer."""
        shown = self._to_come[0] if self._to_come else None
        takes = shown is None or (ready and shown.final)
        if shown is not None and ready:
            self._to_come.popleft()
        if takes and command is not None:
            self._to_come.extend(walk(*command, self.rows, self.columns))
        return takes, shown
