"""The tests of a block's hand-written mutants: the edits fit, and its testbench finds each."""

from collections.abc import Callable, Sequence

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.describe.block import Block
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, Outcome, simulate

from .mutants import Mutant, component_of, run_mutant, with_fault

_LIMIT = 30_000  # cycles of a test


def _said(block: Block, configuration: str, outcome: Outcome) -> str:
    """Why a run has failed, or nothing."""
    assert "Traceback" not in outcome.reason
    verdicts = judge(block, configuration, [(outcome.name, group) for group in outcome.groups])
    return outcome.reason + "".join(row.verdict for row in verdicts if row.failed)


def _fits(mutants: Sequence[Mutant]) -> Callable:
    @pytest.mark.unit
    @pytest.mark.parametrize("mutant", mutants, ids=str)
    def fits(mutant):
        assert component_of(catalogue.load().find(mutant.block), mutant) is not None
    return fits


def mutant_tests(mutants: Sequence[Mutant], *, quick: int) -> tuple[Callable, Callable]:
    """Tests for a module to name; so many ``quick`` mutants are simulated in any level."""

    @pytest.mark.cosim
    @pytest.mark.parametrize("mutant", [
        *mutants[:quick], *(pytest.param(mutant, marks=pytest.mark.thorough)
                            for mutant in mutants[quick:])], ids=str)
    def finds(tmp_path, mutant):
        block = with_fault(catalogue.load().find(mutant.block), mutant, watched=False,
                           max_cycles=_LIMIT)
        configuration, _ = block.configuration(mutant.configuration)
        assert _said(block, configuration, simulate(block, Job(
            block.name, configuration, "cycle", 0, str(tmp_path), wall_limit=240)))

    return _fits(mutants), finds


def mutants_together(mutants: Sequence[Mutant]) -> tuple[Callable, Callable]:
    """The same of mutants in one simulator; the block without a fault passes in it.

    None is simulated in the quick level, where the one simulator would cost more than it saves.
    """
    mutants = tuple(mutants)

    @pytest.mark.cosim
    @pytest.mark.thorough
    @pytest.mark.parametrize("mutant", [None, *mutants],
                             ids=lambda mutant: str(mutant) if mutant else "no fault")
    def finds(tmp_path, mutant):
        block, outcome = run_mutant(mutants[0].block, mutants, mutant, tmp_path, watched=False,
                                    max_cycles=10 * _LIMIT, wall_limit=900)
        said = _said(block, block.configuration(None)[0], outcome)
        assert said if mutant else not said

    return _fits(mutants), finds
