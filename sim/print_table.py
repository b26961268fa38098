"""A table where there is room for one, else the same as a list."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["LEAST_COLUMNS", "print_table"]

LEAST_COLUMNS = 100
"""Characters of a line below which a table that does not fit would be cut into pieces."""


def print_table(table: Table, console: Console) -> None:
    """Print a table; if it does not fit a narrow console, each row as a paragraph.

    A paragraph has a line for each cell; of a table without a header, which has two columns, it is
    one line.
    """
    unfolded = console.measure(table, options=console.options.update(max_width=10_000)).maximum
    if console.width >= LEAST_COLUMNS or unfolded <= console.width:
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
        for column, cell in zip(table.columns[1:], others, strict=True):
            text = _text(cell, console)
            if text.plain.strip():
                console.print(Padding(Text.assemble(f"{column.header}: ", text), (0, 0, 0, 2)))
    if table.caption:
        console.print(table.caption, style="italic")


def _text(cell: object, console: Console) -> Text:
    """A cell as the console would print it in a table."""
    return cell if isinstance(cell, Text) else console.render_str(str(cell), highlight=False)
