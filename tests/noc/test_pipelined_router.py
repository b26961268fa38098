"""The pipelined router: its testbench (all else is in test_handshake_router.py)."""

import pytest

from cyclebound.sim.run.job import Job, run_job


@pytest.mark.cosim
@pytest.mark.thorough
def test_testbench_watched_by_the_checker_passes(tmp_path):
    outcome = run_job(Job("noc.pipelined_router", "thesis", "cycle", 1, str(tmp_path)))
    assert outcome.passed, outcome.reason
    assert {group.what for group in outcome.groups} == {"hop"}

