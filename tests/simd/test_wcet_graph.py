"""Routes, loops, bounds: what runs show is in the graph, and what has no bound is named."""

import random

import numpy as np
import pytest

from cyclebound.golden.simd import arithmetic
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.golden.simd.references import REFERENCES
from cyclebound.golden.simd.work_group import Code, WorkGroup, memory_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.simd.run import run_kernel
from cyclebound.tools.simd.assembler import assemble, assemble_file
from cyclebound.tools.simd.kernel_cases import case
from cyclebound.tools.simd.kernels import KERNELS, kernel_path
from cyclebound.tools.simd.random_kernels import random_kernel
from cyclebound.tools.simd.wcet.graph import Node, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.live_lanes import without_dead_pops
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops, _stays
from cyclebound.tools.simd.wcet.observed import Annotations, check_rounds

pytestmark = pytest.mark.unit

SMALL = MACHINES["small"]


def routes(program):
    """The graph that the analysis works on."""
    return without_dead_pops(RouteGraph(program))


def traces(program, grid, memory):
    """The whole trace of every work-group."""
    code = Code(program)
    with np.errstate(all="ignore"):
        for place in grid.places():
            group, trace = WorkGroup(code, grid, place, memory), []
            while (access := group.advance(trace)) is not None:
                group.make(access)
            yield trace


def kernel(text):
    return assemble(".data\n0 0 64 4\n.text\n" + text, "k.sas")


def bounds(text, grid=None):
    """(line of the header, most, exact, inferred) of each loop, the innermost first."""
    program = kernel(text)
    found = BoundedLoops(routes(program), grid)
    return [(program.lines[loop.header.at] - 3, bound.most, bound.exact, bound.inferred)
            for loop in found.loops for bound in [found.bounds[loop]]]


COUNTED = """smov s0, 5
again:
sisub s0, s0, 1
{} sicj.g again, s0
exit
"""


def test_the_bound_of_a_counter_is_inferred():
    assert bounds(COUNTED.format("")) == [(3, 4, True, True)]
    assert bounds(COUNTED.format("\n#bound branchcycle 4 1\n")) == [(3, 4, True, True)]


@pytest.mark.parametrize("first", ["bufquery.dim_x s0, 0", "smov s0, sc.dim_x",
                                   "smov s1, sc.dim_y\nsmov s2, 16\nsimul s0, s1, s2"])
def test_dimensions_are_known(first):
    text = COUNTED.format("").replace("smov s0, 5", first)
    assert bounds(text, Grid(64, 4, SMALL))[0][1:] == (63, True, True)


def test_a_counter_of_any_length_is_inferred():
    text = COUNTED.format("").replace("smov s0, 5", "smov s0, {}")
    assert bounds(text.format(2_000_000_001)) == [(3, 2_000_000_000, True, True)]
    with pytest.raises(WcetError, match="put #bound"):  # it goes beyond 32 bits
        bounds(text.format(0).replace("sicj.g", "sicj.nz"))


def test_how_long_a_counter_stays():
    rng, found = random.Random(1), 0
    for _ in range(2000):
        first = rng.choice((0, 1 << 31)) + rng.randint(-20, 20)
        step, leaves = rng.randint(-5, 5), rng.random() < 0.5
        condition = rng.choice(list(arithmetic.CONDITIONS))
        compare = arithmetic.CONDITIONS[condition]
        stays = next((count for count in range(60) if compare(
            (first + step * count) & 0xFFFF_FFFF ^ 1 << 31, 1 << 31) == leaves), None)
        said = _stays(first, step, condition, leaves)
        assert said in (None, stays) or (stays is None and said >= 60)
        found += said is not None
    assert found > 1000


def test_a_function_called_from_two_places_has_its_loop_twice():
    text = ("call f\ncall f\nexit\nf:\nsmov s0, 3\nagain:\nsisub s0, s0, 1\n"
            "sicj.g again, s0\ncpop\n")
    assert [bound[1:] for bound in bounds(text)] == [(2, True, True)] * 2


def test_a_loop_that_lanes_may_leave_is_not_exact():
    text = ("mov v0, vc.lid_x\ncpush.brk done\nsmov s0, 9\nagain:\nitest.ez p0, v0\nbrk p0\n"
            "sisub s0, s0, 1\nsicj.g again, s0\ncpop\ndone:\nexit\n")
    assert [bound[1:] for bound in bounds(text)] == [(8, False, True)]


def test_a_loop_that_ends_at_its_top():
    text = ("sldg s0, 0\nagain:\n#bound branchcycle 1 7 1\nsicj.le done, s0\nsisub s0, s0, 1\n"
            "j again\ndone:\nexit\n")
    assert bounds(text) == [(4, 7, False, False)]


def test_two_branches_to_one_label_are_two_loops():
    text = ("sldg s0, 0, 2\nagain:\nsisub s0, s0, 1\n#bound branchcycle 3 1\nsicj.g again, s0\n"
            "sisub s1, s1, 1\n#bound branchcycle 6 1\nsicj.g again, s1\nexit\n")
    assert [bound[:2] for bound in bounds(text)] == [(3, 3), (3, 6)]


def test_a_register_that_a_load_changes_on_the_way_is_not_known():
    text = ("smov s0, 5\nagain:\nsldg s1, 0\nsiadd s0, s0, s1\nsisub s0, s0, 1\n{}"
            "sicj.g again, s0\nexit\n")
    with pytest.raises(WcetError, match="put #bound"):
        bounds(text.format(""))
    assert bounds(text.format("#bound branchcycle 9 1\n")) == [(3, 9, False, False)]


TWO_ENTRIES = """sldg s0, 0
sicj.g middle, s0
top:
nop
middle:
sisub s0, s0, 1
#bound branchcycle 3 1
sicj.g top, s0
exit
"""


@pytest.mark.parametrize(("text", "says"), [
    ("again:\nj again\n", r"line 5, .*loop that begins here.*no sicj leaves it"),
    ("sldg s0, 0\nagain:\nsicj.g again, s0\nexit\n",
     r"line 6, instruction 1.*put #bound branchcycle T N before the sicj at line 6"),
    ("sldg s0, 0\nagain:\n#bound branchcycle 3 0\nsicj.g again, s0\nexit\n", "never leaves"),
    (COUNTED.format("\n#bound branchcycle 3 1\n"),
     r"line 9, instruction 2: #bound.*at most 3 times, and it does 4 times"),
    (TWO_ENTRIES, "entered here and at another place"),
    ("mov v0, vc.lid_x\nagain:\ncpush.if again\ncpop\n", "no sicj leaves it"),
])
def test_what_has_no_bound_is_named(text, says):
    with pytest.raises(WcetError, match=says):
        bounds(text)


def test_recursion_is_named():
    from cyclebound.tools.simd.assembler import AssemblyError

    with pytest.raises(AssemblyError, match="16 entries"):
        kernel("f:\ncall f\nexit\n")


def test_every_installed_loop_is_inferred_at_its_full_size():
    found = 0
    for name in KERNELS:
        program, reference = assemble_file(kernel_path(name)), REFERENCES[name]
        loops = BoundedLoops(routes(program), Grid(reference.x, reference.y,
                                                       MACHINES["paper"]))
        assert all(bound.inferred for bound in loops.bounds.values()), name
        found += len(loops.bounds)
    assert found == 9


@pytest.mark.parametrize("name", ["spmv", "track", "srad_reduce", "matrix_product"])
def test_kernels_stay_in_their_graph(name):
    found = case(name, SMALL)
    loops = BoundedLoops(routes(found.program), found.grid)
    for trace in traces(found.program, found.grid, found.memory):
        rounds = check_rounds(loops, trace)
        for loop, bound in loops.bounds.items():
            assert not bound.exact or rounds[loop] == bound.most


def followed(seed, seen):
    made = random_kernel(seed, SMALL, 148)
    program = assemble(made.text, "random.sas")
    memory = memory_of(program)
    rng = np.random.default_rng(seed)
    for words in memory.values():
        words[...] = rng.integers(0, 1 << 32, words.shape, dtype=np.uint32)
    loops = BoundedLoops(routes(program), Grid(148, 1, SMALL))
    for trace in traces(program, Grid(148, 1, SMALL), memory):
        seen.update({node for node in trace if node < 0})
        seen.add(bool(check_rounds(loops, trace)))


def test_random_kernels_stay_in_their_graphs():
    seen = set()
    for seed in range(15):
        followed(seed, seen)
    assert {True, False, -1, -2} <= seen


@pytest.mark.thorough
def test_many_random_kernels_stay_in_their_graphs():
    seen = set()
    for seed in range(1000, 2000):
        followed(seed, seen)


def test_a_run_contradicts_its_annotation():
    text = "sldg s0, 0\nagain:\nsisub s0, s0, 1\n#bound branchcycle 3 1\nsicj.g again, s0\nexit\n"
    program, grid = kernel(text), Grid(64, 1, SMALL)
    loops = BoundedLoops(routes(program), grid)
    for first, says in ((4, None), (5, r"line 8, .*at most 3 times, and it came back 4 times")):
        memory = memory_of(program)
        memory[0][...] = first
        (trace,) = traces(program, grid, memory)
        if says is None:
            assert list(check_rounds(loops, trace).values()) == [3]
        else:
            with pytest.raises(WcetError, match=says):
                check_rounds(loops, trace)


SHORT = "sldg s0, 0\nagain:\nsisub s0, s0, 1\n#bound branchcycle 3 1\nsicj.g again, s0\nexit\n"
AT_ITS_TOP = """sldg s0, 0
again:
#bound branchcycle 1 4
sicj.le done, s0
sisub s0, s0, 1
j again
done:
exit
"""
INNER = """sldg s0, 0
smov s1, 2
again:
sisub s0, s0, 1
#bound branchcycle 3 1
sicj.g again, s0
sisub s1, s1, 1
#bound branchcycle 1 1
sicj.g again, s1
exit
"""
ENTERED_ANEW = """smov s2, 3
outer:
sldg s0, 0
again:
sisub s0, s0, 1
sicj.ez gone, s0
#bound branchcycle 3 1
sicj.g again, s0
gone:
sisub s2, s2, 1
sicj.g outer, s2
exit
"""


@pytest.mark.parametrize("model", ["golden", "cycle"])
@pytest.mark.parametrize(("text", "line"), [
    (SHORT, 8), (AT_ITS_TOP, 7), (INNER, 9), (ENTERED_ANEW, 11),
])
def test_a_run_says_which_annotation_it_contradicts(text, line, model):
    program, grid = kernel(text), Grid(64 * 3, 1, SMALL)
    for first in (4, 5):
        memory = memory_of(program)
        memory[0][...] = first
        if first == 4:
            run_kernel(program, grid, memory, model=model)
        else:
            with pytest.raises(UserError, match=rf"line {line}, .*came back \d+ times"):
                run_kernel(program, grid, memory, model=model)


@pytest.mark.parametrize("model", ["golden", "cycle"])
def test_a_run_says_which_value_it_contradicts(model):
    program = assemble(".data\n0 0 64 4\n.sp_data\n0 0 64 1\n.text\nsldg s0, 0\n#bound value 4\n"
                       "smovssp sc.sd_words, s0\nsldsp s1, 0\nexit\n", "k.sas")
    grid, memory = Grid(64, 1, SMALL), memory_of(program)
    memory[0][...] = 4
    run_kernel(program, grid, memory, model=model)
    memory[0][...] = 5
    with pytest.raises(UserError, match=r"line 8, .*at most 4, and 5 is written to sc\.sd_words"):
        run_kernel(program, grid, memory, model=model)


def test_random_kernels_keep_their_annotations():
    for seed in range(6):
        program = assemble(random_kernel(seed, SMALL, 148).text, "random.sas")
        found = Annotations(program)
        for trace in traces(program, Grid(148, 1, SMALL), memory_of(program)):
            found.check(trace)


def test_a_missing_edge_is_noticed():
    program = kernel(COUNTED.format(""))
    graph = routes(program)
    (trace,) = traces(program, Grid(64, 1, SMALL), memory_of(program))
    loops = BoundedLoops(graph)
    node = Node(2, ())
    graph.after[node] = graph.after[node][1:]
    with pytest.raises(WcetError, match="0 edges"):
        check_rounds(loops, trace)
