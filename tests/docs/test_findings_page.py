"""The page of findings: its figures are what the formulas and the pages of the families have."""

import pytest

from cyclebound.golden.dram.page_bounds import request_time
from cyclebound.golden.dram.reorder_bounds import residence
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.composition import Path, Transaction
from cyclebound.golden.sram.bounds import eq1, read_completion
from kit.pages import Page, numbers, results

PAGE = Page("findings.md")
pytestmark = pytest.mark.unit


def test_eq_1():
    first, last = (Transaction(Path(), requesters=n).t1.amount for n in (1, 11))
    assert PAGE.says(f"row t_1 of the table ({first} ... {last})")
    known = {"transaction_bytes": 21, "word_bytes": 4, "requesters": 3}
    assert read_completion(**known) == eq1(**known) + 1
    assert PAGE.says("`read_completion = Eq. 1 + 1`")


def test_eq_7():
    """As in the sweep of the end-to-end write; what is printed is the formula's."""
    rows = {tuple(row[:2]): row for row in Page("noc.md").rows(
        "| N_req | N_trans | t_1, t_2 | first packet |")}
    four, eight = rows["1", "4"], rows["1", "8"]
    assert PAGE.says(
        f"(N_trans = 4) takes {four[6].strip('*')} network cycles where the printed bound allows "
        f"{four[10].strip('*')}; with eight, {eight[6].strip('*')} and {eight[10].strip('*')}")
    for competitors, row in ((4, four), (8, eight)):
        printed = Transaction(Path(), competitors=competitors)
        assert numbers(row[10]) == [printed.total(printed.eq7).amount]


def test_the_reorder_core():
    for entries, cap in ((8, 9), (4, 5), (3, 2)):
        assert residence(entries=entries, cap=cap) - 1 == cap + entries - 2
    assert PAGE.says("no request is overtaken more than cap + n - 2 times")
    row = results()["dram.reorder_core", "small", "residence"]
    assert (row["verdict"], row["worst"]) == ("exact", str(residence(entries=3, cap=2)))


def test_the_worst_request():
    plain, refreshed = (request_time(part="ddr3-1600-module", refreshes=n) for n in (0, 1))
    assert PAGE.says(f"t_req^max = {plain * 1.25:g} ns and Eq. 2's tRFC are exact",
                     f"takes {plain} cycles")
    row = results()["dram.page_controller", "open", "request"]
    assert (row["verdict"], row["worst"]) == ("exact", str(refreshed))


def test_the_longest_wait_for_a_window():
    window = {"period": 1024, "length": 512, "crossing": 24, "offset": 0}
    wait = bounds.window_wait(flits=66, **window)
    ready = bounds.first_header(words=1024, payload=64, **window) - wait
    assert PAGE.says(f"{wait} cycles and not {Transaction(Path()).wait.amount} with Table III",
                     f"this wait and the {ready} cycles until the packet is ready")


def test_the_active_processing_elements():
    """As systolic.md says of its pictures; `test_table_5_1` reads them off a waveform."""
    active = [sum(i + j == step - k for i in range(3) for j in range(3) for k in range(3))
              for step in range(7)]
    said = f"{', '.join(map(str, active))} active PEs"
    assert PAGE.says(f"has {said} in its {len(active)} steps, {sum(active)} MACs in all")
    assert Page("systolic.md").says(f"has {said}")
    assert PAGE.says(f"`m n (k - 1)`, which is {9 * 2}, and not {27 - 1}")
