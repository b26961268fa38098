"""A table where there is room for one, else the same as a list."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["LEAST_COLUMNS", "print_table"]

LEAST_COLUMNS = 100
"""Characters of a line below which a table's columns would be cut into pieces."""


def print_table(table: Table, console: Console) -> None:
    """Print a table; on a narrow console each row as a paragraph, a line for each cell."""
    if console.width >= LEAST_COLUMNS:
        console.print(table)
        return
    if table.title:
        console.print(table.title, style="italic")
    for first, *others in zip(*(column.cells for column in table.columns), strict=True):
        console.print(first, style="bold")
        for column, cell in zip(table.columns[1:], others, strict=True):
            text = cell if isinstance(cell, Text) else Text(str(cell))
            if text.plain.strip():
                console.print(Padding(Text.assemble(f"{column.header}: ", text), (0, 0, 0, 2)))
    if table.caption:
        console.print(table.caption, style="italic")
