"""Do the testbenches of what surrounds the arrays find faults? Each mutant has to fail."""

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, simulate

from ..sim.mutants import Mutant, component_of, with_fault

LIMIT = 30_000  # cycles of a test

MUTANTS = (
    Mutant("systolic.post_processing", "halves rounded down",
           "shifted[1:].as_signed() + shifted[0])", "shifted[1:].as_signed())"),
    Mutant("systolic.im2col", "padding on the right read as pixels",
           "(self._room > i)", "(self._room >= i)"),
    Mutant("systolic.max_pooling", "windows remember the image above",
           "begins.eq(inner_y == 0)", "begins.eq(y == 0)"),
    Mutant("systolic.overlapped_output", "folds end too early",
           "m.d.sync += to_wait.eq(self.rows - 1)", "m.d.sync += to_wait.eq(self.rows - 2)"),
    Mutant("systolic.row_stationary", "sum of the row below lost",
           "self.total.eq(now + self.below)", "self.total.eq(now)"),
    Mutant("systolic.no_local_reuse", "sum carried too late",
           "for number in range(levels + 1):", "for number in range(levels + 2):"),
    Mutant("systolic.float_weight_stationary", "a row too many under way",
           "(under_way != self.room)", "(under_way != self.room + 1)"),
    Mutant("systolic.accelerator", "waits for transfers only",
           "engine.command.ready & ~transferring,", "~transferring,"),
)
CONFIGURATIONS = {"systolic.row_stationary": "2x3x2"}


def run(mutant, folder):
    """The per-cycle testbench on a small configuration: why it fails, or nothing."""
    block = with_fault(catalogue.load().find(mutant.block), mutant, watched=False, max_cycles=LIMIT)
    configuration, _ = block.configuration(CONFIGURATIONS.get(block.name))
    outcome = simulate(block, Job(block.name, configuration, "cycle", 0, str(folder),
                                  wall_limit=240))
    assert "Traceback" not in outcome.reason
    verdicts = judge(block, configuration, [(outcome.name, group) for group in outcome.groups])
    return outcome.reason + "".join(row.verdict for row in verdicts if row.failed)


@pytest.mark.unit
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_edit_fits_the_rtl(mutant):
    assert component_of(catalogue.load().find(mutant.block), mutant) is not None


@pytest.mark.cosim
@pytest.mark.parametrize("mutant", [
    MUTANTS[1], *(pytest.param(mutant, marks=pytest.mark.thorough)
                  for mutant in (MUTANTS[0], *MUTANTS[2:]))], ids=str)
def test_the_testbench_finds(tmp_path, mutant):
    assert run(mutant, tmp_path)
