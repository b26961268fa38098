"""Brings docs/results.md up to date from runs: what is replaced, kept, and refused."""

import contextlib
import dataclasses
import shutil
from pathlib import Path

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.regression import regress
from cyclebound.sim.regression.plan import Plan
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.table import read
from cyclebound.sim.run.job import Group, Job, Outcome
from cyclebound.tools.maintenance import results_page
from cyclebound.tools.maintenance.results_page import main, updated

pytestmark = pytest.mark.unit
PAGE = Path(__file__).parents[2] / "docs" / "results.md"
PLACE = "noc.arbiter", "four"


def a_run(folder, level, **options):
    """Results of the arbiter, in which its simulation made 123 requests."""
    plan = Plan([catalogue.load().find("noc.arbiter")], Path("run"), level=level)
    job = Job(*PLACE, "cycle", 1, "")
    with contextlib.closing(Results(folder, create=True)) as results:
        results.note(seed=1, level=level, jobs=1, planned=[job.name], created="2031-02-03T04:05:06",
                     commit="abcdef", options={**plan.options, "proofs": True, **options})
        results.finished(job, Outcome(
            job.name, True, groups=[Group("grant", {"requesters": 4}, 4, 123, 0, 3, "")],
            compared=9, bits=36, cycles=4567, tests=[("one", True)]), "", "1234abcd")
        regress.judge_places(dataclasses.replace(plan, proofs=False), [PLACE], results)
    return read(folder)


def lines(page, *words):
    return [line for line in page.splitlines() if all(word in line for word in words)]


def test_a_block_of_the_full_level_is_replaced_and_all_else_stays(tmp_path):
    before = PAGE.read_text()
    run = a_run(tmp_path / "run", "full")
    after = updated(before, run)
    assert lines(after, "2031-02-03") == [
        "| `noc.arbiter` | 1 | 0 | 4,567 | 0.0 | 2031-02-03 | abcdef |"]
    quick, full = after.split("\n## The full level\n")
    assert quick == before.split("\n## The full level\n")[0]
    assert lines(full, "`noc.arbiter` | four | grant: `round_robin_wait` | 123 | 4 | 4 |")
    assert len(lines(full, "`noc.arbiter`")) == 2
    others = [line for line in before.splitlines() if "`noc.arbiter`" not in line]
    assert [line for line in after.splitlines() if "`noc.arbiter`" not in line] == others
    assert updated(after, run) == after


def test_a_block_that_never_ran_is_on_the_page(tmp_path):
    block = "`sram.banked_memory`"
    before = "\n".join(line for line in PAGE.read_text().splitlines() if block not in line) + "\n"
    after = updated(before, a_run(tmp_path / "run", "full"))
    assert lines(after, block) == [f"| {block} | - | - | - | - | not yet | - |"]


def test_no_block_is_left_out():
    full = PAGE.read_text().split("\n## The full level\n")[1]
    rows = results_page._rows(full, "### Runs of the full level")
    assert [results_page._block(row).strip("`") for row in rows[2:]] == [
        block.name for block in catalogue.load()]


@pytest.mark.parametrize(("level", "options", "why"), [
    ("quick", {}, "is not all of the quick level: dataflow.cache/tiny/cycle/1 is not in it"),
    ("full", {"configurations": ["four"]}, "is no whole level: it has its own configurations"),
    ("full", {"proofs": False}, "is no whole level: it has its own proofs")])
def test_a_part_is_refused(level, options, why, tmp_path, monkeypatch, capsys):
    copy = tmp_path / "results.md"
    shutil.copy(PAGE, copy)
    monkeypatch.setattr(results_page, "_PAGE", copy)
    run = a_run(tmp_path / "run", level, **options)
    with pytest.raises(UserError, match=why):
        updated(PAGE.read_text(), run)
    assert main([str(run.folder)]) == 2
    assert why in capsys.readouterr().err
    assert copy.read_bytes() == PAGE.read_bytes()
