"""The page of findings: its figures are what the formulas and the pages of the families have."""

import dataclasses

import pytest

from cyclebound.golden.dram import bounds as dram
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.page_bounds import request_time
from cyclebound.golden.dram.reorder_bounds import residence
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, PARTS
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.composition import Path, Transaction
from cyclebound.golden.sram.bounds import eq1, read_completion
from cyclebound.golden.systolic import stationary_bounds as stationary
from cyclebound.golden.systolic.bounds import completion
from kit.pages import Page, numbers, results

PAGE = Page("findings.md")
X16 = "ddr4-3200aa-x16"
pytestmark = pytest.mark.unit


def test_eq_1():
    first, last = (Transaction(Path(), requesters=n).t1.amount for n in (1, 11))
    assert PAGE.says(f"row t_1 of Table IV ({first} ... {last})")
    known = {"transaction_bytes": 21, "word_bytes": 4, "requesters": 3}
    assert read_completion(**known) == eq1(**known) + 1
    assert PAGE.says("`read_completion = Eq. 1 + 1`")


def summary(name):
    """The cells of the summary's row of this finding: printed and measured, as numbers."""
    row, = (row for row in PAGE.rows("| paper, formula |") if f"[{name}]" in row[0])
    return [float(number) for cell in row[3:5] for number in numbers(cell)]


def test_eq_15():
    """Measured on the RTL by `test_command_arbiter`; here, by the model."""
    for part, bursts, write, said in (
            ("ddr4-3200aa-x8", 8, 1, "{} clocks are printed, {} measured"),
            ("ddr4-1866m-x16", 7, 0, "On DDR4-1866 a read of 7 bursts: {} and {}"),
            ("ddr3-1600-module", 5, 0, "On DDR3-1600 a read of 5 bursts: {} and {}"),
            ("ddr4-3200aa-x16", 8, 1, "writes of 8 ({} printed, {} reached)")):
        request = {"part": part, "bursts": bursts, "write": write}
        figures = dram.eq15(**request), dram.tile_issue_delay(**request)
        assert PAGE.says(said.format(*figures))
        if part == "ddr4-3200aa-x8":
            assert summary("Eq. 15") == [*figures]


@pytest.mark.thorough
def test_eq_15_is_exact_on_two_bank_groups():
    for write in (0, 1):
        assert [bursts for bursts in (*range(1, 65), 128, 256, 512, 769)
                if dram.eq15(part=X16, bursts=bursts, write=write)
                != dram.tile_issue_delay(part=X16, bursts=bursts, write=write)] == [8] * write
    assert PAGE.says("exact up to 769 bursts, but for writes of 8")


def test_eq_16():
    printed, reached = ([formula(part=X16, bursts=words, rows=words, write=0) for words in (1, 2)]
                        for formula in (dram.eq16, indexed_issue_delay))
    assert summary("Eq. 16") == [printed[0], reached[0]]
    assert PAGE.says(f"one word in one row: {printed[0]} clocks are printed, {reached[0]} measured",
                     f"Two words in two rows: {printed[1]} and {reached[1]}")


def test_requests_that_depend_on_the_one_before():
    request = {"part": X16, "bursts": 8, "write": 1}
    carried = schedule(PARTS[X16], range(1021, 1029), write=True, current=2).issue_delay
    assert summary("independent requests") == [dram.eq15(**request), carried]
    assert PAGE.says(f"{dram.eq15(**request)} clocks are printed, "
                     f"{dram.tile_issue_delay(**request)} reached from reset, "
                     f"and {carried} measured")


def test_the_wcet_of_a_kernel():
    rows = Page("simd_wcet_published.md").rows("| witness | Sim-D |")
    owed = next(row for row in rows if row[0] == "`refreshes-owed`")
    assert summary("WCET of a kernel") == [*numbers(owed[4]), *numbers(owed[3])]
    for scope, count in (("yes", 4), ("no: refused", 4)):
        ratios = [row[5] for row in rows if row[6] == scope]
        assert len(ratios) == count
        assert PAGE.says(f"{min(ratios)} to {max(ratios)}")
    base = next(row for row in rows if row[0] == "`addresses-from-base-x8`")
    assert PAGE.says(f"({base[4]} printed, {base[3]} taken)")
    _, again = Page("simd_wcet_published.md").rows("| kernel | work-groups | published, compute |")
    assert PAGE.says(f"is exceeded ({again[2]} printed, {again[4]} taken)",
                     f"(`compute`) the kernel takes {again[3]}")


def test_eq_5_6_of_stationary_arrays():
    shape = {"rows": 2, "columns": 3, "m": 1, "k": 3, "n": 1}
    printed = stationary.eq5_6_printed(**shape)
    serial, double = (stationary.weight_steps(**shape, double_buffer=on) for on in (False, True))
    assert summary("Eq. 5.6") == [printed, double]
    assert PAGE.says(f"takes {serial} cycles from the first weights to the last MAC, or {double} "
                     f"with a second register for weights, where {printed} are printed")
    row = {"rows": 1, "columns": 2, "n": 1}
    fold = stationary.weight_fold(**row, m=1, k=1)  # two of them, for k = 2
    assert PAGE.says(
        f"two folds of {fold} steps, {2 * fold}, where "
        f"{stationary.eq5_6_printed(**row, m=1, k=2)} are printed; 2 x 1 x 1 takes "
        f"{stationary.weight_fold(**row, m=2, k=1)}, where "
        f"{stationary.eq5_6_printed(**row, m=2, k=1)} are printed")
    cube = {"rows": 3, "columns": 3, "m": 3, "k": 3, "n": 3}
    assert summary("Eq. 5.5 and 5.6")[-1] == completion(**cube)


def test_eq_7():
    """As in the sweep of the end-to-end write; what is printed is the formula's."""
    rows = {tuple(row[:2]): row for row in Page("noc.md").rows(
        "| N_req | N_trans | t_1, t_2 | first packet |")}
    four, eight = rows["1", "4"], rows["1", "8"]
    assert PAGE.says(
        f"(N_trans = 4) takes {four[7].strip('*')} network cycles where the printed bound allows "
        f"{four[11].strip('*')}; with eight, {eight[7].strip('*')} and {eight[11].strip('*')}")
    for competitors, row in ((4, four), (8, eight)):
        printed = Transaction(Path(), competitors=competitors)
        assert numbers(row[11]) == [printed.total(printed.eq7).amount]


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
    assert PAGE.says(f"waits {wait} cycles and not {Transaction(Path()).wait.amount}",
                     f"`first_header`, {wait + ready} cycles: this wait and the {ready} cycles")


def test_the_active_processing_elements():
    """As systolic.md says of its pictures; `test_table_5_1` reads them off a waveform."""
    active = [sum(i + j == step - k for i in range(3) for j in range(3) for k in range(3))
              for step in range(7)]
    said = f"{', '.join(map(str, active))} active PEs"
    assert PAGE.says(f"has {said} in its {len(active)} steps, {sum(active)} MACs in all")
    assert Page("systolic.md").says(f"has {said}")
    assert PAGE.says(f"`m n (k - 1)`, which is {9 * 2}, and not {27 - 1}")


def test_the_worst_request_of_other_parts():
    slow, late = (dataclasses.replace(DDR3_1600_MODULE, nWTR_S=cycles, nWTR_L=cycles)
                  for cycles in (50, 18))
    assert PAGE.says(f"takes {request_time(part=slow, refreshes=0)} cycles, where the sum has 54",
                     f"makes it {request_time(part=late, refreshes=1)}, not 262")
    assert Page("noc.md").says(f"takes {request_time(part=late, refreshes=1)} cycles if a refresh",
                               f"it takes {request_time(part=slow, refreshes=0)} without any")
