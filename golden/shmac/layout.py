"""Which tile of a SHMAC grid is of which kind. A specification.

Ref: SHMAC thesis, 2.3 (Table 2.2) and 3.3.2 (Table 3.3): a layout is a text, a line for each row
and a character for each tile. Tile (0, 0) is the first character.
"""

from dataclasses import dataclass
from enum import Enum

__all__ = ["MOST", "Kind", "Layout", "LayoutError", "parse_layout"]

MOST = 16
"""Rows, and columns, of a grid: a coordinate has 4 bits."""


class Kind(Enum):
    """What a tile has besides its router, and what answers at its addresses; all else there
    answers with an error, as do LL and SC everywhere but in `LOCKS`."""

    CORE = "P"    # a core, and RAM from the tile's first address on
    RAM = "R"     # RAM only
    LOCKS = "L"   # RAM with a unit for LL and SC
    JUMP = "J"    # words 0 to 3: the bootstrap of the tile that reads them
    CLOCK = "C"   # word 0: cycles since reset
    UART = "U"    # word 0: write, a character; read, one that came, or all ones
    ROUTER = "."  # nothing

    @property
    def has_memory(self) -> bool:
        """Whether it has RAM, with or without a core or a unit for LL and SC."""
        return self in (Kind.CORE, Kind.RAM, Kind.LOCKS)


class LayoutError(ValueError):
    """A text that is no layout. Says where, the rule and the value."""


@dataclass(frozen=True)
class Layout:
    """The kinds of a grid's tiles.

    Attributes
    ----------
    rows : tuple of str
        A character for each tile, as `Kind` has them.
    """

    rows: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raises `LayoutError`."""
        if not self.rows or not self.rows[0]:
            raise LayoutError("a layout must have a tile")
        for number, row in enumerate(self.rows, 1):
            for column, character in enumerate(row, 1):
                if character not in Kind._value2member_map_:
                    raise LayoutError(
                        f"line {number}, column {column}: a tile must be one of "
                        f"{' '.join(kind.value for kind in Kind)}, not {character!r}")
            if len(row) != len(self.rows[0]):
                raise LayoutError(
                    f"line {number}, column {min(len(row), len(self.rows[0])) + 1}: all rows must "
                    f"have as many tiles as the first, {len(self.rows[0])}, not {len(row)}")
            if len(row) > MOST:
                raise LayoutError(f"line {number}, column {MOST + 1}: a row must have at most "
                                  f"{MOST} tiles, not {len(row)}")
            if number > MOST:
                raise LayoutError(f"line {number}, column 1: a layout must have at most {MOST} "
                                  f"rows, not {len(self.rows)}")

    @property
    def height(self) -> int:
        """Rows."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """Columns."""
        return len(self.rows[0])

    def kind(self, tile: tuple[int, int]) -> Kind | None:
        """What is at (row, column); None: it is outside of the grid."""
        row, column = tile
        if 0 <= row < self.height and 0 <= column < self.width:
            return Kind(self.rows[row][column])
        return None

    def tiles(self, *kinds: Kind) -> list[tuple[int, int]]:
        """All tiles of these kinds, or all tiles, row by row."""
        return [(row, column) for row, kept in enumerate(self.rows)
                for column, character in enumerate(kept) if not kinds or Kind(character) in kinds]

    def __str__(self) -> str:
        return "\n".join(self.rows)


def parse_layout(text: str) -> Layout:
    """The layout that a text describes: a line for each row, between them only comments (``#``) and
    empty lines before the first and after the last. Raises `LayoutError`.
    """
    rows: list[str] = []
    numbers: list[int] = []
    ended = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r \t")
        if line.startswith("#"):
            continue
        if not line:
            ended = number if rows and not ended else ended
            continue
        if ended:
            raise LayoutError(f"line {ended}, column 1: a row must not be empty")
        rows.append(line)
        numbers.append(number)
        if len(rows) > MOST:
            raise LayoutError(f"line {number}, column 1: a layout must have at most {MOST} rows")
    try:
        return Layout(tuple(rows))
    except LayoutError as error:
        said = str(error)
        if said.startswith("line "):  # of the rows; here, of the text
            word, _, rest = said.removeprefix("line ").partition(",")
            said = f"line {numbers[int(word) - 1]},{rest}"
        raise LayoutError(said) from None
