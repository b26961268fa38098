"""The cycle model: measured sequences, policies, pairs, and the kernels' results."""

import itertools

import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.golden.simd.work_group import KernelFault, memory_of
from cyclebound.tools.simd.assembler import assemble, assemble_file
from cyclebound.tools.simd.kernel_cases import case, expected
from cyclebound.tools.simd.kernels import KERNELS, kernel_path

QUICK = "stencil", "spmv", "srad_reduce"  # with every policy; the others in the thorough level
pytestmark = pytest.mark.unit

PAPER, SMALL = MACHINES["paper"], MACHINES["small"]
PART = part_named("ddr4-3200aa-x16")
HEAD = ".data\n0 0 65536 1\n1 0x100000 65536 1\n.sp_data\n0 0 1024 1\n.text\n"


def timed(text, items=1024, policy=Policy.UNCONSTRAINED, machine=PAPER, **more):
    program = assemble(HEAD + text + "\nexit\n")
    return CycleModel(program, Grid(items, 1, machine), memory_of(program), policy=policy,
                      part=PART, **more).run()


def starts(found, resource):
    return [phase.start for phase in found.phases if phase.resource == resource]


@pytest.mark.parametrize(("text", "cycles"), [
    ("ldsplin v0, 0", (30, 31)), ("stsplin v0, 0", (30, 31)), ("ldspbidx 0", (30, 31)),
    ("sldsp s0, 0", (11, 11))])
def test_scratchpad_accesses_back_to_back(text, cycles):
    """Sim-D's model measures 30, 30, 30 and 11; ours waits for an edge of the other clock."""
    began = starts(timed("\n".join([text] * 9), machine=PAPER), "compute")
    for first, second in itertools.pairwise(began):
        assert cycles[0] <= second - first <= cycles[1]


@pytest.mark.parametrize(("text", "measured"), [
    ("ldglin v0, 0", 207.4), ("stglin v0, 0", 227.4), ("sldg s0, 0", 56)])
def test_dram_accesses_back_to_back(text, measured):
    """As measured on Sim-D's model, if the front end takes as long as its."""
    found = timed("\n".join([text] * 21), machine=PAPER,
                  timeline=DramTimeline(PART, lookup=0, lead=2))
    began = starts(found, "compute")
    assert (began[20] - began[1]) / 19 == pytest.approx(measured, abs=2.2)


@pytest.mark.parametrize(("name", "policy"), [
    pytest.param(name, policy, marks=() if policy is Policy.UNCONSTRAINED or name in QUICK
                 else pytest.mark.thorough) for name in KERNELS for policy in Policy])
def test_kernels_have_their_results_whatever_the_policy(name, policy):
    found = case(name, SMALL)
    wanted = expected(name, found)
    ran = CycleModel(found.program, found.grid, found.memory, policy=policy, part=PART).run()
    for number, words in wanted.items():
        assert (found.memory[number] == words).all()
    no_overlap(ran, policy)


def no_overlap(ran, policy):
    """Resources are used by one work-group at a time, and by no more than the policy allows."""
    kinds = {Policy.ACCESS: [("dram", "scratchpad"), ("compute",)],
             Policy.COMPUTE: [("compute", "scratchpad"), ("dram",)],
             Policy.YIELD: [("compute", "scratchpad"), ("dram",)]}.get(
        policy, [("compute",), ("dram",)])
    for resources in kinds:
        phases = sorted((phase for phase in ran.phases if phase.resource in resources),
                        key=lambda phase: phase.start)
        assert all(a.end <= b.start for a, b in itertools.pairwise(phases))
    for slot in (0, 1):
        phases = [phase for phase in ran.phases if phase.slot == slot]
        assert all(a.end <= b.start for a, b in itertools.pairwise(phases))
    assert ran.cycles == max(phase.end for phase in ran.phases)


def test_policies_differ_where_scratchpads_are_used():
    cycles = {}
    for policy in Policy:
        found = case("cnn_convolution", SMALL)
        cycles[policy] = CycleModel(found.program, found.grid, found.memory, policy=policy,
                                    part=PART).run().cycles
    assert cycles[Policy.UNCONSTRAINED] < cycles[Policy.PAIRWISE]
    constrained = {cycles[policy] for policy in (Policy.ACCESS, Policy.COMPUTE, Policy.YIELD)}
    assert cycles[Policy.PAIRWISE] < min(constrained)
    assert len(constrained) == 3


def test_work_groups_come_in_pairs_and_pairs_are_counted():
    """The first of each pair ends at once; the next pair waits for the other one."""
    text = """
        smov s0, sc.wg_off_x
        sand s0, s0, 1024
        sicj.nz long, s0
        exit
    long:
        ldglin v0, 0
        ldglin v0, 0
        stglin v0, 1"""
    for policy in (Policy.PAIRWISE, Policy.ACCESS):
        found = timed(text, 8 * 1024, policy)
        first = {}
        stores = {}
        for phase in found.phases:
            first.setdefault(phase.work_group, phase.start)
            stores[phase.work_group] = phase.start  # of the last phase, the store if there is one
        for pair in range(1, 4):
            before = max(stores[2 * pair - 2], stores[2 * pair - 1])
            assert first[2 * pair] > before - 200
            assert first[2 * pair] < first[2 * pair + 1] or first[2 * pair + 1] > before - 200
    assert timed(text, 8 * 1024).cycles <= found.cycles


EXITS_LATE = """
        smov s0, sc.wg_off_x
        sand s0, s0, 1024
        sicj.nz long, s0
        stglin v0, 1
        exit
    long:
        smov s1, 6
    again:
        sisub s1, s1, 1
        sicj.nz again, s1
        exit"""


def test_the_slot_that_is_free_first_gets_the_next_work_group():
    """The second work-group ends before the first one's last store, which was committed earlier."""
    found = timed(EXITS_LATE, 4 * 1024)
    store = next(phase for phase in found.phases if phase.resource == "dram")
    ends = next(phase.end for phase in found.phases
                if phase.resource == "compute" and phase.work_group == 1)
    first = {}
    for phase in found.phases:
        first.setdefault(phase.work_group, phase)
    assert store.work_group == 0
    assert ends < store.end
    assert (first[2].slot, first[2].start) == (1, ends + 1)
    assert (first[3].slot, first[3].start > store.end) == (0, True)


def test_a_kernel_that_masks_every_lane_at_once_ends():
    found = timed("mov v0, vc.one\nitest.g p0, v0\nexit p0", 4096)
    assert [phase.resource for phase in found.phases] == ["compute"] * 4
    assert found.cycles > found.load


def test_phi_mag_is_as_fast_as_the_paper_says():
    """Sim-D, Table 4: 1,291 cycles; ours, with its front end, differs by the edges of clocks."""
    program = assemble_file(kernel_path("compute_phi_mag"))
    grid = Grid(2048, 1, PAPER)
    found = CycleModel(program, grid, memory_of(program), policy=Policy.UNCONSTRAINED, part=PART,
                       timeline=DramTimeline(PART, lookup=0, lead=2)).run()
    assert abs(found.cycles - 1291) <= 8
    ours = CycleModel(program, Grid(2048, 1, PAPER), memory_of(program),
                      policy=Policy.UNCONSTRAINED, part=PART).run()
    assert found.cycles < ours.cycles < found.cycles + 30


def test_policies_do_not_matter_without_scratchpads():
    """Sim-D, section 6.2."""
    for text in ("ldglin v0, 0\nldglin v1, 0\nmad v1, v0, v0, v1\nstglin v1, 1",
                 "mov v1, vc.lid_x\nmovvsp vc.mem_idx, v1\nldgidxit v0, 0\nstglin v0, 1"):
        assert len({timed(text, 6 * 64, policy, SMALL).cycles for policy in Policy}) == 1


def test_refreshes_are_counted_and_take_time():
    program = assemble_file(kernel_path("vector_add"))
    grid = Grid(REFERENCES["vector_add"].x, 1, PAPER)
    found = CycleModel(program, grid, memory_of(program), policy=Policy.ACCESS, part=PART).run()
    assert found.refreshes == int(found.cycles / 0.625) // PART.nREFI


def test_a_fault_stops_the_run():
    with pytest.raises(KernelFault, match=r"leaves buffer 0"):
        timed("mov v0, 65536\nmovvsp vc.mem_idx, v0\nldgidxit v1, 0")
