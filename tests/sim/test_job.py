"""A job: what a failed test said, in a line, and what an earlier run of it left."""

import pytest

from cyclebound.sim import catalogue, job
from cyclebound.sim.errors import UserError
from cyclebound.sim.job import Job, reason_of, simulate

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
    left = [tmp_path / name for name in ("observed-0.npz", "stages.json")]
    for file in left:
        file.write_text("[]")
    with pytest.raises(UserError, match="no further"):
        simulate(catalogue.load().find("noc.end_to_end"),
                 Job("noc.end_to_end", "paper", "cycle", 1, str(tmp_path)))
    assert not any(file.exists() for file in left)
