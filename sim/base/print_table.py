"""A table where there is room for one, else the same as a list."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["LEAST_COLUMNS", "print_table"]

LEAST_COLUMNS = 100
"""Characters of a line below which a table that does not fit would be cut into pieces."""

_SHORT = 40  # characters of a cell that shares a line of a paragraph with others
_WORD = 12  # characters at which a word of a cell that may fold is broken at the earliest


def print_table(table: Table, console: Console) -> None:
    """Print a table; if it does not fit the console, each row as a paragraph.

    A table does not fit where it is wider than a narrow console, or where any console would cut
    off a cell. A paragraph has a line for each long cell, and short cells side by side; of a table
    without a header, which has two columns, it is one line.
    """
    unfolded = console.measure(table, options=console.options.update(max_width=10_000)).maximum
    if unfolded <= console.width or (
            console.width >= LEAST_COLUMNS and _least(table, console) <= console.width):
        console.print(table)
        return
    if table.title:
        console.print(table.title, style="italic")
    for first, *others in zip(*(column.cells for column in table.columns), strict=True):
        if not table.show_header:
            console.print(Text.assemble(_text(first, console), ": ",
                                        *(_text(cell, console) for cell in others)))
            continue
        console.print(first, style="bold")
        cells = [(str(column.header), _text(cell, console))
                 for column, cell in zip(table.columns[1:], others, strict=True)]
        for indent, line in _lines(cells, console.width - 2):
            console.print(Padding(line, (0, 0, 0, indent), expand=False))
    if table.caption:
        console.print(table.caption, style="italic")


def _least(table: Table, console: Console) -> int:
    """Characters that the table needs so that no cell is cut off and no short word is broken."""
    wide = console.options.update(max_width=10_000)
    total = 1
    for column in table.columns:
        cells = [_text(cell, console) for cell in (column.header, *column.cells)]
        sizes = [console.measure(cell, options=wide) for cell in cells]
        if column.no_wrap:
            least = max(size.maximum for size in sizes)
        else:
            least = max(size.minimum for size in sizes)
            least = min(least, _WORD) if column.overflow == "fold" else least
        total += max(least, column.min_width or 0) + 3  # a space on each side, and a rule
    return total


def _lines(cells: list[tuple[str, Text]], width: int) -> list[tuple[int, Text]]:
    """The cells of a paragraph, each with the name of its column, as indentation and text."""
    lines: list[tuple[int, Text]] = []
    room = 0  # characters that are left in the last line
    for name, text in cells:
        if not text.plain.strip():
            continue
        if "\n" in text.plain:  # a line each, below the name
            lines += [(2, Text(f"{name}:")), *((4, part) for part in text.split("\n"))]
            room = 0
            continue
        item = Text.assemble(f"{name}: ", text)
        if lines and 2 + len(item) <= room and len(item) <= _SHORT:
            lines[-1] = 2, Text.assemble(lines[-1][1], "; ", item)
            room -= 2 + len(item)
        else:
            lines.append((2, item))
            room = width - len(item) if len(item) <= _SHORT else 0
    return lines


def _text(cell: object, console: Console) -> Text:
    """A cell as the console would print it in a table."""
    return cell if isinstance(cell, Text) else console.render_str(str(cell), highlight=False)
