"""The tests of a block's hand-written mutants: the edits fit, and its testbench finds each."""

from collections.abc import Callable, Sequence

import pytest

from cyclebound.sim import catalogue

from ..sim.mutants import Mutant, component_of


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
    def finds(run_mutant, mutant):
        assert run_mutant(mutant)

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
    def finds(run_together, mutant):
        said = run_together(mutants, mutant)
        assert said if mutant else not said

    return _fits(mutants), finds
