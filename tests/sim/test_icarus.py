"""Icarus Verilog as a second opinion: the same testbenches, the same verdict."""


import pytest

from cyclebound.sim.run.job import Job, run_job
from kit.icarus import has_icarus

pytestmark = pytest.mark.cosim


@pytest.mark.parametrize(("block", "configuration"), [
    ("noc.arbiter", "four"),
    pytest.param("sram.banked_memory", "tiny", marks=pytest.mark.thorough),
    pytest.param("systolic.output_stationary", "3x3", marks=pytest.mark.thorough)])
def test_sees_what_verilator_sees(block, configuration, tmp_path):
    if not has_icarus():
        pytest.skip("iverilog is not installed")
    seen = {}
    for simulator in ("icarus", "verilator"):
        outcome = run_job(Job(block, configuration, "cycle", 1, str(tmp_path / simulator),
                              simulator=simulator))
        assert outcome.passed, f"{simulator}: {outcome.reason}"
        assert outcome.compared > 1000
        seen[simulator] = outcome.groups
    assert seen["icarus"] == seen["verilator"]
