"""Exits by predicates that are known: the routes that no work-group takes are left out."""

import random
from itertools import pairwise

import numpy as np
import pytest

from cyclebound.golden.dram.timing import DDR4_3200AA_X16 as PART
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.golden.simd.work_group import Code, WorkGroup, memory_of
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.wcet import known_exits
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.lane_values import LaneValues

pytestmark = pytest.mark.unit

BUILT = as_built(MACHINES["small"])
GRID = Grid(64, 8, BUILT, 64)  # eight work-groups, one in each line

LOADS = """smov s0, 20
again:
ldglin v0, 0
mul v1, v0, v0
rcp v2, v1
rcp v2, v2
rcp v2, v2
sisub s0, s0, 1
sicj.g again, s0
stglin v2, 2
exit
"""
NONE = "mov v5, vc.zero\nitest.nz p0, v5\nexit p0\n"
SOME = "mov v5, vc.lid_x\nisub v5, v5, 40\nitest.ge p0, v5\nexit p0\n"
ALL = "mov v5, vc.zero\nitest.ez p0, v5\nexit p0\n"
REST = "itest.l p0, v5\nexit p0\n"  # after `SOME`: none is left
LOWER = "mov v5, vc.tid_y\nisub v5, v5, 4\nitest.ge p0, v5\nexit p0\n"
DATA = "ldglin v6, 1\nitest.l p1, v6\nexit p1\n"


def analysis_of(text, grid=GRID):
    program = assemble(".data\n0 0 64 8\n1 0x200000 64 8\n2 0x300000 64 8\n.text\n" + text, "k.sas")
    return Analysis(program, grid, PART, "reset")


def ends(analysis, line):
    """Whether (work-groups may go on after an exit in a line, they may end there)."""
    program = analysis.program
    edges = [edge for node, after in analysis.graph.after.items()
             if program.lines[node.at] == line + 5 for edge in after]
    return (any(edge.target is not None for edge in edges),
            any(edge.target is None for edge in edges))


@pytest.mark.parametrize(("text", "line", "found"), [
    (NONE, 3, (True, False)),
    (SOME, 4, (True, False)),
    (ALL, 3, (False, True)),
    (SOME + REST, 6, (False, True)),
    (LOWER, 4, (True, True)),       # work-groups differ
    (DATA, 3, (True, True)),
    (DATA + NONE, 6, (True, True)),  # none may have been left by the exit before; it does not say
    (DATA + ALL, 6, (False, True)),
    (SOME + DATA + REST, 9, (False, True)),
], ids=["none", "some", "all", "rest", "lower", "data", "data-none", "data-all", "data-rest"])
def test_what_an_exit_may_do(text, line, found):
    assert ends(analysis_of(text + LOADS), line) == found


@pytest.mark.parametrize("text", [NONE, SOME])
def test_an_exit_that_ends_no_work_group_costs_what_it_takes(text):
    """The two of a pair stay in the same round: the bound was 1.6 times as long."""
    analysis = analysis_of(text + LOADS)
    with_exit, without = (found.wcet(Policy.ACCESS).cycles
                          for found in (analysis, analysis_of(LOADS)))
    took = CycleModel(analysis.program, GRID, memory_of(analysis.program), policy=Policy.ACCESS,
                      part=PART).run(keep=False).cycles
    assert took <= with_exit < min(1.03 * took, without + 300)


def test_what_comes_after_an_exit_of_all_lanes_does_not_count():
    analysis = analysis_of(ALL + LOADS)
    assert analysis.loops.bounds == {}
    assert CycleModel(analysis.program, GRID, memory_of(analysis.program), policy=Policy.ACCESS,
                      part=PART).run(keep=False).cycles <= analysis.wcet(Policy.ACCESS).cycles < 400


def test_many_work_groups_are_not_looked_at_one_by_one():
    text = "mov v5, vc.tid_x\nitest.l p0, v5\nexit p0\n"
    few, many = (analysis_of(text + LOADS, Grid(64 * count, 1, BUILT, 64))
                 for count in (9, 2000))
    assert ends(few, 3) == (True, False)
    assert ends(many, 3) == (True, True)


def random_exits(rng):
    """Exits by place and by data, in a row, beside branches, in loops."""
    lines = ["smov s1, sc.wg_off_y"]
    for number in range(rng.randint(1, 5)):
        source = rng.choice(("lid_x", "tid_y", "zero", "one"))
        test = rng.choice(("ez", "nz", "l", "ge", "g", "le"))
        leave = [f"mov v5, vc.{source}", f"iadd v5, v5, {-rng.choice((0, 1, 3, 32, 63))}",
                 f"itest.{test} p0, v5", "exit p0"]
        if rng.random() < 0.4:
            leave = DATA.split("\n")[:-1]
        kind = rng.choice(("plain", "plain", "beside", "loop"))
        if kind == "beside":
            leave = [f"sicj.ez far{number}, s1", *leave, f"far{number}:"]
        elif kind == "loop":
            leave = [f"smov s2, {rng.randint(1, 3)}", f"back{number}:", *leave,
                     "sisub s2, s2, 1", f"sicj.g back{number}, s2"]
        lines += leave
    return "\n".join(lines) + "\n" + LOADS


def strays(seed):
    """Whether a work-group of a random kernel takes a route that the analysis left out."""
    rng = random.Random(seed)
    grid = Grid(rng.choice((1, 33, 64)), rng.randint(1, 8), BUILT, 64)
    analysis, contents = analysis_of(random_exits(rng), grid), np.random.default_rng(seed)
    steps = {(node.at, None if edge.target is None else edge.target.at)
             for node, after in analysis.graph.after.items() for edge in after}
    memory = memory_of(analysis.program)
    memory[1][:, :contents.choice((0, 1, 3, 32, 63, 64))] = 1 << 31  # these leave by data
    code = Code(analysis.program)
    for place in grid.places():
        group, trace = WorkGroup(code, grid, place, memory), []
        while (access := group.advance(trace)) is not None:
            group.make(access)
        executed = [index for index in trace if index >= 0]  # no notes of how
        if any(step not in steps for step in pairwise((*executed, None))):
            return True
    return False


def test_random_work_groups_stay_on_the_routes_that_are_left():
    assert not any(map(strays, range(40)))


def test_they_find_an_exit_whose_lanes_by_data_are_forgotten(monkeypatch):
    """Planted: what left by data before counts as active."""
    before = LaneValues.before
    monkeypatch.setattr(LaneValues, "before", lambda self, node: (
        found and found._replace(fewer=False) if (found := before(self, node)) else found))
    assert any(map(strays, range(40)))


def test_they_find_an_exit_that_is_looked_at_in_one_work_group_only(monkeypatch):
    kinds = known_exits.kinds_of
    monkeypatch.setattr(known_exits, "kinds_of", lambda grid: {
        kind: places._replace(tops=places.tops[:1]) for kind, places in kinds(grid).items()})
    assert any(map(strays, range(40)))


@pytest.mark.thorough
def test_many_random_work_groups_stay_on_the_routes_that_are_left():
    assert not any(map(strays, range(40, 500)))
