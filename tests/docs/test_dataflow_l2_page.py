"""The page about the second-level cache: its figures are those of the formulas and of the search.
"""

import re

import pytest

from cyclebound.golden.dataflow import l2_bounds as bounds
from cyclebound.golden.dataflow.line_cache_bounds import line_miss
from cyclebound.sim.catalogue import load
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tb.dataflow.l2_search import MEMORIES
from kit.pages import Page

PAGE = Page("dataflow-l2.md")
CONFIGURATIONS = load().find("dataflow.l2").configurations
TURN, LATENCY = MEMORIES[-1]
ROWS = {row[0].strip("`"): row[1:] for row in PAGE.rows("| configuration | cores, banks, channels")}


def known(name):
    return {**CONFIGURATIONS[name].parameters, "turn": TURN, "latency": LATENCY}


@pytest.mark.unit
def test_bounds_of_the_table():
    assert PAGE.says(f"above memories of `turn` {TURN} and `latency` {LATENCY}")
    assert len(ROWS) == 3
    for name, (sizes, slowest, allowed) in ROWS.items():
        p = known(name)
        assert sizes == f"{p['ports']}, {p['banks']}, {p['channels']}"
        assert int(allowed) == bounds.l2_read.of(p)
        assert int(slowest) <= int(allowed)


@pytest.mark.unit
def test_the_example():
    assert PAGE.says("a miss with nothing else under way 3 + 9 + 4 = "
                     f"{line_miss(turn=TURN, latency=LATENCY)}",
                     f"it is {bounds.l2_read.of(known('tiny'))} at most")


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("name", ROWS)
def test_what_the_search_finds(tmp_path, name):
    outcome = run_job(Job("dataflow.l2", name, "search", 1, str(tmp_path), wall_limit=3600))
    assert outcome.passed, outcome.reason
    found = re.findall(r"turn (\d+), latency (\d+): a read took (\d+) cycles",
                       (tmp_path / "log.txt").read_text())
    assert [(int(turn), int(latency)) for turn, latency, _ in found] == [*MEMORIES]
    assert found[-1][2] == ROWS[name][1]
