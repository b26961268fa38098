"""A job: what a failed test said, in a line, and what an earlier run of it left."""

import json

import pytest

from cyclebound.sim import catalogue, job
from cyclebound.sim.errors import UserError
from cyclebound.sim.job import Job, outcome_of, reason_of, simulate

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("said", "line"), [
    ("", "failed"),
    ("out: cycle 3: done is 0, expected 1", "out: cycle 3: done is 0, expected 1"),
    ("Traceback ...\n  File ...\nKeyError: 'x'", "KeyError: 'x'"),
    ("lane 3: (1, 0)\nassert (1, 0) == (1, 1)\n  At index 1 diff", "lane 3: (1, 0)"),
    ("assert 3 == 4\n +  where 3 = f()", "assert 3 == 4"),
])
def test_reason_of_a_failure(said, line):
    assert reason_of(said) == line


def test_what_an_earlier_run_left_is_not_taken_for_this_ones(monkeypatch, tmp_path):
    def design(*_):
        raise UserError("no further")

    monkeypatch.setattr(job, "design", design)
    left = [tmp_path / name for name in ("observed-0.json", "stages.json")]
    for file in left:
        file.write_text("[]")
    with pytest.raises(UserError, match="no further"):
        simulate(catalogue.load().find("noc.end_to_end"),
                 Job("noc.end_to_end", "paper", "cycle", 1, str(tmp_path)))
    assert not any(file.exists() for file in left)


@pytest.mark.parametrize(("observes", "compared", "reason"), [
    (True, 5, "0 requests observed"), (True, 0, "0 requests observed"),
    (False, 5, ""), (False, 0, "0 cycles compared")])
def test_a_run_that_saw_nothing_has_failed(tmp_path, observes, compared, reason):
    """A testbench that only compares has to have compared something."""
    (tmp_path / "job.json").write_text(json.dumps({"observes": observes, "printed": []}))
    for name in ("probes.txt", "log.txt"):
        (tmp_path / name).touch()
    (tmp_path / "cocotb.xml").write_text("<s><testcase name='t'/></s>")
    (tmp_path / "observed-t.json").write_text(json.dumps({
        "test": "t", "start": 0, "end": 9, "shift": 0, "resets": [], "said": [],
        "compared": compared, "cycles": 9}))
    found = outcome_of(Job("noc.arbiter", "four", "cycle", 1, str(tmp_path)), tmp_path, 0)
    assert (found.passed, found.reason) == (not reason, reason)
