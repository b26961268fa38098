"""Issue cycles of the pipeline against measurements of Sim-D's model, and by other stages."""

import numpy as np
import pytest

from cyclebound.golden.simd.machine import MACHINES, Grid, Machine
from cyclebound.golden.simd.pipeline import Pipeline
from cyclebound.golden.simd.work_group import Code, WorkGroup, memory_of
from cyclebound.tools.simd.assembler import assemble

pytestmark = pytest.mark.unit

PAPER = MACHINES["paper"]
SHORT = Machine(decode_stages=1, execute_stages=3)
HEAD = ".data\n0 0 64 1\n.sp_data\n0 0 16 8\n.text\n"


def issued(text, machine=PAPER):
    """(issue cycles of the path that a work-group takes, the phase's length)."""
    program = assemble(HEAD + text + "\nldglin v63, 0\nexit\n")
    grid = Grid(64, 1, machine)
    group = WorkGroup(Code(program), grid, next(grid.places()), memory_of(program))
    trace = []
    with np.errstate(all="ignore"):
        group.advance(trace)
    *cycles, length = Pipeline(program, machine).issues(trace)
    return cycles, length


def gap(text, machine=PAPER, first=0):
    """Cycles from the issue of an instruction to the next."""
    cycles, _ = issued(text, machine)
    return cycles[first + 1] - cycles[first]


@pytest.mark.parametrize(("text", "three", "one"), [
    ("siadd s1, s0, 1\nsiadd s3, s2, 1", 1, 1),
    ("siadd s1, s0, 1\nsimad s2, s1, s0, s0", 8, 4),
    ("siadd s1, s0, 1\nsimad s2, s0, s1, s0", 7, 4),
    ("siadd s1, s0, 1\nsimad s2, s0, s0, s1", 6, 4),
    ("iadd v1, v0, 1\niadd v2, v0, 1", 8, 8),
    ("iadd v1, v0, 1\niadd v2, v1, 1", 8, 8),
    ("iadd v1, v0, 1\nnop", 8, 8),
    ("rcp v1, v0\nrcp v2, v0", 32, 32),
    ("rcp v1, v0\nrcp v2, v1", 32, 32),
    ("rcp v1, v0\niadd v2, v1, 1", 32, 32),
    ("siadd s1, s0, 1\niadd v1, v0, s1", 7, 4),
    ("sidiv s1, s0, s0\nsidiv s2, s0, s0", 9, 9),
    ("sidiv s1, s0, s0\nsidiv s2, s0, s1", 10, 9),
    ("sidiv s1, s0, s0\nsiadd s2, s0, 1", 4, 6),
    ("j l\nl: nop", 9, 5),
    ("sicj.ez l, s0\nl: nop", 9, 5),
    ("sicj.nz l, s0\nl: nop", 1, 1),
    ("cpush.if l\nl: nop", 8, 8),
    ("test.ez p0, v0\ncpush.if l\nbra l, p0\nl: nop", 8, 8),
    ("smovssp sc.sd_words, 1\nsldsp s0, 0", 8, 4),
    ("smov s1, 3\nldglin v0, 0, s1", 7, 4),
    ("smov s1, 3\nldglin v0, 0, 0, s1", 6, 4),
])
def test_from_issue_to_issue(text, three, one):
    assert gap(text) == three
    assert gap(text, SHORT) == one


def test_a_jump_to_the_next_instruction_costs_what_a_jump_does():
    assert issued("j l\nl: nop")[0][1] == 9


def test_push_and_pop():
    cycles, _ = issued("cpush.if l\ncpop\nl: nop")
    assert cycles[2] - cycles[0] == 29


NONE = "cpush.if l\ncmask p0\nnop\ncpop\nl: nop"
ALL = "mov v0, vc.zero\nitest.ez p0, v0\n" + NONE


def test_a_masked_block_and_one_that_is_skipped():
    cycles, _ = issued(NONE)
    assert cycles[4] - cycles[0] == 34
    cycles, _ = issued(ALL)
    assert cycles[5] - cycles[2] == 42  # cpush, cmask, an injected cpop


def test_an_access_is_committed_and_the_other_work_group_comes_next():
    assert issued("")[1] == 9
    assert issued("nop\nnop")[1] == 11
    assert issued("", SHORT)[1] == 5


def test_fewer_warps_than_stages_wait_for_results():
    machine = Machine(lanes=32, items=128, special_units=8)  # 4 warps
    assert gap("iadd v1, v0, 1\niadd v2, v1, 1", machine) == 8
    assert gap("iadd v1, v0, 1\nimad v2, v0, v0, v1", machine) == 6
    assert gap("iadd v1, v0, 1\niadd v2, v0, 1", machine) == 4
    slow = "rcp v1, v0\niadd v2, v1, 1\nnop"
    assert gap(slow, machine) == 16
    assert gap(slow, machine, first=1) == 4 + 4  # later warps wait for the last passes


def test_a_single_warp():
    machine = Machine(lanes=64, items=64, special_units=64)
    assert gap("iadd v1, v0, 1\niadd v2, v1, 1", machine) == 8
    assert gap("rcp v1, v0\niadd v2, v0, 1", machine) == 1


def test_what_prints_reads_nothing():
    for text in ("iadd v1, v0, 1\nprintvgpr v1", "itest.ez p0, v0\nprintpr p0",
                 "mov v1, vc.one\nprintcmask vc.one"):
        assert gap(text) == 8
    assert gap("siadd s1, s0, 1\nprintsgpr s1") == 1
