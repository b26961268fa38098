"""The test plan is that of the blocks as they are."""

import pytest

from cyclebound.sim.catalogue import load
from cyclebound.tools.maintenance import test_plan
from kit.pages import Page

pytestmark = [pytest.mark.unit,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


@pytest.mark.each_commit
def test_it_is_made_from_the_catalogue_as_it_is():
    assert Page("test-plan.md").text == test_plan.page()


def test_what_a_checker_asserts():
    said = test_plan.asserted(load().find("noc.arbiter"))
    assert said == ["grant is not one-hot", "grant without a request",
                    "idle while there is a request", "grant moved while stalled",
                    "requester # not served within # grants"]


def test_a_claim_names_its_proofs():
    rows = Page("test-plan.md").text.splitlines()
    assert "| grant: `round_robin_wait` | N_req | proved by fair |" in rows
