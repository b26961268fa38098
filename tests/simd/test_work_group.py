"""The functional model: control flow, transfers at the edges of buffers, and what is refused."""

import numpy as np
import pytest

from cyclebound.golden.simd.functional import run
from cyclebound.golden.simd.machine import MACHINES, Grid, Machine
from cyclebound.golden.simd.work_group import INJECTED, Code, KernelFault, WorkGroup, memory_of
from cyclebound.tools.simd.assembler import assemble

pytestmark = pytest.mark.unit

SMALL = MACHINES["small"]
HEAD = ".data\n0 0 64 1\n1 0x1000 64 1\n2 0x2000 20 5\n.sp_data\n0 0 16 8\n.text\n"


def after(text, x=64, y=1, width=0, fill=None):
    """The buffers after a kernel whose text ends in a store."""
    program = assemble(HEAD + text + "\nexit\n")
    memory = memory_of(program)
    for number, words in (fill or {}).items():
        memory[number][...] = words
    run(program, Grid(x, y, SMALL, width), memory)
    return memory


def stored(text, **more):
    """What lanes have in v0 at the end."""
    return after(text + "\nstglin v0, 0", **more)[0][0].tolist()


LANES = "mov v1, vc.lid_x\nmov v0, vc.zero\n"


def odd(predicate):
    return f"and v2, v1, 1\nitest.nz {predicate}, v2\n"


def test_a_branch_runs_both_sides_each_with_its_lanes():
    found = stored(LANES + odd("p0") + """
        cpush.if end
        bra odd, p0
        iadd v0, v0, 10
        cpop
    odd:
        iadd v0, v0, 20
        cpop
    end:
        iadd v0, v0, 1""")
    assert found == [11, 21] * 32


@pytest.mark.parametrize(("lanes", "path"), [
    ("itest.ge p0, v1\n", [2, 3, 4, INJECTED, 7, 8, 9]),   # all lanes go there
    ("itest.l p0, v1\n", [2, 3, 4, 5, 6, INJECTED, 9]),    # none does
])
def test_with_no_lane_active_a_pop_is_injected(lanes, path):
    program = assemble(HEAD + "mov v1, vc.lid_x\nmov v0, vc.zero\n" + lanes + """
        cpush.if end
        bra other, p0
        iadd v0, v0, 10
        cpop
    other:
        iadd v0, v0, 20
        cpop
    end:
        exit""")
    grid = Grid(64, 1, SMALL)
    group = WorkGroup(Code(program), grid, next(grid.places()), memory_of(program))
    trace = []
    assert group.advance(trace) is None
    assert trace[2:] == path
    assert group.ended
    assert group.stack == []


def test_a_loop_ends_for_each_lane_by_itself():
    found = stored(LANES + """
        cpush.brk end
    next:
        isub v3, v1, v0
        itest.le p0, v3
        brk p0
        iadd v0, v0, 1
        j next
    end:""")
    assert found == list(range(64))


def test_calls_return_lane_by_lane():
    found = stored(LANES + odd("p0") + odd("p1") + """
        call add5
        cpush.jc after
        call add5, p0
        cpop
    after:
        j end
    add5:
        iadd v0, v0, 5
        ret p0
        iadd v0, v0, 100
        cpop
    end:""")
    assert found == [105, 10] * 32


def test_exit_without_a_predicate_ends_the_active_lanes_only():
    program = HEAD + LANES + odd("p0") + """
        cpush.if rest
        cmask p0
        exit
    rest:
        mov v0, 7
        stglin v0, 0
        exit"""
    program = assemble(program)
    memory = memory_of(program)
    run(program, Grid(64, 1, SMALL), memory)
    assert memory[0][0].tolist() == [0, 7] * 32


def test_a_kernel_that_masks_every_lane_before_its_first_transfer_ends():
    program = assemble(HEAD + "mov v0, vc.one\nitest.g p0, v0\nexit p0\nstglin v0, 0\nexit")
    memory = memory_of(program)
    run(program, Grid(640, 1, SMALL), memory)
    assert not memory[0].any()


def test_masked_lanes_keep_registers_predicates_and_special_ones():
    found = stored(LANES + odd("p0") + """
        mov v3, 5
        movvsp vc.mem_data, v3
        mov v3, vc.zero
        itest.ez p2, v3
        cpush.if end
        cmask p0
        mov v3, 9
        movvsp vc.mem_data, v3
        itest.nz p2, v1
        mov v0, 1
        itest.l p2, v0
        smov s0, 3
        cpop
    end:
        mov v4, vc.mem_data
        iadd v0, v3, v4
        cpush.if last
        cmask p2
        iadd v0, v0, 1000
        cpop
    last:
        iadd v0, v0, s0""")
    assert found == [1021, 8] * 32


@pytest.mark.parametrize(("x", "y", "wanted"), [
    (0, 0, [[1, 2, 3, 4], [21, 22, 23, 24]]),
    (-1, 0, [[99, 1, 2, 3], [99, 21, 22, 23]]),
    (0, -1, [[99, 99, 99, 99], [1, 2, 3, 4]]),
    (18, 0, [[19, 20, 99, 99], [39, 40, 99, 99]]),
    (0, 4, [[81, 82, 83, 84], [99, 99, 99, 99]]),
    (20, 0, [[99] * 4] * 2), (-4, 0, [[99] * 4] * 2), (0, 5, [[99] * 4] * 2),
    (-30000, 30000, [[99] * 4] * 2)])
def test_tiles_are_clipped_to_their_buffers(x, y, wanted):
    program = assemble(HEAD + f"mov v0, 99\nldglin v0, 2, {x}, {y}\nstglin v0, 0\nexit")
    memory = memory_of(program)
    memory[2][...] = np.arange(1, 101).reshape(5, 20)
    grid = Grid(4, 2, Machine(lanes=4, items=8, special_units=1), 4)
    group = WorkGroup(Code(program), grid, next(grid.places()), memory)
    access = group.advance()
    group.make(access)
    assert group.v[0].reshape(2, 4).tolist() == wanted
    moved = sum(value != 99 for line in wanted for value in line)
    assert access.words * access.count == moved
    assert access.empty == (moved == 0)
    if moved:
        first = min(value for line in wanted for value in line)
        assert access.address == 0x2000 // 4 + first - 1


def test_lanes_outside_of_the_grid_are_off():
    found = after("mov v0, 1\nstglin v0, 2", x=7, y=3, width=8)[2]
    assert found[:3, :7].all()
    assert found.sum() == 21


@pytest.mark.parametrize("k", [2, 4])
def test_vectors_of_registers(k):
    found = after(f"ldglin.vec{k} v4, 1\nstglin.vec{k} v4, 0", x=64 // k,
                  fill={1: np.arange(64)})[0]
    assert found[0].tolist() == list(range(64))
    program = assemble(HEAD + f"ldglin.vec{k} v4, 1, -1\nexit")
    memory = memory_of(program)
    memory[1][0] = np.arange(64)
    grid = Grid(64 // k, 1, SMALL, 64)
    group = WorkGroup(Code(program), grid, next(grid.places()), memory)
    group.make(group.advance())
    assert group.v[4:4 + k, :2].T.ravel().tolist() == [0] * k + list(range(k))


def test_scratchpad_tiles_and_their_edges():
    found = after("""
        ldg2sptile 0, 2, 18, 3       // 2 x 2 words of 16 x 8
        ldsplin v0, 0, -1, 0
        stglin v0, 0""", x=8, y=8, width=8, fill={2: np.arange(100).reshape(5, 20)})[0][0]
    assert found[:8].tolist() == [0, 78, 79, 0, 0, 0, 0, 0]


def test_a_scratchpad_tile_goes_back():
    found = after("""
        ldg2sptile 0, 2, 0, 0
        stg2sptile 0, 2, 4, 1""", fill={2: np.arange(100).reshape(5, 20)})[2]
    assert found[1, 4:].tolist() == list(range(16))
    assert found[0].tolist() == list(range(20))


def test_snoopy_loads_and_stores():
    index = (np.arange(64) * 7 + 3) % 70
    found = after("""
        ldglin v1, 1
        movvsp vc.mem_idx, v1
        ldgbidx 0
        mov v0, vc.mem_data
        stglin v0, 1""", fill={0: np.arange(64) + 1000, 1: index})[1][0]
    assert found.tolist() == [i + 1000 if i < 64 else 0 for i in index]


def test_of_equal_indexes_snoopy_stores_the_lowest_lane_and_iterated_ones_the_highest():
    text = "mov v1, vc.lid_x\nshr v2, v1, 2\nmovvsp vc.mem_idx, v2\n"
    assert after(text + "movvsp vc.mem_data, v1\nstgbidx 0")[0][0, :16].tolist() == list(
        range(0, 64, 4))
    assert after(text + "stgidxit v1, 0")[0][0, :16].tolist() == list(range(3, 64, 4))


def test_a_snoopy_tile():
    found = after("""
        smovssp sc.sd_words, 3
        smovssp sc.sd_period, 20
        smovssp sc.sd_period_cnt, 2
        mov v1, vc.lid_x
        mov v0, 7
        movvsp vc.mem_data, v0
        movvsp vc.mem_idx, v1
        ldgcidx 2, 2, 1
        mov v0, vc.mem_data
        stglin v0, 0""", fill={2: np.arange(100).reshape(5, 20)})[0][0].tolist()
    assert found == [lane if lane in (22, 23, 24, 42, 43, 44) else 7 for lane in range(64)]


def test_scalars_from_dram_and_scratchpad():
    found = stored("""
        sldg s4, 1, 3
        ldg2sptile 0, 2
        smovssp sc.sd_words, 2
        sldsp s8, 0, 1, 1
        siadd s4, s4, s6
        siadd s4, s4, s8
        siadd s4, s4, s9
        mov v1, vc.zero
        or v0, v1, s4""", fill={1: np.arange(64) + 1, 2: np.arange(100).reshape(5, 20)})
    assert found[0] == 1 + 3 + 21 + 22


@pytest.mark.parametrize(("text", "says"), [
    ("mov v1, 64\nmovvsp vc.mem_idx, v1\nldgidxit v0, 0",
     ("line 10, instruction 2 (ldgidxit), work-group 0 at (0, 0): index 64 of lane 0 leaves buffer "
     "0 of 64 words")),
    ("smovssp sc.sd_words, 3\nsmovssp sc.sd_period, 2\nldgcidx 0",
     ("line 10, instruction 2 (ldgcidx), work-group 0 at (0, 0): 1 lines of 3 words, 2 apart, are "
     "no tile")),
    ("smovssp sc.sd_words, 3\nsmovssp sc.sd_period, 3\nldgcidx 0, 62",
     ("line 10, instruction 2 (ldgcidx), work-group 0 at (0, 0): words 62 to 64 leave buffer 0 of "
     "64 words")),
    ("sldg s0, 2, 31\nsmovssp sc.sd_words, 9\nsldsp s24, 0",
     ("line 10, instruction 2 (sldsp), work-group 0 at (0, 0): sldsp to s24 takes 1 to 8 words, "
     "not 9")),
    ("smov s0, -1\nsldsp s0, 0, s0",
     ("line 9, instruction 1 (sldsp), work-group 0 at (0, 0): (-1, 0) is no word of scratchpad "
     "buffer 0")),
    ("l:\nj l", ("line 9, instruction 0 (j), work-group 0 at (0, 0): it has run 100 instructions, "
     "and has not ended")),
])
def test_what_stops_a_kernel(text, says):
    program = assemble(HEAD + text + "\nexit", "k.sas")
    with pytest.raises(KernelFault) as raised:
        run(program, Grid(64, 1, SMALL), memory_of(program), most=100)
    assert str(raised.value) == f"k: {says}"


def test_an_illegal_index_stops_the_kernel_after_the_other_lanes_have_moved():
    program = assemble(HEAD + "mov v1, vc.lid_x\niadd v1, v1, 1\nmovvsp vc.mem_idx, v1\n"
                       "stgidxit v1, 0\nexit")
    memory = memory_of(program)
    with pytest.raises(KernelFault, match="index 64 of lane 63"):
        run(program, Grid(64, 1, SMALL), memory)
    assert memory[0][0].tolist() == list(range(64))


@pytest.mark.parametrize(("make", "says"), [
    (lambda: Grid(0, 1, SMALL), r"a grid's x must be from 1 to 1048575, not 0"),
    (lambda: Grid(1, 1 << 20, SMALL), r"a grid's y must be from 1 to 1048575, not 1048576"),
    (lambda: Grid(9, 1, SMALL, 3), (r"a work-group's width must be one of 2, 4, 8, 16, 32, 64, "
     r"not 3")),
    (lambda: Machine(lanes=3), r"lanes must be a power of two of at least 1, not 3"),
    (lambda: Machine(lanes=8, items=4), (r"items must be a multiple of lanes and lanes of "
     r"special_units, not 4, 8 and 32")),
    (lambda: Machine(divider_cycles=4), (r"divider_cycles must be at least execute_stages \(5\), "
     r"not 4")),
])
def test_a_grid_or_machine_that_there_is_not(make, says):
    with pytest.raises(ValueError, match=rf"^{says}$"):
        make()


def test_work_groups_of_a_grid():
    grid = Grid(100, 3, SMALL, 32)
    assert (grid.height, grid.count) == (2, 8)
    assert [(place.x, place.y) for place in grid.places()][:5] == [
        (0, 0), (32, 0), (64, 0), (96, 0), (0, 2)]
    assert Grid(1, 1, SMALL).width == 2
    assert Grid(5000, 1, MACHINES["paper"]).width == 1024


def test_what_a_model_prints():
    said = []
    program = assemble(HEAD + "smov s1, 5\nprintsgpr s1\nprintcmask vc.ctrl_run\nprinttrace\nexit")
    run(program, Grid(64, 1, SMALL), memory_of(program), printed=said.append)
    assert said[0] == "printsgpr at 1, work-group 0 at (0, 0): s1 = 0x00000005"
    assert len(said) == 3
