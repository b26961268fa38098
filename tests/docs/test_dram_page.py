"""The page about DRAM: its tables are what their commands print."""

import json
import re
from pathlib import Path

import pytest

from cyclebound.golden.dram import axi_bounds
from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.timing import PARTS
from kit.pages import Page, numbers

ROOT = Path(__file__).parents[2]
TEXT = Page("dram.md")
PAGE = TEXT.text
ROWS = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in PAGE.splitlines() if line.startswith("| ")]
ERRATA = [row for row in ROWS
          if len(row) == 6 and re.search("`cyclebound dram (tile|indexed)", row[2])]
BINS = [row for row in ROWS if re.match(r"DDR[34]-\d+[A-Z]+$", row[0])]
USE = [row for row in ROWS if len(row) == 8 and re.match(r"DDR4-3200AA x\d+$", row[0])]
pytestmark = pytest.mark.system


def last_number(text):
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
    assert found["issue_delay"] == last_number(reached)
    assert printed[f"{own}_issue_delay"] == last_number(ours)
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


@pytest.mark.unit
def test_parts():
    assert TEXT.says(f"{len(jedec_parts())} parts). A part of your own",
                     f"it covers the {len(jedec_parts())} bins")
    assert len(PARTS) == 4
    assert TEXT.says("lists four that the papers use")


@pytest.mark.unit
def test_the_port_for_axi4():
    """One transfer, and 4 KiB: 256 transfers in 64 bursts of DRAM."""
    part = PARTS["ddr4-3200aa-x16"]
    held = TEXT.rows("| bound, in DRAM clocks | formula |")
    right = TEXT.rows("| prediction, in DRAM clocks | formula |")
    for transfers, bursts, column in ((1, 1, 2), (256, 64, 3)):
        size = {"part": part, "transfers": transfers, "size": 4}
        assert [numbers(row[column])[0] for row in held] == [
            axi_bounds.axi_read(**size), axi_bounds.axi_write(**size, partial=0),
            axi_bounds.axi_write(**size, partial=1)]
        alone = {"part": part, "bursts": bursts, "first": 0}
        assert [numbers(row[column])[0] for row in right] == [
            axi_bounds.axi_read_alone(**alone, transfers=transfers),
            axi_bounds.axi_write_alone(**alone, partial=0),
            axi_bounds.axi_write_alone(**alone, partial=1)]
    assert TEXT.says(f"A refresh adds nRFC - {part.nRFC - axi_bounds.axi_refresh(part)} at most")


def mean_of(said):
    return re.search(r"(\d+\.\d+) on average", said)[1]


@pytest.mark.thorough
def test_the_mean_of_all_first_bursts(call):
    read, write = (call("dram", "worst", "64", "--mean", *words) for words in ((), ("--write",)))
    assert TEXT.says(f"({mean_of(read.stdout)} and {mean_of(write.stdout)} clocks;",
                     f"{25600 / float(mean_of(read.stdout)):.1f} % of reads and "
                     f"{25600 / float(mean_of(write.stdout)):.1f} % of writes on x16")


@pytest.mark.unit
def test_the_least_that_one_request_can_take():
    """A write of 64 bursts: its last word, and the recovery of its bank."""
    part = PARTS["ddr4-3200aa-x16"]
    rest = recovery(part, write=True)
    assert TEXT.says(f"written {part.nRCD} + 64 * {part.nBURST} clocks after the first activate, "
                     f"and its bank is closed {rest} clocks later",
                     f"can have more than {25600 / (part.nRCD + 64 * part.nBURST + rest):.1f} %")


def test_lines_that_no_closed_formula_had(call):
    done = json.loads(call("dram", *("tile -p ddr4-3200aa-x8 --address 60948 --words 284 "
                                     "--period 65504 --count 40 --json").split()).stdout)
    assert TEXT.says(f"take {done['issue_delay']:,} clocks, and its value was 5,194")


def test_a_tile_that_leaves_its_banks_early(call):
    """The 149 clocks on 8 columns are tests/dram/test_tile_search.py's."""
    done = json.loads(call("dram", *"tile --address 0x80 --words 128 --json".split()).stdout)
    assert TEXT.says(f"takes 149 clocks on x16 instead of {done['bounds']['tile_issue_delay']})")


@pytest.mark.unit
def test_refused_indexes():
    bound = indexed_issue_delay(part="ddr4-3200aa-x16", bursts=5, rows=2, write=0, refused=200)
    assert TEXT.says(f"take 281 clocks on x16, bound {bound} (`cyclebound bound")


def test_every_file_of_the_searches_has_a_row():
    listed = re.findall(r"^\| `(\w+/dram/\w+\.py)` \|", PAGE, re.MULTILINE)
    there = [path for pattern in ("golden/dram/tile_*.py", "golden/dram/worst_case.py",
                                  "golden/dram/index_*.py", "tools/dram/*.py")
             for path in ROOT.glob(pattern) if path.name != "__init__.py"]
    bounds = {"golden/dram/index_bounds.py", "golden/dram/index_iterator.py"}
    assert sorted(listed) == sorted({str(path.relative_to(ROOT)) for path in there} - bounds)
    assert all((ROOT / test).is_file() for test in re.findall(r"tests/dram/\w+\.py", PAGE))
