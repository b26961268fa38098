"""One result of a ``cyclebound gpu`` command: printed in the terminal, or written as an HTML page.

A page has sentences, tables and figures. What is on the screen and what is in the file is the same.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.lazy import lazily
from cyclebound.sim.base.shape import cleaned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

with lazily():
    import jinja2 as jinja

__all__ = ["Grid", "Page"]

_TEMPLATE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{ page.title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } caption { text-align: left; font-weight: 600 }
th, td { border-bottom: 1px solid #ccc; padding: .2rem .7rem; text-align: left; vertical-align: top}
td.number { text-align: right; font-variant-numeric: tabular-nums } svg { max-width: 100% }
pre { white-space: pre-wrap }
</style>
<h1>{{ page.title }}</h1>
{% for sentence in page.sentences %}<p>{{ sentence }}</p>
{% endfor %}{% for figure in figures %}{{ figure }}
{% endfor %}{% for grid in page.grids %}<table><caption>{{ grid.title }}</caption>
<thead><tr>{% for column in grid.columns %}<th>{{ column }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in grid.rows %}<tr>{% for cell in row %}\
<td{% if cell is number %} class="number"{% endif %}>{{ "" if cell is none else cell }}</td>\
{% endfor %}</tr>
{% endfor %}</tbody></table>
{% endfor %}</html>
"""


@dataclass(frozen=True)
class Grid:
    """A table: cells are text, numbers or None."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass
class Page:
    """The result of a command: sentences, tables and figures."""

    title: str
    sentences: list[str] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    figures: list["Figure"] = field(default_factory=list)

    def show(self, screen: Console) -> None:
        """Print it; figures are left out."""
        for grid in self.grids:
            table = Table(title=grid.title, title_justify="left")
            for number, column in enumerate(grid.columns):
                numeric = any(isinstance(row[number], int | float) for row in grid.rows)
                table.add_column(column, overflow="fold", justify="right" if numeric else "left")
            for row in grid.rows:
                table.add_row(*(_text(cell) for cell in row))
            screen.print(table)
        for sentence in self.sentences:
            screen.print(sentence, highlight=False, soft_wrap=True)

    def write(self, path: Path) -> None:
        """Write one HTML file that needs no other. Raises `UserError`."""
        # figures are this project's own SVG; every text is escaped
        template = jinja.Environment(autoescape=True).from_string(_TEMPLATE)
        text = template.render(page=self, figures=[_svg(figure) for figure in self.figures])
        try:
            path.write_text(cleaned(text), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None


def _text(cell: object) -> str:
    if cell is None:
        return ""
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def _svg(figure: "Figure") -> object:
    from markupsafe import Markup

    from cyclebound.sim.drawing.drawing import save

    target = io.StringIO()
    save(figure, target, ".svg")
    text = target.getvalue()
    return Markup(text[text.index("<svg"):])
