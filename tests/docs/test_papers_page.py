"""The page about the papers: every figure and table is on it; `test_commands` runs its commands."""

import re

import pytest

from kit.pages import Page

QUOTING = Page("papers.md")
PAGE = QUOTING.text
PAPERS = {  # figures and tables of each, as they are numbered there
    "Sim-D": ([*range(1, 9)], [*range(1, 6)]),
    "memory-composition": ([*range(1, 9)], ["I", "II", "III", "IV"]),
    "SGMF": ([*range(1, 14)], [1, 2]),
    "SHMAC": (["1.1", *(f"2.{n}" for n in range(1, 9)), *(f"3.{n}" for n in range(1, 5)),
               *(f"4.{n}" for n in range(1, 16)), *(f"5.{n}" for n in range(1, 8)), "6.1", "6.2"],
              ["1.1", "2.1", "2.2", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3", "4.4", "5.1"]),
    "AI accelerators": (
        ["1.1", *(f"2.{n}" for n in range(1, 7)), *(f"4.{n}" for n in range(1, 10)),
         *(f"5.{n}" for n in range(1, 16)), "6.1"],
        ["2.1", "3.1", "4.1", "4.2", "4.3", *(f"5.{n}" for n in range(1, 5)),
         *(f"6.{n}" for n in range(1, 8))])}


def named(words):
    """The numbers in the first cell of a row, such as ``Figures 1 to 3, 5; Table I``."""
    found = set()
    for kind, numbers in re.findall(r"(Figure|Table)s? ([^;]*)", words):
        for part in re.split(r", | and ", numbers):
            first, _, last = part.partition(" to ")
            if not last:
                found.add((kind, first))
                continue
            chapter, low, high = ("", first, last)
            if "." in first:
                (chapter, low), high = first.split("."), last.split(".")[1]
                chapter += "."
            found |= {(kind, f"{chapter}{n}") for n in range(int(low), int(high) + 1)}
    return found


@pytest.mark.unit
def test_every_figure_and_table_is_on_the_page():
    *parts, equations, left, departures = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert equations.startswith("Equations")
    assert left.startswith("What the papers leave")
    assert departures.startswith("Departures")
    sections = dict(zip(PAPERS, parts, strict=True))
    for paper, (figures, tables) in PAPERS.items():
        assert sections[paper].startswith(paper)
        rows = re.findall(r"^\| ((?:Figure|Table)[^|]*) \| (.*) \|$", sections[paper],
                          re.MULTILINE)
        spoken = [shown for words, _ in rows for shown in named(words)]
        assert len(spoken) == len(set(spoken)), paper
        assert set(spoken) == {*(("Figure", str(n)) for n in figures),
                               *(("Table", str(n)) for n in tables)}, paper
        assert all(answer.strip() for _, answer in rows)


@pytest.mark.unit
def test_every_equation_and_example_is_on_the_page():
    section = re.search(r"^## Equations.*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)[0]
    tables = {head: re.findall(r"^\| ((?:Eq\.|Example|Algorithm) [^|]*) \|", rows, re.MULTILINE)
              for head, rows in re.findall(r"^\| ([\w -]+) \| here \|\n((?:\|.*\n)*)", section,
                                           re.MULTILINE)}
    spoken = {head: [number for words in cells for _, number in named(re.sub(
        r"(?:Eq\.|Example|Algorithm) ", "Table ", words))] for head, cells in tables.items()}
    chapter_2 = [f"2.{n}" for n in range(1, 22)]
    assert spoken == {
        "Sim-D": _any_order(spoken["Sim-D"], [str(n) for n in range(1, 20)]),
        "memory-composition": _any_order(spoken["memory-composition"],
                                         [*map(str, range(1, 8)), *"1234"]),
        "thesis on AI accelerators": _any_order(
            spoken["thesis on AI accelerators"],
            [*chapter_2, *(f"5.{n}" for n in range(1, 7)), "1", "2"]),
        "SHMAC": ["4.1"]}


def _any_order(found, numbers):
    """What was found, if it is these numbers; else these numbers."""
    return found if sorted(found) == sorted(numbers) else numbers


@pytest.mark.unit
def test_each_block_of_commands_says_how_long_it_takes():
    assert len(QUOTING.commands()) > 10
    assert all(lines for _, lines in QUOTING.commands())
    blocks = len(re.findall(r"^```console", PAGE, re.MULTILINE))
    assert len(re.findall(r"^```\n\n\d[\d.,]* s of processor time", PAGE,
                          re.MULTILINE)) == blocks
