"""The page of the SIMD accelerator: its first kernel runs as it stands, its numbers are there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

from cyclebound.golden.simd.accelerator import Policy
from cyclebound.golden.simd.host_registers import Register
from cyclebound.golden.simd.machine import machine_named
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.sim import catalogue
from cyclebound.sim.families.simd.authors import AUTHORS
from cyclebound.sim.families.simd.published import TABLE_5
from cyclebound.tools.simd.kernels import KERNELS
from kit.pages import Page, results

TEXT = Page("simd.md")
PAGE = TEXT.text

pytestmark = pytest.mark.system


def test_the_first_kernel_runs_as_it_stands(tmp_path):
    (script,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    folder = str(Path(sys.executable).parent)
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True,
                          text=True, timeout=300,
                          env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert "scale: 100 x 40 items in 6 work-groups" in done.stdout
    assert done.stdout.endswith("[0.5 1.  1.5 2. ]\n")


def test_every_policy_is_explained():
    for policy in Policy:
        assert f"| `{policy.value}` |" in PAGE


@pytest.mark.unit
def test_kernels():
    many = len(KERNELS)
    assert TEXT.says(f"{many} kernels with their mathematics", f"all {many} kernels",
                     f"Kernels are the {many} installed ones")
    rows = TEXT.rows("| kernel | items | Table 4 |")
    for name, _, paper, unconstrained, *_, ratio in rows:
        assert name.strip("`") in KERNELS
        took, printed = (int(cell.replace(",", "")) for cell in (unconstrained, paper))
        assert ratio == f"{took / printed:.2f}", name
    assert Page("papers.md").says(f"all {len(rows)} kernels on the cycle model")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["compute_phi_mag", "depth2vertex", "half_sample_robust", "spmv",
                                  "srad_reduce", "cnn_max_pool", "fft", "stencil", "srad2"])
def test_cycles_beside_table_4(call, name):
    """Those whose runs take less than half a minute."""
    done = call("simd", "table", name)
    assert done.returncode == 0, done.stderr
    (row,) = (line for line in done.stdout.splitlines() if line.startswith(f"| `{name}`"))
    assert row in PAGE.splitlines()


@pytest.mark.unit
def test_cycles_of_the_authors_kernels():
    """What follows from the table, which a user with their sources prints."""
    lost = {"pairwise": [], "access": [], "compute": []}
    for name, items, paper, *cycles, ratio in TEXT.rows(
            "| kernel | items | Table 4 | unconstrained | pairwise |"):
        kernel, reference = AUTHORS[name.strip("`")], REFERENCES[name.strip("`")]
        assert (items, paper) == (f"{kernel.x} x {kernel.y}", f"{reference.cycles:,}")
        first, *others = (int(cell.replace(",", "")) for cell in cycles)
        assert ratio == f"{first / reference.cycles:.2f}"
        if name not in ("`compute_phi_mag`", "`srad2`"):  # without a scratchpad
            for policy, own in zip(lost, others, strict=True):
                lost[policy].append(100 * (1 - first / own))
        if name == "`depth2vertex`":
            yields = 391_525
            assert TEXT.says(f"here {-lost['compute'][-1]:.1f} %. Under `yield` it takes "
                             f"{yields:,} cycles, {100 * (1 - first / yields):.1f} % less")
    means = {policy: f"{mean(shares):.1f} %" for policy, shares in lost.items()}
    assert len(lost["access"]) == 7
    assert TEXT.says(f"The seven with scratchpads lose {means['pairwise']} of their performance to "
                     f"pairing, {max(lost['pairwise']):.1f} % at most, {means['access']} to "
                     f"`access` and {means['compute']} to `compute`")


def test_wcets_of_the_authors_kernels():
    worst = 0.0
    for name, *cells in TEXT.rows("| kernel | paper: lower |"):
        numbers = [int(cell.replace(",", "") or 0) for cell in cells]
        known = TABLE_5.get(name.split("`")[1])
        if known:
            assert numbers[:4] == [known.lower, known.upper, known.access, known.compute]
            worst = max(worst, *(abs(own / printed - 1) for printed, own in zip(
                numbers[:4], numbers[4:8], strict=True)))
    assert 0.0005 < worst < 0.001
    assert TEXT.says("The formula as computed here is within 0.1 % of the printed numbers")


def test_issue_cycles_are_what_the_rtl_takes():
    """The numbers of 3 + 5 stages, as the compute unit's bounds, exact in the quick level."""
    exact = {row[2]: cells for row, cells in results().items() if row[0] == "simd.compute_unit"}
    assert {cells["verdict"] for cells in exact.values()} == {"exact"}
    worst = {name: cells["worst"] for name, cells in exact.items()}
    table = dict(TEXT.rows("| from issue to issue | cycles |"))
    assert table["scalar, independent"] == worst["scalar"]
    assert table["dependent through operand 0, 1, 2"].startswith(f"{worst['scalar_dependent']}, ")
    assert table["vector, dependent or not"] == worst["vector"] == worst["vector_dependent"]
    assert table["rcp, rsqrt, sin, cos"] == worst["special"]
    assert table["cpush and cpop"] == worst["push_to_pop"]
    assert table["jump taken, not taken"] == f"{worst['jump_taken']} (5), {worst['jump_not_taken']}"
    (divisions,) = (cell for name, cell in table.items() if name.startswith("division to division"))
    assert divisions.startswith(f"{worst['division_again']}; 10 (9); {worst['division']} (")
    assert table["access committed, and the other work-group's first issue"].startswith(
        f"{worst['access_turn']} (")


@pytest.mark.unit
def test_clocks_in_which_a_compute_cycle_begins():
    begins = [-(-cycle * 8 // 5) for cycle in range(5)]
    assert TEXT.says(f"at 5:8 in clocks {', '.join(map(str, begins[:4]))} and {begins[4]} of every "
                     "eight")


@pytest.mark.unit
def test_registers_of_the_host():
    """Every address of the table and no other, ranges written out."""
    found = set()
    for addresses, *_ in TEXT.rows("| address | register | |"):
        for part in addresses.split(", "):
            first, _, last = part.partition(" to ")
            found |= {*range(int(first, 16), int(last or first, 16) + 4, 4)}
    assert found == {*Register}


@pytest.mark.unit
def test_configurations_of_the_compute_unit():
    configurations = catalogue.load().find("simd.compute_unit").configurations
    rows = TEXT.rows("| configuration | lanes | warps | stages | |")
    assert [row[0].strip("`") for row in rows] == list(configurations)
    for row in rows:
        machine = machine_named(configurations[row[0].strip("`")].parameters["machine"])
        assert row[1:4] == [str(machine.lanes), str(machine.items // machine.lanes),
                            f"{machine.decode_stages} + {machine.execute_stages}"]


@pytest.mark.unit
def test_every_shape_of_a_scratchpads_tile():
    row = results()["simd.scratchpad", "small", "transfer"]
    (cases,) = re.findall(r"exhaustive: ([\d,]+) cases", row["evidence"])
    assert row["verdict"] == "right"
    assert TEXT.says(f"right in all {cases} shapes of the domain with a bus of 4")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["compute_phi_mag", "half_sample_robust", "fft", "depth2vertex",
                                  "cnn_max_pool"])
def test_measured_at_full_size(call, name):
    """Those rows of Table 4 whose three runs take less than a minute."""
    done = call("simd", "table", name)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] in PAGE.splitlines()
