"""What pages say of whole simulations: how many cycles they took, and what was compared in them."""

import re

import pytest

from cyclebound.sim.run.job import Job, run_job
from kit.pages import Page

KERNEL = re.compile(r"(\w+): (\d+) threads, (\d+) cycles, \[(.*)\]")
RUN_SIZES = {16: "A run is {:,} (16 entries)", 2: "to {:,} cycles (2)"}  # by entries of a buffer
DATA_SWEEP = "| {part} | {compared:,} | {cycles:,} |"
pytestmark = [pytest.mark.cosim, pytest.mark.thorough]


def jobs(block, configurations, testbench, test=""):
    return [Job(block, name, testbench, 1, "", test=test, wall_limit=3600)
            for name in configurations.split()]


def ran(found, folder):
    """The outcomes of these jobs, and their logs."""
    outcomes, logs = [], []
    for number, job in enumerate(found):
        place = folder / str(number)
        place.mkdir()
        outcome = run_job(Job(**{**vars(job), "folder": str(place)}))
        assert outcome.passed, outcome.reason
        outcomes.append(outcome)
        logs.append((place / "log.txt").read_text())
    return outcomes, logs


@pytest.mark.parametrize(("page", "says", "of"), [
    ("dataflow.md", "compared in every cycle: {compared:,} cycles in eight configurations",
     [*jobs("dataflow.switch", "tiny paper", "cycle"),
      *jobs("dataflow.thread_sink", "small paper", "cycle"),
      *jobs("dataflow.special_unit", "integers floats roots two", "cycle")]),
    ("dataflow.md", "{compared:,} cycles in four configurations (2 and 3 ports",
     jobs("dataflow.cache_banks", "tiny two crossing paper", "cycle")),
    ("dataflow.md", "an eighth of them integers to floats) in {cycles:,} cycles",
     jobs("dataflow.float_fma", "single", "million")),
    ("dataflow.md", "12 cycles after its operands: {cycles:,} cycles",
     jobs("dataflow.compute_unit", "paper", "million")),
    ("dataflow.md", "all kernels compared in {compared:,} cycles",
     jobs("dataflow.fabric", "divides_2", "kernels")),
    ("noc.md", "a hotspot, a transpose and twelve permutations, {compared:,} packets",
     jobs("noc.mesh", "four", "traffic", "a_hundred_thousand_packets")),
    ("dram.md", DATA_SWEEP.replace("{part}", "DDR4-3200AA x16"),
     jobs("dram.controller", "2bg", "data_sweep")),
    ("dram.md", DATA_SWEEP.replace("{part}", "DDR4-3200AA x8"),
     jobs("dram.controller", "4bg", "data_sweep")),
    ("dram.md", "{cycles:,} cycles in", jobs("dram.controller", "2bg", "sweep")),
    ("dram.md", "and {cycles:,} in", jobs("dram.controller", "4bg", "sweep")),
])
def test_cycles(tmp_path, page, says, of):
    outcomes, _ = ran(of, tmp_path)
    assert Page(page).says(says.format(compared=sum(outcome.compared for outcome in outcomes),
                                       cycles=sum(outcome.cycles for outcome in outcomes)))


@pytest.mark.parametrize(("name", "entries"), [("five_2", 2), ("five_4", 4), ("five_8", 8),
                                               ("five_by_five", 16), ("paper", 0)])
def test_kernels_of_1024_threads(tmp_path, name, entries):
    """The table of kernels over buffer depths, that of both grids, and threads in flight."""
    page = Page("dataflow.md")
    (outcome,), (log,) = ran(jobs("dataflow.fabric", name, "kernels_1024"), tmp_path)
    took = {kernel: (int(cycles), parts.count(",") + 1)
            for kernel, threads, cycles, parts in KERNEL.findall(log) if threads == "1024"}
    assert len(took) == 10
    if not entries:
        rows = page.rows("| kernel | 5x5 | 6x18 |")
        assert {row[0]: row[2] for row in rows} == {
            kernel: f"{cycles:,}" for kernel, (cycles, _) in took.items()}
        assert page.says(f"{sum(parts for _, parts in took.values())} configurations instead of 20")
        return
    rows = page.rows("| kernel | parts | 2 entries |")
    place = {2: 2, 4: 3, 8: 4, 16: 5}[entries]
    assert {row[0]: (row[place], row[1]) for row in rows} == {
        kernel: (f"{cycles:,}", str(parts)) for kernel, (cycles, parts) in took.items()}
    if entries in RUN_SIZES:
        assert page.says(RUN_SIZES[entries].format(outcome.compared))
    (flight,) = re.findall(r"(\d+) threads in flight, 5 units", log)
    in_flight = re.search(r"hold (\d+), (\d+), (\d+) and (\d+) threads", page.text).groups()
    assert in_flight[place - 2] == flight


def test_kernels_of_24_threads(tmp_path):
    _, (log,) = ran(jobs("dataflow.fabric", "divides", "kernels"), tmp_path)
    found = KERNEL.findall(log)
    first = [(int(cycles), parts.count(",") + 1) for _, threads, cycles, parts in found[:10]
             if threads == "24"]
    assert len(first) == 10
    loops = sum(int(cycles) for _, threads, cycles, _ in found if threads == "64")
    assert Page("dataflow.md").says(
        f"all ten kernels, in {sum(parts for _, parts in first)} configurations, "
        f"{sum(cycles for cycles, _ in first):,} cycles from start to done",
        f"the same testbench, {loops:,} cycles from start to done")


def test_an_array_whose_folds_overlap(tmp_path):
    """512 x 512 x 512 on 16x16."""
    outcomes, _ = ran(jobs("systolic.overlapped_output", "16x16", "long", "overlap_pays"), tmp_path)
    worst = max(group.latency for group in outcomes[0].groups if group.what == "macs")
    assert Page("systolic.md").says(f"takes {worst:,} cycles from first MAC to last there")
