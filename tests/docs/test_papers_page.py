"""The page about the papers: every command prints what the page quotes of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text()
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


def commands():
    """Each command of the page with the lines that it prints."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.strip() != "...":
                found[-1][1].append(" ".join(line.split()))
    return found


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
    sections = dict(zip(PAPERS, re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:], strict=True))
    for paper, (figures, tables) in PAPERS.items():
        assert sections[paper].startswith(paper)
        rows = re.findall(r"^\| ((?:Figure|Table)[^|]*) \| (.*) \|$", sections[paper],
                          re.MULTILINE)
        spoken = [each for words, _ in rows for each in named(words)]
        assert len(spoken) == len(set(spoken)), paper
        assert set(spoken) == {*(("Figure", str(n)) for n in figures),
                               *(("Table", str(n)) for n in tables)}, paper
        assert all(answer.strip() for _, answer in rows)


@pytest.mark.unit
def test_each_block_of_commands_says_how_long_it_takes():
    assert len(commands()) > 10
    assert all(lines for _, lines in commands())
    blocks = len(re.findall(r"^```console", PAGE, re.MULTILINE))
    assert len(re.findall(r"^```\n\n\d[\d.,]* s of processor time", PAGE,
                          re.MULTILINE)) == blocks


@pytest.mark.system
@pytest.mark.thorough
@pytest.mark.parametrize(("command", "lines"), commands(), ids=[each for each, _ in commands()])
def test_command(tmp_path, command, lines):
    environment = {**os.environ, "COLUMNS": "200",
                   "PATH": os.pathsep.join([str(Path(sys.executable).parent),
                                            os.environ["PATH"]])}
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    said = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
    for line in lines:  # verdicts come in the order in which simulations end
        assert line in said, f"not printed: {line}\n{done.stdout[-4000:]}"
        said.remove(line)
