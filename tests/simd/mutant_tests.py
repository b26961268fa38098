"""The two tests of a block's hand-written mutants: the edits fit, and its testbench finds each."""

from collections.abc import Callable, Sequence

import pytest

from cyclebound.sim import catalogue

from ..sim.mutants import Mutant, component_of


def mutant_tests(mutants: Sequence[Mutant], *, quick: int) -> tuple[Callable, Callable]:
    """Tests for a module to name; so many ``quick`` mutants are simulated in any level."""

    @pytest.mark.unit
    @pytest.mark.parametrize("mutant", mutants, ids=str)
    def fits(mutant):
        assert component_of(catalogue.load().find(mutant.block), mutant) is not None

    @pytest.mark.cosim
    @pytest.mark.parametrize("mutant", [
        *mutants[:quick], *(pytest.param(mutant, marks=pytest.mark.thorough)
                            for mutant in mutants[quick:])], ids=str)
    def finds(run_mutant, mutant):
        assert run_mutant(mutant)

    return fits, finds
