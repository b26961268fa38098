"""Lanes and indexes that are known without running a kernel: what runs show is the same."""

import dataclasses
import random

import numpy as np
import pytest

from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import DDR4_3200AA_X16 as PART
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.golden.simd.work_group import Code, WorkGroup, memory_of
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.kernel_cases import case, fill_worst
from cyclebound.tools.simd.random_kernels import random_kernel
from cyclebound.tools.simd.wcet import followed_indexes
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.followed_indexes import FollowedIndexes
from cyclebound.tools.simd.wcet.graph import RouteGraph
from cyclebound.tools.simd.wcet.lane_values import MEM_IDX, LaneValues
from cyclebound.tools.simd.wcet.live_lanes import without_dead_pops
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops

pytestmark = pytest.mark.unit

SMALL = MACHINES["small"]
BUILT = as_built(SMALL)


def compared(program, grid, memory):
    """Indexes that were known before an access, all of which its work-group had."""
    graph = without_dead_pops(RouteGraph(program))
    lanes = LaneValues(graph, BoundedLoops(graph, grid).values, grid)
    known = {node.at: lanes.before(node) for node in graph.after
             if lanes.before(node) is not None and not node.stack}
    code, found = Code(program), 0
    with np.errstate(all="ignore"):
        for place in grid.places():
            group = WorkGroup(code, grid, place, memory)
            while (access := group.advance()) is not None:
                before = known.get(group.pc - 1)
                if before is not None:
                    may = lanes.active(before, place)
                    assert np.array_equal(may & group.active if before.fewer else may, group.active)
                    if MEM_IDX in before.known:
                        value = lanes.value(before.known[MEM_IDX], place)
                        there = group.vc[MEM_IDX[1]]
                        assert np.array_equal(value[group.active], there[group.active])
                        found += 1
                group.make(access)
    return found


@pytest.mark.parametrize(("name", "accesses"), [("srad", 9 * 9), ("srad2", 9 * 4),
                                                ("srad_reduce", 3 * 2), ("spmv", 0)])
def test_kernels_have_the_lanes_and_indexes_that_are_known(name, accesses):
    found = case(name, SMALL)
    assert compared(found.program, found.grid, found.memory) == accesses


def test_random_kernels_have_them_too():
    found = 0
    for seed in range(12):
        program = assemble(random_kernel(seed, SMALL, 148).text, "random.sas")
        memory = memory_of(program)
        memory[0][...] = np.random.default_rng(seed).integers(0, 99, memory[0].shape)
        found += compared(program, Grid(148, 1, SMALL, 64), memory)
    assert found > 1


def measured(program, grid, memory):
    memory = {number: words.copy() for number, words in memory.items()}
    return CycleModel(program, grid, memory, policy=Policy.ACCESS, part=PART).run(keep=False).cycles


def bound(program, grid, **more):
    return Analysis(program, grid, PART, "reset", **more).wcet(Policy.ACCESS).cycles


@pytest.mark.parametrize("name", ["srad", "srad2", "srad_reduce"])
def test_known_indexes_make_bounds_tight(name):
    found = case(name, SMALL)
    grid = dataclasses.replace(found.grid, machine=BUILT)
    took = measured(found.program, grid, found.memory)
    assert took <= bound(found.program, grid) <= 1.1 * took


def test_indexes_that_are_data_reach_their_bound():
    found = case("track", SMALL)
    grid = dataclasses.replace(found.grid, machine=BUILT)
    longest = bound(found.program, grid)
    usual = measured(found.program, grid, found.memory)
    fill_worst("track", found.memory, grid, PART, np.random.default_rng(1))
    assert usual < measured(found.program, grid, found.memory) <= longest


def test_a_followed_request_that_is_cut_short_is_caught(monkeypatch):
    """Planted: every lane but the last is followed."""
    text = "mov v0, vc.tid_x\nshl v0, v0, 5\nmovvsp vc.mem_idx, v0\nldgidxit v1, 0\nexit\n"
    program = assemble(f".data\n0 0 8192 1\n.sp_data\n0 0 64 1\n.text\n{text}", "k.sas")
    grid = Grid(64 * 3, 1, BUILT)
    took = measured(program, grid, memory_of(program))
    assert took <= bound(program, grid) <= 1.05 * took
    delay = followed_indexes.indexed_delay
    monkeypatch.setattr(followed_indexes, "indexed_delay", lambda part, lanes, words, items, **more:
                        delay(part, lanes[:-1], words[:-1], items, **more))
    assert took > bound(program, grid)


@pytest.mark.parametrize("address", [0, 0xFF40])
def test_rows_of_a_buffer_are_those_of_its_address(address):
    """As many words as a row of all banks has: from its beginning on, no bank has two rows."""
    words = PART.bursts_per_sweep * BURST_WORDS
    text = "ldglin v0, 1\nmovvsp vc.mem_idx, v0\nldgidxit v1, 0\nexit\n"
    program = assemble(f".data\n0 {address:#x} {words} 1\n1 0x400000 64 1\n.sp_data\n0 0 64 1\n"
                       f".text\n{text}", "k.sas")
    grid = Grid(64, 1, BUILT)
    rng, longest = np.random.default_rng(1), 0
    last = np.uint32(words - 1)
    for kind in range(6):
        memory = memory_of(program)
        memory[1][0] = rng.integers(0, words, 64) if kind < 5 else np.tile((0, last), 32)
        longest = max(longest, measured(program, grid, memory))
    found = bound(program, grid)
    assert longest <= found
    assert (found < 1500) == (address == 0)


LEAVES = "ldglin v3, 1\nitest.l p0, v3\nexit p0\nmov v0, vc.lid_x\nmovvsp vc.mem_idx, v0\n"
CONVERTED = ("cvt.i2f v1, sc.dim_x\ncvt.f2i v1, v1\nmov v0, vc.lid_x\niadd v0, v0, v1\n"
             "movvsp vc.mem_idx, v0\n")


@pytest.mark.parametrize(("text", "least"), [(LEAVES, 0.7), (CONVERTED, 0.99)])
def test_indexes_after_an_exit_by_data_and_from_a_register_of_the_work_group(text, least):
    """Any lanes may have left, but words lie in the rows of all; both bounds were ten times as
    long."""
    program = assemble(".data\n0 0 4096 64\n1 0x200000 64 4\n.text\n" + text
                       + "ldgidxit v2, 0\n" * 5 + "exit\n", "k.sas")
    grid, memory = Grid(64, 1, BUILT, 64), memory_of(program)
    rng = np.random.default_rng(0)
    ratios = []
    for share in (0, 0.1, 0.5, 0.9):
        memory[1][...] = np.where(rng.random(memory[1].shape) < share, 0x8000_0000, 0)
        ratios.append(measured(program, grid, memory) / bound(program, grid))
    assert least < max(ratios) <= 1


def test_lanes_that_leave_by_data_on_one_route_only():
    """Where routes join, what has left on one of them may be there still: a predicate that has all
    lanes leave is no limit, and the words of lanes that left on one route count."""
    text = ("mov v0, vc.lid_x\nshl v1, v0, 12\nmovvsp vc.mem_idx, v1\nsmov s0, sc.wg_off_x\n"
            "iadd v2, v0, -1\nsicj.g far, s0\nitest.ge p0, v2\nexit p0\nfar:\nldgidxit v3, 0\n"
            "ldgidxit v3, 0\nldgidxit v3, 0\nldgidxit v3, 0\nexit\n")
    program = assemble(".data\n0 0 4096 64\n.text\n" + text, "k.sas")
    grid = Grid(128, 1, BUILT, 64)
    ratio = measured(program, grid, memory_of(program)) / bound(program, grid)
    assert 0.1 < ratio <= 1


class IndexedKernel:
    """A random kernel whose indexes come from places, scalars and data, and whose lanes leave."""

    def __init__(self, rng):
        self._rng, self._known = rng, ["v0"]
        self._lines = [f"mov v0, vc.{rng.choice(('lid_x', 'tid_x', 'lid_y', 'tid_y'))}"]
        kinds = (self._converted, self._integer, self._integer, self._left_by_place,
                 self._left_by_data, self._data, self._loop, self._request)
        for number in range(rng.randint(2, 14)):
            rng.choice(kinds)(f"v{number % 5}", rng.choice(self._known), number)
        self._request("", rng.choice(self._known), 0)
        buffers = (f"0 {rng.choice(('0', '0x40', '0x7fe0'))} 4096 64\n1 0x200000 256 4\n"
                   "2 0x300000 256 4\n")
        self.text = f".data\n{buffers}.text\n" + "\n".join(self._lines) + "\nstglin v9, 2\nexit\n"

    def _add(self, *lines):
        self._lines += lines

    def _converted(self, target, source, number):
        register = self._rng.choice(("dim_x", "wg_off_x", "wg_off_y", "wg_width", "sd_words"))
        self._add(f"cvt.i2f {target}, sc.{register}", f"cvt.f2i {target}, {target}")
        self._known.append(target)

    def _integer(self, target, source, number):
        name = self._rng.choice(("add", "sub", "mul", "min", "max"))
        other = self._rng.choice((*self._known, "1", "16", "100", "4096"))
        self._add(f"i{name} {target}, {source}, {other}")
        self._known.append(target)

    def _left_by_place(self, target, source, number):
        self._add(f"iadd v5, {source}, -{self._rng.choice((1, 20, 40, 63))}",
                  f"itest.{self._rng.choice(('l', 'ge', 'ez'))} p0, v5", "exit p0")

    def _left_by_data(self, target, source, number):
        self._add("ldglin v6, 1", "itest.l p1, v6", "exit p1")

    def _data(self, target, source, number):
        self._add("ldglin v7, 1", "and v7, v7, 255")
        self._known.append("v7")

    def _loop(self, target, source, number):
        leave = ["itest.ge p1, v0", "exit p1"] if self._rng.random() < 0.2 else []
        self._add(f"smov s3, {self._rng.randint(0, 3)}", f"again{number}:", "sisub s3, s3, 1",
                  f"iadd {source}, {source}, {self._rng.choice((0, 1, 4096))}", *leave,
                  f"sicj.g again{number}, s3")

    def _request(self, target, source, number):
        self._add(f"and v8, {source}, {self._rng.choice((63, 255, 4095, 262143))}",
                  "movvsp vc.mem_idx, v8",
                  self._rng.choice(("ldgidxit v9, 0", "stgidxit v9, 0")))


def exceeds(seed):
    """Whether a random kernel takes longer than its bound, for any of four contents."""
    rng = random.Random(seed)
    program = assemble(IndexedKernel(rng).text, "indexed.sas")
    grid = Grid(rng.choice((1, 7, 64, 65, 128, 200)), rng.choice((1, 1, 3, 9)), BUILT,
                rng.choice((8, 64)))
    most, contents = bound(program, grid), np.random.default_rng(seed)
    for share in (0, 0.1, 0.5, 0.9):
        memory = memory_of(program)
        left = contents.random(memory[1].shape) < share
        memory[1][...] = np.where(left, 0x8000_0000, contents.integers(0, 256, left.shape))
        if measured(program, grid, memory) > most:
            return True
    return False


def test_no_random_kernel_with_indexes_exceeds_its_bound():
    assert [seed for seed in range(12) if exceeds(seed)] == []


def test_random_kernels_with_indexes_find_a_delay_that_is_too_short(monkeypatch):
    """Of a request whose words are known; too few rows are not found by them."""
    delay = FollowedIndexes._delay
    monkeypatch.setattr(FollowedIndexes, "_delay", lambda *known: max(0, delay(*known) - 12))
    assert any(exceeds(seed) for seed in range(60))


@pytest.mark.thorough
def test_no_random_kernel_with_indexes_exceeds_its_bound_in_five_hundred():
    assert [seed for seed in range(12, 512) if exceeds(seed)] == []
