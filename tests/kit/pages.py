"""What the project's pages say: their sentences, tables and quoted commands, for tests of them.

A figure of a page is tested by one of three means: `Page.says` with the figure worked out anew,
`Page.rows` against what formulas or commands give, `Page.commands` (each quoted command with the
lines that it printed). What only a whole regression measures is on ``docs/results.md``, which is
made from a run; `results` has its rows, and other pages are held to them.
"""

import functools
import re
from fractions import Fraction
from pathlib import Path

__all__ = ["Page", "numbers", "results"]

_ROOT = Path(__file__).parents[2]


def _plain(text: str) -> str:
    """Words with one space between them."""
    return " ".join(text.split())


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class Page:
    """A page of the documentation, by its file's name: ``Page("noc.md")``, ``Page("README.md")``.

    Attributes
    ----------
    text : str
        The page as it is in the file.
    """

    def __init__(self, name: str) -> None:
        path = _ROOT / name if name == "README.md" else _ROOT / "docs" / name
        self.text = path.read_text()
        self._plain = _plain(self.text)

    def says(self, *sentences: str) -> bool:
        """The page has each of these, wherever its lines break. Else the test fails, naming it."""
        for sentence in sentences:
            assert _plain(sentence) in self._plain, f"not on the page: {_plain(sentence)}"
        return True

    def rows(self, head: str) -> list[list[str]]:
        """The cells of the table whose first line begins with ``head``, without its two heads."""
        lines = iter(self.text.splitlines())
        assert any(line.startswith(head) for line in lines), f"no table on the page: {head}"
        assert next(lines).startswith("| ---")
        found = []
        for line in lines:
            if not line.startswith("|"):
                break
            found.append(_cells(line))
        assert found, f"an empty table: {head}"
        return found

    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command of the page's ``console`` blocks with the lines that are quoted of it.

        A line of a block that begins with ``$`` is a command, ``...`` stands for lines left out,
        and the number of spaces between words does not count.
        """
        found: list[tuple[str, list[str]]] = []
        for block in re.findall(r"^```console\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                if line.startswith("$ "):
                    found.append((line[2:], []))
                elif line.strip() != "...":
                    found[-1][1].append(_plain(line))
        return found


def numbers(cell: str) -> list[Fraction]:
    """The numbers of a cell such as ``45,113.5``, ``32, 45`` or ``53 / 68 (21 / 27)``."""
    return [Fraction(number.replace(",", ""))
            for number in re.findall(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?", cell)]


@functools.cache
def results(level: str = "quick") -> dict[tuple[str, str, str], dict[str, str]]:
    """The rows of ``docs/results.md``: of the quick level's table of verdicts, or the ``full`` one.

    By block, configuration and request (``("noc.arbiter", "four", "grant")``); a row's cells by the
    names of their columns.
    """
    quick, full = Page("results.md").text.split("\n## The full level\n")
    lines = {"quick": quick, "full": full}[level].splitlines()
    start = next(number for number, line in enumerate(lines)
                 if line.startswith("| block | configuration |"))
    names = _cells(lines[start])
    found = {}
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        cells = _cells(line)
        request = cells[2].partition(":")[0]
        found[cells[0].strip("`"), cells[1], request] = dict(zip(names, cells, strict=True))
    return found
