"""``cyclebound noc``: allocations found, checked, drawn; and users' mistakes."""

import json
import os
import random
import re
import signal
import threading

import pytest

from cyclebound.golden.noc.execution_model_check import faults
from cyclebound.tools.noc.allocate import optimum
from cyclebound.tools.noc.drawn_systems import drawn
from cyclebound.tools.noc.system_file import SYSTEM_EXAMPLE

pytestmark = pytest.mark.system

SMALL = """
[[application]]
name = "a"
tile = [0, 0]

[[application.transaction]]
name = "w"
bytes = 512
direction = "write"
period = 8192

[[application]]
name = "b"
tile = [0, 1]

[[application.transaction]]
name = "r"
bytes = 256
direction = "read"
period = 8192
deadline = 6000
"""


def test_an_allocation_is_found_written_and_checked(call, tmp_path):
    (tmp_path / "s.toml").write_text(SMALL)
    said = call("noc", "allocate", "s.toml", "-o", "t.toml", "--picture", "t.svg", "--html",
                "t.html", "--json")
    assert (said.returncode, said.stderr) == (0, "")
    data = json.loads(said.stdout)
    assert data["faults"] == []
    assert [row["name"] for row in data["transaction"]] == ["w", "r"]
    ratio = max(row["bound"] / row["deadline"] for row in data["transaction"])
    assert data["summary"]["greatest_ratio"] == pytest.approx(ratio, abs=1e-5)
    assert "<svg" in (tmp_path / "t.svg").read_text()
    assert "N_req" in (tmp_path / "t.html").read_text()

    again = call("noc", "allocate", "s.toml", "--check", "t.toml")
    assert again.returncode == 0
    assert "Checked: 16 slots, 2 bounds, 2 windows." in again.stdout
    table = (tmp_path / "t.toml").read_text()
    bound = data["transaction"][0]["bound"]
    (tmp_path / "t.toml").write_text(table.replace(f"bound = {bound}", f"bound = {bound - 1}"))
    broken = call("noc", "allocate", "s.toml", "--check", "t.toml")
    assert broken.returncode == 1
    assert f"the bound of a.w is {bound} cycles, not {bound - 1}" in broken.stdout


def test_the_example_is_a_start(call, tmp_path):
    said = call("noc", "allocate", "example", "--show")
    assert (said.returncode, said.stdout) == (0, SYSTEM_EXAMPLE)


@pytest.mark.parametrize(("change", "message"), [
    (("8192\ndeadline = 6000", "8193"), r"periods of a\.w and b\.r must have a common divisor"),
    (("bytes = 512", "bytes = 512\nsize = 3"), r"line \d+: application\.1\.transaction\.1\.size m"),
    (("deadline = 6000", "deadline = 60"), r"deadline of b\.r must be at least \d+, its bound"),
    (("[0, 1]", "[0, 2]"), "application b must be on a tile with local memory"),
    (("[0, 1]", "[0]"), "line 14: application.2.tile must be a row and a column"),
])
def test_a_mistake_is_one_line(call, tmp_path, change, message):
    (tmp_path / "s.toml").write_text(SMALL.replace(*change))
    said = call("noc", "allocate", "s.toml")
    assert said.returncode == 2
    assert said.stderr.count("\n") == 1

    assert re.match(rf"cyclebound: s\.toml: {message}", said.stderr), said.stderr


def test_files_of_other_formats_are_refused(call):
    for words in (("-o", "t.json"), ("--check", "t.txt"), ("--picture", "t.gif")):
        said = call("noc", "allocate", "example", *words)
        assert said.returncode == 2
        assert "takes a file that ends in" in said.stderr


def test_no_allocation_is_status_1(call, tmp_path):
    (tmp_path / "s.toml").write_text(SMALL.replace("[0, 1]", "[0, 0]").replace(
        '"read"', '"write"').replace("period = 8192", "period = 1024").replace(
            "\ndeadline = 6000", "").replace("bytes = 256", "bytes = 512"))
    said = call("noc", "allocate", "s.toml")
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.startswith("cyclebound: no table exists for a.w, b.r: no two of them may be "
                                  "under way at a time")


def test_compare(call):
    said = call("noc", "compare", "-n", "2", "--applications", "3", "--seconds", "20")
    assert said.returncode == 0
    assert "2 systems: 2 have an allocation" in said.stdout


@pytest.mark.thorough
def test_an_interrupt_ends_with_the_best_so_far():
    """A system that takes a minute; Ctrl-C once there is an allocation."""
    rng = random.Random(1)
    system = [drawn(rng) for _ in range(2)][-1]
    told = []

    def first(ratio, least):
        if not told:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        told.append(ratio)

    found = optimum(system, seconds=120, progress=first)
    assert told
    assert not found.optimal
    assert found.least < float(found.allocation.ratio(system))
    assert faults(system, found.allocation) == []
