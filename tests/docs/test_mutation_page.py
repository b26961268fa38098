"""The page about mutation: its scores add up; its quoted command is run by `test_commands`."""

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.mutation import equivalence, mutate
from kit.pages import Page

PAGE = Page("mutation.md")
pytestmark = pytest.mark.unit


def test_scores():
    """Of the mutants that are not equivalent, the share that is killed."""
    known = catalogue.load()
    for name, configuration, *cells, score in PAGE.rows("| block | configuration | mutants |"):
        mutants, killed, survived, equivalent, unknown = (
            int(cell.replace(",", "")) for cell in cells)
        assert mutants == killed + survived + equivalent + unknown, name
        assert score == f"{100 * killed / (mutants - equivalent):.1f} %", name
        assert configuration in known.find(name.strip("`")).configurations


def test_patience():
    assert (mutate._LONGER, equivalence._PROOF + equivalence._SEARCH[0]) == (10, 30)
    assert PAGE.says(f"more than ten times the cycles of the block's own, plus {mutate._MORE:,}",
                     f"The simulator starts once for {mutate._BATCH} mutants",
                     "if within 30 seconds neither a difference nor a proof was found")
