"""No machine grows by more than 5 % without the table of the page saying so.

Each is synthesized again: minutes for the large ones.
"""

import pytest

from cyclebound.sim.fpga import machines
from cyclebound.sim.fpga.machines import MACHINES, areas, table
from kit.pages import Page, numbers

HEAD = "| machine | configuration | what it has | LUTs |"
FIGURES = "LUTs", "flip-flops", "block RAMs", "multipliers"


def grown(found, said):
    """What is more than 5 % larger, or smaller, than the page says."""
    return [f"{name}: {now:,}, and the page says {then:,}"
            for name, now, then in zip(FIGURES, found, said, strict=True)
            if abs(now - then) > 0.05 * then]


def of_page():
    """The figures of each machine's row."""
    return {(row[0].strip("`"), row[1]): [numbers(cell)[0] for cell in row[3:]]
            for row in Page("fpga.md").rows(HEAD)}


@pytest.mark.unit
def test_a_machine_that_has_grown_is_named():
    said = (1000, 100, 10, 0)
    assert grown((1050, 100, 10, 0), said) == []
    assert grown((1051, 95, 10, 1), said) == ["LUTs: 1,051, and the page says 1,000",
                                              "multipliers: 1, and the page says 0"]
    assert grown((949, 94, 10, 0), said) == ["LUTs: 949, and the page says 1,000",
                                             "flip-flops: 94, and the page says 100"]


@pytest.mark.unit
def test_every_machine_is_on_the_page():
    rows = Page("fpga.md").rows(HEAD)
    assert [(row[0].strip("`"), row[1], row[2]) for row in rows] == [
        (machine.block, machine.configuration, machine.size) for machine in MACHINES]


@pytest.mark.unit
def test_the_table_is_as_the_page_has_it(monkeypatch):
    monkeypatch.setattr(machines, "areas", lambda machine: (1234, 5, 0, 6))
    head, rule, row, *_ = table(MACHINES[:1])
    assert head.startswith(HEAD)
    assert set(rule) == set("| -")
    assert row == "| `shmac.core` | big | 1 MIPS core | 1,234 | 5 | 0 | 6 |"


@pytest.mark.system
@pytest.mark.thorough
@pytest.mark.parametrize("machine", MACHINES,
                         ids=lambda machine: f"{machine.block}-{machine.configuration}")
def test_no_machine_grows_unseen(machine):
    assert grown(areas(machine), of_page()[machine.block, machine.configuration]) == []
