"""The command line for DRAM requests."""

import functools
import json
from pathlib import Path

import pytest

from cyclebound.golden.dram import index_bounds
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.sim.cli import dram as cli_dram

pytestmark = pytest.mark.system


@pytest.fixture
def cyclebound(call):
    """The command in this process: what is tested here is what it says of requests."""
    return call


def test_a_tile_command_by_command(cyclebound):
    done = cyclebound("dram", "tile", "--address", "0x3f00", "--words", "128", "--write", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["issue_delay"] == 126  # the worst that eight bursts can do, where Eq. 15 has 127
    assert found["bounds"] == {"tile_issue_delay": 126, "eq15": 127}
    assert found["bursts"] == list(range(252, 260))
    assert [c["command"] for c in found["commands"]].count("ACT") == 4
    assert found["commands"][-1] == {"cycle": 92, "command": "PRE", "bank": 2, "bank_group": 0,
                                     "row": 0, "column": 0}


def test_the_paper_is_exceeded_where_the_errata_say_so(cyclebound):
    done = cyclebound("dram", "tile", "--part", "ddr4-3200aa-x8", "--words", "128", "--write")
    assert done.returncode == 0, done.stderr
    assert "issue delay: 116 cycles" in done.stdout
    assert "bound tile_issue_delay: 116\n" in done.stdout
    assert "bound eq15: 112 - exceeded" in done.stdout


def test_an_indexed_request(cyclebound):
    done = cyclebound("dram", "indexed", "0", "16384", "32768", "49152", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["issue_delay"] == 296  # four rows of one bank, nRC after each other
    assert [c["row"] for c in found["commands"] if c["command"] == "ACT"] == [0, 1, 2, 3]


def test_the_worst_of_all_alignments(cyclebound):
    done = cyclebound("dram", "worst", "16")
    assert done.returncode == 0, done.stderr
    assert "read of 16 bursts takes 126 cycles at most" in done.stdout
    assert done.stdout.endswith(" (50.8 % of the data bus)\n")


def test_what_4_kib_use_of_the_data_bus(cyclebound):
    done = cyclebound("dram", "worst", "64", "--mean")
    assert done.returncode == 0, done.stderr
    assert "takes 318 cycles at most, first from byte " in done.stdout
    assert done.stdout.endswith(" (80.5 % of the data bus), 316.02 on average "
                                "(81.0 % of the data bus)\n")


def test_what_any_4_kib_use_of_the_data_bus(cyclebound):
    """That begin with a burst, or at any word; and with refreshes."""
    done = cyclebound("dram", "use", "1024")
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines()
            if line.startswith("│")]
    assert rows == [["read", "with a burst", "64", "318", "80.5 %", "76.9 %", "83.1 %"],
                    ["read", "anywhere", "65", "325", "78.8 %", "75.2 %", "82.1 %"],
                    ["write", "with a burst", "64", "350", "73.1 %", "69.9 %", "75.3 %"],
                    ["write", "anywhere", "65", "357", "71.7 %", "68.5 %", "74.4 %"]]


def test_up_to_which_size_a_buffer_is_better_streamed(cyclebound):
    """The last size at which a tile takes no longer than a row cycle for each of 24 words."""
    done = cyclebound("dram", "crossover", "--words", "24")
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines()
            if line.startswith("│")]
    part = "ddr4-3200aa-x16"
    assert [row[:3] for row in rows] == [
        [transfer, name, f"{24 * cycle:,} clocks"]
        for transfer, cycle in (("read", 74), ("write", 88)) for name in ("Eq. 15, 16", "ours")]
    for write, row in enumerate(rows[1::2]):
        bursts = int(row[3])
        delay = functools.partial(tile_issue_delay.function, part=part, write=write)
        assert delay(bursts=bursts) <= 24 * (74, 88)[write] < delay(bursts=bursts + 1)
        assert row[4] == f"{bursts / (1 << 14):.3f}"


def test_lines_and_their_bound(cyclebound):
    done = cyclebound("dram", "tile", "-p", "ddr3-1600-module", "--address", "64788", "--words",
                      "190", "--period", "16384", "--count", "9", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["issue_delay"] == 772
    assert found["bounds"] == {"tile_2d_issue_delay": 772}


def test_a_bound_that_takes_a_while_is_computed_if_asked_for(cyclebound):
    done = cyclebound("dram", "tile", "--words", "1000", "--period", "1001", "--count", "20",
                      "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bounds"] == {}
    assert done.stderr == "bound tile_2d_issue_delay: takes a while; --bound computes it\n"


def test_a_tile_of_a_buffer(cyclebound):
    """Lines 3 and 4 of a buffer of 64 words a line, from its column 16 on."""
    done = cyclebound("dram", "tile", "--address", "0x1000", "--buffer", "64x5", "--column", "16",
                      "--line", "3", "--words", "48", "--count", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bursts"] == [0x40 + 4 * line + burst for line in (3, 4)
                                                 for burst in (1, 2, 3)]


def test_an_adversary(cyclebound):
    done = cyclebound("dram", "adversary", "2", "2", "--steps", "50")
    assert done.returncode == 0, done.stderr
    assert "read of 2 words over 2 rows takes 83 cycles, bound 83; banks " in done.stdout


def test_an_adversary_that_exceeds_the_bound(monkeypatch, capsys):
    monkeypatch.setattr(index_bounds, "indexed_issue_delay", lambda **_: 82)
    assert cli_dram.adversary(2, 2, steps=50) == 1
    assert "takes 83 cycles, bound 82; banks " in capsys.readouterr().out


def test_a_burst_is_four_clocks(cyclebound, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "parts" / "ddr4-2400.toml").read_text()
    lines = ["nBURST = 2" if line.startswith("nBURST") else line for line in text.splitlines()]
    (tmp_path / "two.toml").write_text("\n".join(lines))
    done = cyclebound("dram", "worst", "16", "--part", "two.toml")
    assert done.returncode == 2
    assert done.stderr == ("cyclebound: two.toml: nBURST must be 4 clocks, for a burst is eight "
                           "beats at double data rate, not 2\n")


def test_the_longest(cyclebound):
    done = cyclebound("dram", "longest", "3", "4", "--write")
    assert done.returncode == 0, done.stderr
    assert "write of 3 words over 4 rows takes 108 cycles at most; banks " in done.stdout
    done = cyclebound("dram", "longest", "3", "4", "--write", "--least", "109")
    assert done.returncode == 0, done.stderr
    assert "write of 3 words over 4 rows takes 109 cycles (" in done.stdout


def test_parts(cyclebound):
    done = cyclebound("dram", "parts")
    assert done.returncode == 0, done.stderr
    assert "ddr4-3200aa-x8" in done.stdout
    done = cyclebound("dram", "parts", "ddr3-1600-module")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "nREFI" in line)
    assert "3124" in line
    assert "at most" in line
    assert "memory-composition, Table I" in line


def test_a_picture(cyclebound, tmp_path):
    done = cyclebound("dram", "tile", "--words", "64", "--picture", "tile.svg")
    assert done.returncode == 0, done.stderr
    assert "issue delay" in (tmp_path / "tile.svg").read_text()


@pytest.mark.parametrize(("words", "message"), [
    (("tile", "--words", "0"), "words must be from 1 to 1048575, not 0"),
    (("tile", "--words", "8", "--period", "7", "--count", "2"),
     "period must be at least the words of a line (8), not 7"),
    (("tile", "--address", "2"), "--address must be a multiple of 4, not 2"),
    (("tile", "--address", "here"), "--address takes a number of bytes, not 'here'"),
    (("tile", "--address", "0xfffffffc", "--words", "2"),
     "the tile must end by word 1073741824, not 1073741825"),
    (("tile", "--part", "ddr5"),
     ("part must be one of ddr4-3200aa-x16, ddr4-3200aa-x8, ddr4-1866m-x16, ddr3-1600-module, a "
      "speed bin such as ddr4-2400r-x16 (`cyclebound dram parts` lists them), or a file that ends "
      "in .toml, not 'ddr5'")),
    (("tile", "--part", "nowhere.toml"), "nowhere.toml: cannot be read: No such file or directory"),
    (("tile", "--picture", "tile.gif"),
     "--picture takes a file that ends in .svg, .png, .pdf, not tile.gif"),
    (("tile", "--buffer", "64"), "--buffer takes words and lines, as in 64x32, not '64'"),
    (("tile", "--line", "1"), "--column and --line need a --buffer"),
    (("tile", "--buffer", "64x2", "--column=-1"), "--column must be at least 0, not -1"),
    (("tile", "--buffer", "64x2", "--period", "65"),
     "the period of a buffer's tile must be its line (64), not 65"),
    (("tile", "--buffer", "64x2", "--words", "0"), "words must be from 1 to 1048575, not 0"),
    (("tile", "--buffer", "64x2", "--column", "1", "--words", "64"),
     "the tile must end by column 64, the end of its buffer's lines, not 65"),
    (("tile", "--buffer", "64x2", "--line", "1", "--words", "64", "--count", "2"),
     "the tile must end by line 2, the end of its buffer, not 3"),
    (("tile", "--address", "0xffffff00", "--buffer", "64x2", "--words", "64"),
     ("the request must end by byte 0x100000000, the end of DDR4-3200AA x16 (2 bank groups), "
      "not 0x100000100")),
    (("indexed", "--limit", "100", "99", "100"), "an index must be from 0 to 99, not 100"),
    (("indexed", "--", "-1"), "an index must be from 0 to 1048575, not -1"),
    (("indexed", "1048576"), "an index must be from 0 to 1048575, not 1048576"),
    (("tile", "--words", "1048575"),
     ("a request must take 8 nREFI (99840 cycles) at most, or a refresh is late, and 65535 bursts "
      "take 262140 at least")),
    (("adversary", "2", "9"), "rows must be from 1 to 8, not 9"),
    (("longest", "2", "9"), "rows must be from 1 to 8, not 9"),
    (("indexed", "--address", "0xfffffffc", "1"),
     ("the request must end by byte 0x100000000, the end of DDR4-3200AA x16 (2 bank groups), "
      "not 0x100000004")),
])
def test_bad_requests(cyclebound, words, message):
    done = cyclebound("dram", *words)
    assert done.returncode == 2
    assert done.stderr.strip() == f"cyclebound: {message}"
    assert done.stdout == ""
