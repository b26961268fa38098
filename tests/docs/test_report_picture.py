"""The picture of a report shows commands, signals and columns that there are."""

import re
import shlex
from pathlib import Path

import pytest
from docs.test_named_on_pages import wrong

from cyclebound.sim.catalogue import load
from cyclebound.tools.maintenance.report_picture import shown

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.unit,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


def stale(texts):
    """What the picture shows that is not there."""
    block = load().find("noc.arbiter")
    component = block.make(block.configurations["four"].parameters)
    known = {*block.signals, *component.signature.members, *vars(component)}
    for command in texts["commands"]:
        if problem := wrong(shlex.split(command)[1:]):
            yield f"{command}: {problem}"
    yield from (f"signal {name}" for name in texts["signals"] if name not in known)
    page = (ROOT / "sim" / "report" / "report.html").read_text()
    heads = re.findall(r"<th[^>]*>([^<]+)</th>", page)
    yield from (f"column {name}" for name in texts["columns"] if name not in heads)


def test_it_shows_what_there_is():
    texts = shown(ROOT / "docs" / "report.png")
    assert [len(texts[what]) > 1 for what in ("commands", "signals", "columns")] == [True] * 3
    assert list(stale(texts)) == []


def test_what_is_gone_is_named():
    assert list(stale({"commands": ["cyclebound run noc.arbiter --testbench gone"],
                       "signals": ["gone", "grant"], "columns": ["gone", "verdict"]})) == [
        "cyclebound run noc.arbiter --testbench gone: testbench gone", "signal gone",
        "column gone"]
