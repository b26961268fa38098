"""Bounds of kernels that random ones do not draw: each of these once took longer than its bound, or
had none."""

import dataclasses

import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built, machine_named
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.work_group import KernelFault, memory_of
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.wcet import access_costs
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import WcetError

pytestmark = pytest.mark.unit

BUILT = as_built(MACHINES["small"])
PART = part_named("ddr4-3200aa-x16")
POLICIES = (Policy.ACCESS, Policy.YIELD, Policy.COMPUTE)


def kernel(text, buffers="0 0 640 4\n1 0x10000 640 4\n"):
    return assemble(f".data\n{buffers}.sp_data\n0 0 64 4\n.text\n{text}", "k.sas")


def bound_of(program, grid, policy, part=PART, start="reset"):
    return Analysis(program, grid, part, start).wcet(policy).cycles


def measured(program, grid, policy, part=PART, memory=None, due=None, rest=0):
    timeline = DramTimeline(part, due=due)
    timeline.rest = rest
    return CycleModel(program, grid, memory or memory_of(program), policy=policy, part=part,
                      timeline=timeline).run(keep=False).cycles


@pytest.mark.parametrize("policy", POLICIES)
def test_words_that_grow_with_a_work_groups_place(policy):
    """The second work-group reads 17 words of the scratchpad, the first one 1."""
    program = kernel("smov s1, sc.wg_off_x\nsshr s1, s1, 2\nsiadd s1, s1, 1\n"
                     "smovssp sc.sd_words, s1\n" + "sldsp s2, 0\n" * 20 + "exit\n")
    grid = Grid(2 * 64, 1, BUILT)
    assert measured(program, grid, policy) <= bound_of(program, grid, policy)


TWO_BRANCHES_TO_ONE_LABEL = """smov s0, 4
smov s1, 3
again:
sisub s0, s0, 1
#bound branchcycle 3 1
sicj.g again, s0
ldglin v0, 0
smov s0, 4
sisub s1, s1, 1
#bound branchcycle 2 1
sicj.g again, s1
stglin v0, 1
exit
"""


@pytest.mark.parametrize("policy", POLICIES)
def test_a_loop_without_accesses_that_begins_where_one_with_them_does(policy):
    """The inner loop's rounds are part of a segment of the outer one.

    With annotated loops, the two work-groups of a pair may be in different rounds: hence 0.85."""
    program, grid = kernel(TWO_BRANCHES_TO_ONE_LABEL), Grid(3 * 64, 1, BUILT)
    assert 0.85 < measured(program, grid, policy) / bound_of(program, grid, policy) <= 1


@pytest.mark.parametrize("due", [0, 10, 50])
def test_more_than_one_refresh_falls_due_while_the_program_is_read(due):
    """With few clocks from a refresh to the next, the first request waits for several of them."""
    part = dataclasses.replace(PART, nREFI=450, nRFC=100)
    program = kernel("j end\n" + "mov v0, vc.zero\n" * 2040 + "end:\nstglin v0, 1\nexit\n")
    grid = Grid(64, 1, BUILT)
    assert measured(program, grid, Policy.ACCESS, part, due=due) <= bound_of(
        program, grid, Policy.ACCESS, part, "idle")


@pytest.mark.parametrize("policy", POLICIES)
def test_an_empty_tile_after_a_request_that_lasts(policy):
    """It is over a clock after the store of the pair before; no time is lost between two equal
    clocks."""
    grid = Grid(129, 1, machine_named("small compute_ps=625"))
    program = kernel("ldglin v0, 0\nstglin.vec4 v0, 1\nexit\n", "0 0 128 1\n1 0x10000 640 1\n")
    assert 0.99 < measured(program, grid, policy) / bound_of(program, grid, policy) <= 1


def test_a_kernel_right_after_a_transfer():
    """A refresh that waited for it is under way, and the next one is due at once: that is ``busy``,
    and more than ``idle`` promises."""
    program, grid = kernel("stglin v0, 1\nexit\n"), Grid(64, 1, BUILT)
    idle, busy = (bound_of(program, grid, Policy.ACCESS, start=start) for start in ("idle", "busy"))
    owed = measured(program, grid, Policy.ACCESS, due=1, rest=PART.nRFC - 1)
    assert measured(program, grid, Policy.ACCESS, due=0) <= idle < owed <= busy


def test_a_tile_at_an_unknown_offset_may_be_empty():
    """Under policy ``compute``, the other work-group's access may be over at once then."""
    program = kernel("sldg s0, 1\nldglin v0, 0, s0\nstglin v0, 1\nexit\n")
    loaded, moved, stored = Analysis(program, Grid(64, 1, BUILT), PART).costs.values()
    assert moved.least == 0 < moved.delay
    assert loaded.least == loaded.delay
    assert stored.least == stored.delay


def test_tiles_anywhere_cost_the_same_however_they_are_told_apart(monkeypatch):
    """Each by its address, or by its place in a row of all banks."""
    program = kernel("sldg s0, 1, 2\nldglin v0, 0, s0, s1\nldg2sptile 0, 0, s0\nldsplin v0, 0, s1\n"
                     "stglin v0, 1, s1\nexit\n", "0 0x4 40 17\n1 0x10000 64 9\n")
    found = []
    for few in (1 << 40, 0):
        monkeypatch.setattr(access_costs, "_FEW", few)
        found.append(Analysis(program, Grid(40, 17, BUILT, 8), PART).costs_of)
    assert list(found[0].values()) == list(found[1].values())


def test_two_counters_of_many_rounds():
    """16 million pairs of offsets, of which all in a row of all banks have one delay."""
    program = kernel("smov s0, 4000\nsmov s1, 0\nagain:\nldglin v0, 0, s0, s1\nsiadd s1, s1, 1\n"
                     "sisub s0, s0, 1\nsicj.g again, s0\nexit\n", "0 0 4096 4096\n")
    (moved,) = Analysis(program, Grid(64, 1, BUILT), PART).costs.values()
    assert 0 < moved.least <= moved.delay


ENDS_BY_KIND = """ldglin.vec4 v0, 0
smov s0, sc.wg_off_y
sicj.g skip, s0
stsplin v0, 0
skip:
stglin v0, 1
exit
"""


@pytest.mark.parametrize("policy", POLICIES)
def test_a_pair_after_one_of_other_kinds_that_ends_otherwise(policy):
    """Under policy ``yield``, only where the second work-group's load is empty can the first one
    be overtaken, and its store be the pair's last."""
    program = assemble(".data\n0 0 768 16\n1 0x10000 640 4\n.sp_data\n0 0 4 1\n.text\n"
                       + ENDS_BY_KIND, "k.sas")
    grid = Grid(3 * 64 + 1, 7, BUILT, 64)
    assert 0.7 < measured(program, grid, policy) / bound_of(program, grid, policy) <= 1


def test_costs_of_lines_in_two_loops_that_begin_at_one_label():
    program = kernel(TWO_BRANCHES_TO_ONE_LABEL.replace("ldglin v0, 0\n", ""))
    analysis = Analysis(program, Grid(64, 1, BUILT), PART)
    (route,) = analysis.routes.values()
    lines = route.lines(analysis.edge_costs)
    assert [line.times for line in lines.values()] == [1, 1, 12, 12, 3, 3, 3, 1]
    assert sum(line.compute + line.access for line in lines.values()) == route.cost


def test_more_accesses_in_a_row_than_python_has_frames():
    analysis = Analysis(kernel("ldglin v0, 0\n" * 1500 + "exit\n"), Grid(64, 1, BUILT), PART)
    (route,) = analysis.routes.values()
    assert len(route.route) == 1501


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_has_a_greater_bound_than_any_policy(policy):
    """Where work-groups hardly overlap, the bound of pairs rounds up to an edge of a clock more
    often than that of one work-group after the other."""
    program, grid = kernel("ldglin v0, 0\nstglin v0, 1\nexit\n"), Grid(64, 1, BUILT)
    assert bound_of(program, grid, policy) <= Analysis(program, grid, PART, "reset").upper


def test_a_chart_of_the_first_cycles_draws_no_others():
    program = kernel("smov s0, 60000\nagain:\nldglin v0, 0\nsisub s0, s0, 1\nsicj.g again, s0\n"
                     "stglin v0, 1\nexit\n")
    phases, end = Analysis(program, Grid(64, 1, BUILT), PART).schedule(Policy.ACCESS, until=1000)
    assert 10 < len(phases) < 100
    assert all(phase.start < end for phase in phases)
    assert 1000 <= end < 1200


WHILE_IN_A_LOOP = """smov s0, 4
outer:
smov s1, {rounds}
inner:
sicj.le done, s1
ldglin v0, 0
sisub s1, s1, 1
j inner
done:
sisub s0, s0, 1
sicj.g outer, s0
stglin v0, 1
exit
"""


@pytest.mark.parametrize("rounds", [3, 0])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_loop_whose_rounds_may_pass_no_access(policy, rounds):
    """The graph has routes round the outer loop that leave the inner one at once: of 3 rounds none
    can do so, of 0 rounds all do. Then work-groups are in any of them, and one is charged alone."""
    program, grid = kernel(WHILE_IN_A_LOOP.format(rounds=rounds)), Grid(5 * 64, 1, BUILT)
    ratio = measured(program, grid, policy) / bound_of(program, grid, policy)
    assert (0.95 if rounds else 0.5) < ratio <= 1


@pytest.mark.parametrize("policy", POLICIES)
def test_a_loop_that_is_tested_at_its_top(policy):
    """When the first work-group of a pair has left it, the second does not go round it alone."""
    program = kernel("smov s1, 12\nagain:\nsicj.le done, s1\nldglin v0, 0\nsisub s1, s1, 1\n"
                     "j again\ndone:\nstglin v0, 1\nexit\n")
    grid = Grid(4 * 64, 1, BUILT)
    assert 0.99 < measured(program, grid, policy) / bound_of(program, grid, policy) <= 1


BESIDE_A_LOOP = """smov s0, sc.wg_off_x
sicj.g other, s0
smov s1, 8
one:
rcp v9, v8
rcp v9, v8
ldglin.vec4 v0, 0
sisub s1, s1, 1
sicj.g one, s1
{short}j end
other:
{short}smov s1, 8
two:
rcp v9, v8
rcp v9, v8
ldglin.vec4 v0, 0
sisub s1, s1, 1
sicj.g two, s1
end:
stglin v0, 1
exit
"""


@pytest.mark.parametrize("policy", POLICIES)
def test_a_work_group_in_a_loop_while_the_other_one_is_beside_it(policy):
    """Both have 17 accesses, and of those as many in each round; the long ones of one overlap with
    short ones of the other."""
    program = kernel(BESIDE_A_LOOP.format(short="ldglin v0, 2\n" * 8),
                     "0 0 640 4\n1 0x10000 640 4\n2 0x20000 1 1\n")
    grid = Grid(2 * 64, 1, BUILT)
    assert 0.9 < measured(program, grid, policy) / bound_of(program, grid, policy) <= 1


@pytest.mark.parametrize("load", [
    "ldgbidx 2", "ldspbidx 1", "smovssp sc.sd_words, 64\nsmovssp sc.sd_period, 64\nldgcidx 2"])
def test_indexes_that_a_snoopy_load_brought(load):
    """It writes ``mem_data``, which is no operand of it."""
    program = assemble(".data\n0 0 4096 64\n2 0x200000 64 1\n.sp_data\n1 0 64 1\n.text\n"
                       "ldg2sptile 1, 2\nmov v0, vc.lid_x\nmovvsp vc.mem_data, 0\n"
                       f"movvsp vc.mem_idx, v0\n{load}\nmov v1, vc.mem_data\n"
                       "movvsp vc.mem_idx, v1\nldgidxit v2, 0\nexit\n", "k.sas")
    grid, memory = Grid(64, 1, BUILT), memory_of(program)
    memory[2][0, 1::2] = 2 * 4096 * 16  # by turns in two rows of one bank
    ratio = measured(program, grid, Policy.ACCESS, memory=memory) / bound_of(
        program, grid, Policy.ACCESS)
    assert 0.98 < ratio <= 1


@pytest.mark.parametrize("policy", POLICIES)
def test_a_work_group_that_goes_on_before_the_second_one_is_launched(policy):
    """Its empty load is over when the store of the pair before is, and frees the slot: the other
    one is launched a cycle later, and finds the compute unit taken."""
    program = kernel("ldglin v0, 1\nstglin v0, 0\nexit\n", "0 0 640 40\n1 0x40000 640 4\n")
    grid = Grid(17, 9, BUILT, 8)
    assert measured(program, grid, policy) <= bound_of(program, grid, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("groups", [4, 10])
def test_a_transfer_of_the_scratchpad_does_not_wait_for_the_store_before(policy, groups):
    """Under ``yield`` it is made meanwhile, and the empty load that follows is over when the
    store is."""
    program = assemble(""".data
0 0 2560 40
1 0x80000 1 1
.sp_data
0 0 1 1
.text
ldsplin v0, 0
ldglin v4, 1, 9
rcp v1, v0
rcp v1, v0
ldglin v4, 1, 9
rcp v1, v0
rcp v1, v0
stglin.vec4 v0, 0
exit
""", "k.sas")
    grid = Grid(groups * 64, 1, BUILT)
    took = measured(program, grid, policy)
    assert took <= bound_of(program, grid, policy)
    if policy is Policy.YIELD:
        assert took == {4: 1074, 10: 2542}[groups]


TILE = ("smovssp sc.sd_words, {}\nsmovssp sc.sd_period, {}\nsmovssp sc.sd_period_cnt, {}\n"
        "ldgcidx 0\nexit\n")
REFUSED = [
    ("64 4", TILE.format(16, 32, 2), "2 lines of 16 words, 32 apart, from .0, 0. on are no lines"),
    ("64 4", TILE.format(17, 16, 1), "1 lines of 17 words, 16 apart, are no tile"),
    ("640 1", TILE.format(16, 640, 5), "words 0 to 2575 leave buffer 0 of 640 words"),
    ("640 1700", "ldgbidx 0\nexit\n", "buffer 0 has 1088000 words, and a snoopy access can tell "),
    ("64 4", "smovssp sc.sd_words, 5\nsldsp s28, 0\nexit\n", "takes 1 to 4 words, not 5"),
    ("64 4", "smov s0, 64\nsldsp s1, 0, s0\nexit\n", ".64, 0. is no word of scratchpad buffer 0"),
]


@pytest.mark.parametrize(("size", "text", "says"), REFUSED)
def test_an_access_that_hardware_refuses_has_no_bound(size, text, says):
    """The cycle model stops there with the same words."""
    program, grid = kernel(text, f"0 0 {size}\n"), Grid(2 * 64, 1, BUILT)
    with pytest.raises(WcetError, match=rf"line \d+, .*refuses this access in every .*: .*{says}"):
        bound_of(program, grid, Policy.ACCESS)
    with pytest.raises(KernelFault, match=says):
        measured(program, grid, Policy.ACCESS)


def test_an_access_that_hardware_may_take_has_a_bound():
    """Of the second work-group only, which jumps over it, is it known to be refused."""
    program = kernel("smov s0, sc.wg_off_x\nsicj.g over, s0\nsldsp s1, 0, s0\nover:\nexit\n")
    grid = Grid(2 * 64, 1, BUILT)
    assert measured(program, grid, Policy.ACCESS) <= bound_of(program, grid, Policy.ACCESS)
