"""The page about DRAM: its tables are what their commands print."""

import json
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "dram.md").read_text()
ROWS = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in PAGE.splitlines() if line.startswith("| ")]
ERRATA = [row for row in ROWS
          if len(row) == 6 and re.search("`cyclebound dram (tile|indexed)", row[2])]
BINS = [row for row in ROWS if re.match(r"DDR[34]-\d+[A-Z]+$", row[0])]
USE = [row for row in ROWS if len(row) == 8 and re.match(r"DDR4-3200AA x\d+$", row[0])]
pytestmark = pytest.mark.system


def number(text):
    """The last number before a comma, such as that of "`tile_issue_delay` 126, every request"."""
    return int(re.findall(r"\b\d+\b", text.partition(",")[0])[-1])


def test_there_are_tables():
    assert (len(ERRATA), len(BINS), len(USE)) == (11, 45, 16)


@pytest.mark.parametrize("row", ERRATA, ids=[row[2] for row in ERRATA])
def test_errata(call, row):
    formula, _, command, says, reached, ours = row
    words = re.search("`cyclebound (.*?)`", command)[1].split()
    done = call(*words, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    printed, own = found["bounds"], "tile" if "tile" in words else "indexed"
    assert found["issue_delay"] == number(reached)
    assert printed[f"{own}_issue_delay"] == number(ours)
    if "," in says:  # not of this command
        assert re.fullmatch(r"104, by hand|126, of 16 bursts", says)
    else:
        assert printed[re.match(r"Eq\. (1[56])", formula)[0].lower().replace(". ", "")] == int(says)


def test_the_section_that_says_16_bursts(call):
    done = call(*"dram tile --words 256 --json".split())
    assert json.loads(done.stdout)["bounds"]["eq15"] == 126


def _cells(text):
    """Rows of a table on the terminal."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines()
            if line.startswith("│")]


@pytest.mark.thorough
def test_speed_bins(call):
    done = call("dram", "bins", "16")
    assert done.returncode == 0
    assert _cells(done.stdout) == BINS


def test_use_of_the_bus(call):
    found = []
    for part in ("ddr4-3200aa-x16", "ddr4-3200aa-x8"):
        for words, size in (("256", "1 KiB"), ("1024", "4 KiB")):
            done = call("dram", "use", words, "-p", part)
            found += [[f"DDR4-3200AA {part.rpartition('-')[2]}", f"{size} {kind}", *rest]
                      for kind, *rest in _cells(done.stdout)]
    assert found == USE
