"""The pages about the WCET of kernels: bounds as analyses find them, measurements as simd.md's."""

import re
from statistics import mean

import pytest

from cyclebound.golden.dram.timing import DDR4_3200AA_X16
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.sim.families.simd.options import timed_grid
from cyclebound.sim.families.simd.published import own_cycles
from cyclebound.sim.families.simd.run import grid_of
from cyclebound.tools.simd.assembler import assemble_file
from cyclebound.tools.simd.kernels import kernel_path
from cyclebound.tools.simd.published.witnesses import YIELDS, indexed_x8
from cyclebound.tools.simd.wcet.followed_indexes import MOST_WORDS
from kit.pages import Page, numbers

OWN, PUBLISHED = Page("simd_wcet.md"), Page("simd_wcet_published.md")
POLICIES = ("access", "compute")
TIGHTNESS = "| kernel | work-groups | policy | measured | bound | measured / bound | s |"
WORST = "| kernel | work-groups | policy | measured | bound | measured / bound | bound before |"
pytestmark = pytest.mark.unit


def number(cell):
    return int(cell.replace(",", ""))


def bounds(name, timing, start="idle"):
    """The bounds of an installed kernel at full size, by policy."""
    program = assemble_file(kernel_path(name))
    grid = timed_grid(grid_of(program, None, None, "paper"), timing)
    return {policy: own_cycles(program, grid, DDR4_3200AA_X16, Policy(policy), start)
            for policy in (*POLICIES, "yield")}


# -- the project's own analysis --------------------------------------------------------------------

def test_ratios_of_the_tightness_table():
    for head in (TIGHTNESS, WORST):
        for row in OWN.rows(head):
            assert row[5] == f"{number(row[3]) / number(row[4]):.3f}", row[0]


def test_what_was_measured_is_near_the_accelerators_page():
    """There it is with Sim-D's timing; a machine as built loses a few per cent at most."""
    table = {row[0]: dict(zip(("access", "compute"), row[4:6], strict=True))
             for row in Page("simd.md").rows("| kernel | items | Table 4 |")}
    compared = 0
    for name, _, policy, measured, *_ in OWN.rows(TIGHTNESS):
        if name in table:
            assert 0.98 < number(measured) / number(table[name][policy]) < 1.06, name
            compared += 1
    assert compared >= 26


def test_mean_distances():
    (text,) = re.findall(r"full size \((`depth2vertex`.*?)\), bounds are", " ".join(
        OWN.text.split()))
    names = text.split(", ")
    assert len(names) == 9
    above = {policy: mean(number(row[4]) / number(row[3]) - 1 for row in OWN.rows(TIGHTNESS)
                          if row[2] == policy and row[0] in names) for policy in POLICIES}
    assert OWN.says(f"bounds are {100 * above['access']:.1f} % above what was measured under "
                    f"`access` (the paper: 12.7 %), and {100 * above['compute']:.1f} % under "
                    "`compute`")


def test_words_that_are_followed():
    assert OWN.says(f"Each word takes time to follow: {MOST_WORDS:,} are")


def test_factors_before_indexes_were_looked_at():
    rows = {(row[0], row[2]): row for row in OWN.rows(WORST)}
    random = {row[0]: number(row[3]) for row in OWN.rows(TIGHTNESS)}
    data = number(rows["`spmv`", "access, compute"][3]) / random["`spmv`"]
    loose = number(rows["`spmv`", "access, compute"][6]) / number(
        rows["`spmv`", "access, compute"][3])
    assert OWN.says(f"* `spmv`, {data * loose:.0f}: {data:.0f} are data, {loose:.1f} were "
                    "looseness")


@pytest.mark.thorough
def test_the_tightness_bounds():
    known = {}
    for name, _, policy, _, bound, *_ in OWN.rows(TIGHTNESS):
        known[name] = known.get(name) or bounds(name.strip("`"), "rtl")
        assert number(bound) == known[name][policy], name
    reset = bounds("compute_phi_mag", "rtl", "reset")
    assert OWN.says(f"with `--start reset` the bound is {reset['access']:,}")


@pytest.mark.thorough
def test_bounds_of_both_timing_models():
    rows = OWN.rows("| kernel | sim-d: access |")
    assert len(rows) == 12
    for name, *cells in rows:
        found = [bounds(name.strip("`"), timing) for timing in ("sim-d", "rtl")]
        assert [number(cell) for cell in cells] == [
            by_policy[policy] for by_policy in found
            for policy in ("access", "compute", "yield")], name


@pytest.mark.thorough
def test_bounds_with_worst_data():
    for name, _, policies, _, bound, *_ in OWN.rows(WORST):
        if name not in ("`track`", "`srad`", "`srad2`"):  # seconds with all indexes followed
            found = bounds(name.strip("`"), "rtl")
            assert {found[policy] for policy in policies.split(", ")} == {number(bound)}, name


@pytest.mark.thorough
@pytest.mark.system
@pytest.mark.parametrize("name", ["vector_add", "saxpy", "compute_phi_mag", "cnn_max_pool", "fft",
                                  "half_sample_robust", "depth2vertex", "transposition",
                                  "prefix_sum", "stencil", "srad_reduce", "cnn_relu"])
def test_measured_at_full_size(call, name):
    """Those whose runs take less than a minute."""
    done = call("simd", "tightness", name)
    assert done.returncode == 0
    printed = [line.rsplit("|", 2)[0] for line in done.stdout.splitlines()[2:]]
    page = [line.rsplit("|", 2)[0] for line in OWN.text.splitlines()]
    assert len(printed) == 2
    assert set(printed) <= set(page)


# -- the published one -----------------------------------------------------------------------------

YIELD = "| kernel | access | compute | yield | compute over the better of the others |"


@pytest.mark.thorough
@pytest.mark.system
@pytest.mark.parametrize("command", ["table5", "errata"])
def test_the_page_has_what_its_commands_print(call, command):
    said = call("simd", command)
    assert said.returncode == 0, said.stderr
    page = PUBLISHED.text.splitlines()
    printed = [line for line in said.stdout.splitlines() if line]
    assert len(printed) > 10
    assert not [line for line in printed if line not in page]


@pytest.mark.thorough
def test_the_bounds_of_yield():
    """The table of the kernels with scratchpads."""
    rows = PUBLISHED.rows(YIELD)
    assert len(rows) == 7
    for name, *cells in rows:
        found = bounds(name.strip("`"), "rtl")
        assert [number(cell) for cell in cells[:3]] == list(found.values()), name


def test_bounds_of_yield_are_the_same_on_both_pages():
    own = {row[0]: row[4:] for row in OWN.rows("| kernel | sim-d: access |")}
    table5 = {row[0].removesuffix(" (*)"): row[-2:]
              for row in PUBLISHED.rows("| kernel | paper: lower |")}
    rows, ratios = PUBLISHED.rows(YIELD), []
    for name, *cells, ratio in rows:
        assert own.get(name, cells) == cells, name
        assert table5.get(name, cells[:2]) == cells[:2], name
        access, compute, yields = map(number, cells)
        assert ratio == f"{compute / min(access, yields):.2f}"
        assert compute <= yields
        ratios.append(compute / yields)
    assert PUBLISHED.says(f"and {100 - 100 * mean(ratios):.0f} % below it on average")


def test_the_formula_of_compute_is_not_of_yield():
    """The quick half of what `errata` prints."""
    rows = PUBLISHED.rows("| kernel | work-groups | published, compute |")
    assert [[number(cell) for cell in row[1:5]] for row in rows] == [
        [kernel.work_groups, kernel.published().compute, kernel.run(Policy.COMPUTE).cycles,
         kernel.run(Policy.YIELD).cycles] for kernel in YIELDS]


def test_indexes_with_four_bank_groups():
    assert PUBLISHED.says(f"gives 8,243: {indexed_x8()} too few (`indexed_x8`)",
                          f"{8243 + indexed_x8() - 2:,} DRAM clocks with four bank groups, and 2 "
                          "to the first command")


def test_the_histogram_has_all_kernels():
    (row,) = (row for row in PUBLISHED.rows("| measured / bound | below 0.1 |"))
    assert PUBLISHED.says(f"{int(sum(numbers(cell)[0] for cell in row[1:])):,} kernels from seed")
