"""Bounds of many work-groups are those of each of them: what is found by columns, lines and runs
of pairs equals what a loop over all work-groups finds."""

import functools
import itertools
import random
import sys

import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.tools.simd import random_kernels
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.random_kernels import Mix
from cyclebound.tools.simd.random_shapes import random_grid
from cyclebound.tools.simd.wcet import chains
from cyclebound.tools.simd.wcet.access_costs import AccessCosts
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.chains import Chain
from cyclebound.tools.simd.wcet.followed_indexes import FollowedIndexes
from cyclebound.tools.simd.wcet.lane_values import LaneValues
from cyclebound.tools.simd.wcet.places import Places, kinds_of
from cyclebound.tools.simd.wcet.tile_delays import TileDelays

pytestmark = pytest.mark.unit

BUILT = as_built(MACHINES["small"])
PART = part_named("ddr4-3200aa-x16")
GRIDS = [(x, y, width) for width in (2, 8, 64) for x in (1, 3, 8, 17, 64, 65, 130, 513)
         for y in (1, 5, 64, 65, 129)]
NO_STORE = ".data\n0 0 640 400\n.text\nldglin v0, 0\nexit\n"
TRANSPOSED = """.data
0 0 96 50
1 0x10000 70 90
.sp_data
0 0 8 8
.text
smov s0, sc.wg_off_x
smov s1, sc.wg_off_y
siadd s2, s0, s1
ldg2sptile 0, 0, s1, s0
ldsplin v0, 0, s2, s1
ldglin.vec2 v1, 0, s0, s2
smovssp sc.sd_words, s0
stglin v0, 1, -3, 2
exit
"""


EDGES = """.data
0 0 64 20
1 0x10000 64 90
2 0x20000 {} 24
.text
ldglin v0, 0
rcp v1, v0
ldglin.vec2 v2, 1, 0, 8
stglin v1, 2, -16
exit
"""


def random_program(seed):
    rng = random.Random(seed)
    grid = random_grid(rng, Grid(64, 1, BUILT, 64))
    text = random_kernels.kernel_for(seed, grid, Mix(branches=True, shapes=True)).text
    return assemble(text), Grid(3 * grid.x, 2 * grid.y, BUILT, grid.width)


def test_kinds_are_those_of_all_work_groups():
    for x, y, width in GRIDS:
        grid = Grid(x, y, BUILT, width)
        found = {place: kind for kind, places in kinds_of(grid).items() for place in places.each()}
        assert found == {place: (min(grid.width, x - place.x), min(grid.height, y - place.y), 0, 0)
                         for place in grid.places()}


def test_kinds_of_a_cut_grid():
    grid = Grid(130, 65, BUILT, 8)
    found = {place: kind
             for kind, places in kinds_of(grid, {16, 64, 128}, {8, 16}).items()
             for place in places.each()}
    assert found == {
        place: (min(8, 130 - place.x), min(8, 65 - place.y),
                (place.x >= 16) + (place.x >= 64), (place.y >= 8) + (place.y >= 16))
        for place in grid.places()}


def test_pairs_are_those_of_all_work_groups():
    program = assemble(NO_STORE)
    for x, y, width in GRIDS:
        analysis = Analysis(program, Grid(x, y, BUILT, width), PART)
        found = [pair for runs, times in analysis.blocks for _ in range(times)
                 for pair, count in runs for _ in range(count)]
        kinds = analysis.kinds
        assert found == [(kinds[place], kinds[place + 1] if place + 1 < len(kinds) else None)
                         for place in range(0, len(kinds), 2)]


def pair_by_pair(self, extra):
    """`Chain.total`, one pair after the other."""
    pairs = [pair for runs, times in self._blocks for _ in range(times)
             for pair, count in runs for _ in range(count)]
    matrix = functools.cache(lambda before, pair: self._matrix(before, pair, extra))
    found = functools.reduce(chains._product, itertools.starmap(
        matrix, itertools.pairwise([pairs[0], *pairs])))
    graph = self._graphs_of(pairs[-1], pairs[-1])[0]
    return max(self._load + extra + cost + graph.last(name, extra)
               for first in chains.FIRST for name, cost in found[first].items())


@pytest.mark.parametrize("seed", [
    pytest.param(seed, marks=[pytest.mark.thorough] * (seed == 3)) for seed in range(12)])
def test_runs_of_pairs_take_as_long_as_pair_by_pair(seed, monkeypatch):
    program, grid = random_program(seed)
    found = Analysis(program, grid, PART).wcet(Policy.YIELD)
    monkeypatch.setattr(Chain, "total", pair_by_pair)
    assert Analysis(program, grid, PART).wcet(Policy.YIELD) == found


def one_by_one(program, grid):
    """`Analysis.costs_of`, from the costs of each work-group by itself."""
    analysis = Analysis(program, grid, PART)
    accesses = [node for node in analysis.graph.after if analysis.graph.is_access(node)]
    costs = {}
    for kind, places in analysis.places.items():
        for place in places.each():
            lanes = LaneValues(analysis.graph, analysis.loops.values, grid)
            followed = FollowedIndexes(lanes, grid, PART, 1 << 40)
            alone = Places(range(place.x, place.x + 1, places.lefts.step),
                           range(place.y, place.y + 1, places.tops.step), places.across)
            assert list(alone.each()) == [place]
            table = AccessCosts(analysis.loops, grid, PART, alone, TileDelays(PART), followed)
            for access in accesses:
                cost = table.cost(access)
                costs.setdefault((kind, access), []).append(
                    (cost.delay, cost.least, cost.resource, cost.lead))
    return {key: (max(cost[0] for cost in found), min(cost[1] for cost in found), *found[0][2:])
            for key, found in costs.items()}


@pytest.mark.parametrize("case", ["transposed", "edges", *range(12)])
def test_costs_of_a_kind_are_those_of_its_work_groups(case):
    if case == "transposed":
        program, grid = assemble(TRANSPOSED), Grid(61, 45, BUILT, 8)
    elif case == "edges":
        program, grid = assemble(EDGES.format(48)), Grid(90, 50, BUILT, 8)
        assert len(Analysis(program, grid, PART).places) > 12
    else:
        program, grid = random_program(case)
    analysis = Analysis(program, grid, PART, most_words=1 << 40)
    found = {(kind, access): (cost.delay, cost.least, cost.resource, cost.lead)
             for kind, costs in analysis.costs_of.items() for access, cost in costs.items()}
    each = one_by_one(program, grid)
    assert found == {key: each[key] for key in found}


def lines_of(function):
    """How many lines of Python a call executes: a time that no other program changes."""
    count = 0

    def follow(_, event, __):
        nonlocal count
        count += event == "line"
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def test_lines_count_what_is_repeated():
    assert lines_of(lambda: sum(n for n in range(1000))) > 1000
    assert lines_of(lambda: sum(n for n in range(10))) < 100


def test_a_million_work_groups_take_no_longer_than_a_few():
    """It took a minute, for each of them was gone through."""

    def analyse(x, y):
        analysis = Analysis(assemble(NO_STORE), Grid(x, y, BUILT, 64), PART)
        assert analysis.upper >= analysis.wcet(Policy.ACCESS).cycles > analysis.lower
        return analysis

    many = analyse(65_535, 1_000)
    assert many.grid.count == 1_024_000
    assert many.lower > 1_000_000
    few = lines_of(lambda: analyse(255, 1_000))  # a 257th of the work-groups
    assert lines_of(lambda: analyse(65_535, 1_000)) < 2 * few


def test_an_offset_that_counts_to_millions_may_be_anything():
    """Each of its values took half a microsecond for each work-group."""
    text = """.data
0 0 64 37
.text
smov s0, {}
smov s1, 1
again:
ldglin v0, 0, 0, s1
siadd s1, s1, 1
sisub s0, s0, 1
sicj.g again, s0
exit
"""
    grid = Grid(64, 64, BUILT)

    def cycles(rounds):
        return Analysis(assemble(text.format(rounds)), grid, PART).wcet(Policy.ACCESS).cycles

    assert 990 < cycles(3_000_000) / cycles(3_000) < 1300
    assert lines_of(lambda: cycles(3_000_000)) < 1.5 * lines_of(lambda: cycles(3_000))
