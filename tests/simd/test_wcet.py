"""Bounds of kernels: never exceeded on the cycle model, reached by the worst schedule, and too
small where a term of the analysis is left out."""

import dataclasses
import functools
import itertools
import json
import random
import re

import numpy as np
import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, Machine, as_built, machine_named
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.pipeline import Pipeline
from cyclebound.golden.simd.transfers import Access
from cyclebound.golden.simd.work_group import INJECTED, TAKEN, memory_of
from cyclebound.sim.catalogue import simd
from cyclebound.sim.cli.base import app
from cyclebound.tools.simd.assembler import assemble, assemble_file
from cyclebound.tools.simd.kernel_cases import case
from cyclebound.tools.simd.kernels import KERNELS, kernel_path
from cyclebound.tools.simd.random_kernels import random_kernel
from cyclebound.tools.simd.wcet import access_costs, chains, pairs, pipeline_costs
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import How, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.pipeline_costs import EdgeCosts, Flight
from cyclebound.tools.simd.wcet.timings import BACKED, TIMINGS
from cyclebound.tools.simd.wcet.worst_schedule import worst_schedule

pytestmark = pytest.mark.unit

SMALL = MACHINES["small"]
BUILT = as_built(SMALL)
PART = part_named("ddr4-3200aa-x16")
POLICIES = (Policy.ACCESS, Policy.COMPUTE, Policy.YIELD)


def measured(program, grid, memory, policy, part=PART):
    memory = {number: words.copy() for number, words in memory.items()}
    return CycleModel(program, grid, memory, policy=policy, part=part).run(keep=False).cycles


def kernel(text, buffers="0 0 640 4\n1 0x10000 640 4\n"):
    return assemble(f".data\n{buffers}.sp_data\n0 0 64 4\n.text\n{text}", "k.sas")


# -- the pipeline ----------------------------------------------------------------------------------

def random_routes(graph, rng, count):
    """Routes of compute phases: lists of edges."""
    begins = [graph.start, *(edge.target for node in graph.after for edge in graph.after[node]
                             if graph.is_access(node))]
    for _ in range(count):
        node, route = rng.choice(begins), []
        while node is not None and len(route) < 300:
            route.append(rng.choice(graph.after[node]))
            if graph.is_access(node):
                node = None
            else:
                node = route[-1].target
        if node is None:
            yield route


@pytest.mark.parametrize("machine", [
    MACHINES["paper"], SMALL, Machine(lanes=4, items=16, special_units=1, scratchpad_bus=4,
                                      decode_stages=1, execute_stages=3)])
def test_edges_cost_what_the_pipeline_takes(machine):
    compared = 0
    for seed in range(12):
        program = assemble(random_kernel(seed, machine, 148).text, "r.sas")
        graph = RouteGraph(program)
        costs, pipeline = EdgeCosts(graph, machine), Pipeline(program, machine)
        for route in random_routes(graph, random.Random(seed), 15):
            flight, alone, trace = Flight(), 0, []
            for edge in route:
                cost, flight = costs.step(flight, edge)
                alone += cost
                trace += [edge.source.at, *[TAKEN] * (edge.how is How.TAKEN),
                          *[INJECTED] * edge.injected]
            length = pipeline.length(trace)
            assert alone == length <= sum(map(costs.cost, route))
            compared += 1
    assert compared > 50


# -- kernels ---------------------------------------------------------------------------------------

@pytest.mark.parametrize(("text", "sizes", "chip"), [
    ("ldsplin v0, 0\n" * 40, "8 1", "6 9"),  # clipped: each line begins a line of the bus
    ("sldg s0, 0, 31\n" * 20, "10 9", "6 9"),  # whole lines of the buffer
    ("sldg s0, 0, 11\n" * 20, "10 9", "6 9")])
@pytest.mark.parametrize("bus", [4, 32])
def test_what_is_moved_otherwise_as_built(text, sizes, chip, bus):
    """Transfers of tiles that are clipped, and of words in a row, cost what the machine takes."""
    machine = as_built(machine_named(f"small scratchpad_bus={bus}"))
    program = assemble(f".data\n0 0 {sizes}\n.sp_data\n0 0 {chip}\n.text\n{text}exit\n", "k.sas")
    grid = Grid(8, 64, machine, 8)
    for policy in POLICIES:
        took = measured(program, grid, memory_of(program), policy)
        assert took <= Analysis(program, grid, PART).wcet(policy).cycles <= 1.2 * took


@functools.cache
def analysed(name, timing="sim-d", part=PART):
    found = case(name, SMALL)
    grid = dataclasses.replace(found.grid, machine=TIMINGS[timing].machine(SMALL))
    return found, Analysis(found.program, grid, part, "reset")


def check_kernel(name, timing, part=PART):
    found, analysis = analysed(name, timing, part)
    for policy in POLICIES:
        bound = analysis.wcet(policy)
        assert measured(found.program, analysis.grid, found.memory, policy, part) <= bound.cycles
        assert analysis.lower <= bound.cycles + 1
        worst = analysis.schedule(policy)[1]
        assert worst <= bound.bare <= bound.cycles
        loose = {("cnn_convolution", Policy.YIELD): 0.8, ("spmv", Policy.ACCESS): 0.85,
                 ("spmv", Policy.COMPUTE): 0.85, ("spmv", Policy.YIELD): 0.85}
        assert worst >= loose.get((name, policy), 0.94) * bound.bare


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_stay_within_their_bounds(name):
    """On the accelerator as it is built, to whose every event the RTL is compared."""
    check_kernel(name, "rtl")


@pytest.mark.thorough
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_with_other_timing_and_part(name):
    check_kernel(name, "sim-d")
    check_kernel(name, "rtl", part_named("ddr4-3200aa-x8"))
    check_kernel(name, "sim-d", part_named("ddr4-3200aa-x8"))


def test_bounds_are_below_one_work_group_after_the_other():
    for name in ("saxpy", "fft", "stencil", "track"):
        _, analysis = analysed(name)
        for policy in POLICIES:
            assert analysis.wcet(policy).cycles < analysis.upper


# -- random kernels --------------------------------------------------------------------------------

def contents(program, rng):
    memory = memory_of(program)
    for words in memory.values():
        kind = rng.integers(4)
        words[...] = (rng.integers(0, 1 << 32, words.shape, dtype=np.uint32) if kind == 0 else
                      rng.integers(0, 3, words.shape, dtype=np.uint32) if kind == 1 else
                      rng.integers(0, 2) * 0xFFFF_FFFF)
    return memory


def random_case(seed, machine):
    rng = np.random.default_rng(seed)
    words = int(rng.integers(64, 9 * 64))
    program = assemble(random_kernel(seed, SMALL, words).text, "r.sas")
    return program, Grid(words, 1, machine), contents(program, rng)


def check_random(seed, part=PART, machine=SMALL):
    """Measured / bound under each policy."""
    program, grid, memory = random_case(seed, machine)
    analysis = Analysis(program, grid, part, "reset")
    found = []
    for policy in POLICIES:
        cycles, bound = measured(program, grid, memory, policy, part), analysis.wcet(policy)
        assert cycles <= bound.cycles, (seed, policy)
        found.append(cycles / bound.cycles)
    return found


def test_random_kernels_stay_within_their_bounds():
    ratios = [ratio for seed in range(5000, 5010) for ratio in check_random(seed, machine=BUILT)]
    assert max(ratios) > 0.98  # some of them have one route only


@pytest.mark.parametrize("machine", [
    "small compute_ps=625 lanes=16 items=128", "small lanes=32 items=32 special_units=8",
    "small compute_ps=1300 scratchpad_bus=1",
    "small lanes=4 items=16 special_units=1 decode_stages=1 execute_stages=3 divider_cycles=3"])
def test_other_machines_as_built(machine):
    for seed in (5200, 5202):
        check_random(seed, machine=as_built(machine_named(machine)))


def test_a_compute_clock_faster_than_drams_is_refused():
    with pytest.raises(WcetError, match="faster than DRAM"):
        Analysis(kernel("exit\n"), Grid(64, 1, as_built(machine_named("small compute_ps=600"))),
                 PART)


def test_what_backs_the_constants():
    """Each is a bound of a block, or what a testbench of one compares."""
    blocks = {block.name: block for block in simd.BLOCKS}
    for constant in BACKED:
        block = blocks[constant.block]
        assert constant.bounds or constant.testbench
        assert set(constant.bounds) <= {bound.what for bound in block.bounds}
        if constant.testbench:
            assert constant.testbench in {bench.name for bench in block.testbenches}


@pytest.mark.parametrize("part", ["ddr4-3200aa-x8", "ddr4-1866m-x16", "ddr3-1600k-x8"])
def test_other_parts(part):
    known = part_named(part)
    for seed in range(5100, 5102):
        check_random(seed, known)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 3000, 250))
def test_many_random_kernels_stay_within_their_bounds(first):
    ratios = [ratio for seed in range(first, first + 250) for ratio in check_random(seed)]
    assert max(ratios) > 0.98


# -- by enumeration --------------------------------------------------------------------------------

def routes_of(analysis):
    """All routes of a kernel without loops: cycles of golden issue cycles, and accesses."""
    graph, pipeline = analysis.graph, Pipeline(analysis.program, analysis.grid.machine)

    def follow(node, trace):
        for edge in graph.after[node]:
            then = [*trace, node.at, *[TAKEN] * (edge.how is How.TAKEN),
                    *[INJECTED] * edge.injected]
            if graph.is_access(node):
                step = (pipeline.length(then), node)
                if node in analysis.phases.final:
                    yield [step]
                else:
                    yield from ([step, *rest] for rest in follow(edge.target, []))
            elif edge.target is None:
                yield [(pipeline.length(then), None)]
            else:
                yield from follow(edge.target, then)

    return list(follow(graph.start, []))


def by_enumeration(analysis, policy):
    """The longest schedule of all combinations of routes."""
    routes = routes_of(analysis)
    return max(worst_schedule(
        len(chosen), lambda group, chosen=chosen: iter(chosen[group]),
        lambda group, node: analysis.costs[node], analysis.phases.final, analysis.clocks,
        policy=policy, load=analysis.load, most=10_000)[1]
        for chosen in itertools.product(routes, repeat=len(analysis.kinds)))


WAYS = ("ldglin v{}, 0", "ldglin.vec2 v{}, 0", "stglin v{}, 1", "ldsplin v{}, 0", "ldg2sptile 0, 0",
        "sldg s{}, 0, 3", "rcp v9, v8\ncos v9, v9", "sin v9, v8", "mul v8, v8, v9")


def branching_kernel(seed):
    """A few accesses and computations; some are jumped over, and some work-groups end early."""
    rng = random.Random(seed)
    lines = ["sldg s0, 0, 4"]
    for number in range(rng.randint(1, 3)):
        if rng.random() < 0.6:
            lines.append(f"sicj.{rng.choice(('g', 'ez'))} skip{number}, s{rng.randrange(4)}")
        lines += [rng.choice(WAYS).format(10 + step) for step in range(rng.randint(1, 3))]
        if rng.random() < 0.2:
            lines.append("exit")
        lines.append(f"skip{number}:")
    lines.append(rng.choice(("stglin v8, 1", "rcp v9, v9", "stglin v8, 1\nmul v8, v8, v9")))
    return kernel("\n".join([*lines, "exit"]))


def jumping_kernel(seed):
    """Loops whose rounds the data decide, with transfers that some of them jump over."""
    rng = random.Random(seed)
    lines, labels = ["sldg s0, 0, 4", "bufquery.dim_x s9, 0"], itertools.count()

    def block(depth):
        for _ in range(rng.randint(1, 3)):
            kind, number = rng.random(), next(labels)
            if kind < 0.25 and depth < 2:
                most, counter = rng.randint(1, 4), 10 + depth
                known = rng.random() < 0.5
                lines.extend([f"smov s{counter}, {most}" if known else
                              f"siadd s{counter}, s{rng.randrange(4)}, 0", f"l{number}:"])
                block(depth + 1)
                lines.extend([f"sisub s{counter}, s{counter}, 1",
                              "" if known else f"#bound branchcycle {most} 1",
                              f"sicj.g l{number}, s{counter}"])
                if not known:  # data have up to 2
                    lines[-2] = "#bound branchcycle 2 1"
            elif kind < 0.55:
                lines.append(f"sicj.{rng.choice(('g', 'ez'))} j{number}, s{rng.randrange(4)}")
                block(depth + 1) if depth < 2 else lines.append("ldglin v1, 0")
                lines.append(f"j{number}:")
            elif kind < 0.6:
                lines.extend([f"sicj.g e{number}, s{rng.randrange(4)}", "exit", f"e{number}:"])
            else:
                lines.append(rng.choice(WAYS[:5] + WAYS[6:]).format(10 + rng.randrange(20)))

    block(0)
    return kernel("\n".join([*lines, "stglin v8, 1", "exit"]))


def check_jumping(seed):
    rng = np.random.default_rng(seed)
    program = jumping_kernel(seed)
    x, y = int(rng.integers(5, 60)), int(rng.integers(1, 40))
    grid = Grid(x, y, SMALL)
    analysis = Analysis(program, grid, PART, "reset")
    found = []
    for policy in POLICIES:
        bound = analysis.wcet(policy)
        for _ in range(3):
            memory = memory_of(program)
            memory[0][0, :4] = rng.integers(0, 3, 4)
            cycles = measured(program, grid, memory, policy)
            assert cycles <= bound.cycles, (seed, policy)
            found.append(cycles / bound.cycles)
    return found


def test_transfers_that_data_jump_over():
    assert max(max(check_jumping(seed)) for seed in range(12)) > 0.9


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(100, 1100, 250))
def test_many_transfers_that_data_jump_over(first):
    for seed in range(first, first + 250):
        check_jumping(seed)


def compared(seeds):
    """Enumerated / bound of kernels without refreshes."""
    found = []
    for seed in seeds:
        program = branching_kernel(seed)
        analysis = Analysis(program, Grid(64 * (1 + seed % 4), 1, SMALL), PART, "reset")
        if len(routes_of(analysis)) ** len(analysis.kinds) > 600:
            continue
        for policy in POLICIES:
            longest, bound = by_enumeration(analysis, policy), analysis.wcet(policy).bare
            assert longest <= bound, (seed, policy)
            found.append(longest / bound)
    return found


def test_no_combination_of_routes_is_longer_than_the_bound():
    ratios = compared(range(120))
    assert len(ratios) > 60
    assert np.mean(ratios) > 0.97
    assert max(ratios) > 0.995


@pytest.mark.thorough
def test_no_combination_of_many_kernels_is_longer():
    assert len(compared(range(1000, 4000))) > 1000


def envelope(analysis):
    """The greatest cost of every phase over all routes, and Sim-D's formula of them: no refresh.

    A phase ends with a whole cycle here; the analysis counts parts of one where clocks meet."""
    routes = [[cost for cycles, node in route for cost in
               (cycles, 0 if node is None else analysis.routes[kind].cycles(node))]
              for kind in analysis.routes for route in routes_of(analysis)]
    worst = [max(costs) for costs in itertools.zip_longest(*routes, fillvalue=0)]
    pair = sum(map(max, worst, [*worst[1:], worst[0]]))
    count = len(analysis.kinds)
    edge = sum(worst) if count % 2 else min(worst[0], worst[-1])
    return analysis.load + count + count // 2 * pair + edge, count * len(worst)


def test_the_envelope_is_never_below():
    looser = []
    for seed in range(60):
        analysis = Analysis(branching_kernel(seed), Grid(64 * (1 + seed % 4), 1, SMALL), PART,
                            "reset")
        most, parts = envelope(analysis)
        looser.append(most - analysis.wcet(Policy.ACCESS).bare)
        assert looser[-1] >= -parts
    assert max(looser) > 100


# -- what is left out shows ------------------------------------------------------------------------

REFRESHED = ("smov s0, 200\nagain:\nldglin v0, 0\nsisub s0, s0, 1\nsicj.g again, s0\n"
             "stglin v0, 1\nexit\n")
IN_CHIP = "rcp v9, v8\nrcp v9, v9\nstsplin v1, 0\nstglin v0, 1\nexit\n"
LINE_BY_LINE = "ldglin v0, 0\nstglin v0, 1\nexit\n"  # of 30 words, 32 apart in registers
BRANCHES = ("sldg s0, 0\nldglin.vec4 v0, 0\nsicj.ez other, s0\n" + 3 * "rcp v9, v9\n"
            + "ldglin.vec4 v0, 0\nrcp v9, v9\nj join\nother:\nrcp v9, v9\nldglin.vec4 v0, 0\n"
            + 3 * "rcp v9, v9\n" + "join:\nstglin v0, 1\nexit\n")


def witnesses():
    """Kernels whose bounds are nearly reached on the machine as it is built: program, grid, memory.
    """
    for name in ("cnn_relu", "half_sample_robust", "prefix_sum", "compute_q", "transposition",
                 "cnn_max_pool"):
        found, analysis = analysed(name, "rtl")
        yield found.program, analysis.grid, found.memory
    program = kernel(REFRESHED)
    yield program, Grid(64 * 5, 1, BUILT), memory_of(program)
    program = kernel(REFRESHED.replace("200", "100"))  # whose edges fall as badly as they can
    yield program, Grid(64, 1, BUILT), memory_of(program)
    program = kernel(IN_CHIP)
    yield program, Grid(64 * 8, 1, BUILT), memory_of(program)
    program = kernel(LINE_BY_LINE, "0 0 30 64\n1 0x10000 30 64\n")
    yield program, Grid(30, 64, BUILT, 32), memory_of(program)


@functools.cache
def longest_runs():
    """Each witness under each policy, and how long it takes."""
    return [(program, grid, policy, measured(program, grid, memory, policy))
            for program, grid, memory in witnesses() for policy in POLICIES]


def violated():
    """Whether some witness takes longer than its bound."""
    return any(cycles > Analysis(program, grid, PART, "reset").wcet(policy).cycles
               for program, grid, policy, cycles in longest_runs())


def without_refresh(monkeypatch):
    monkeypatch.setattr(chains, "chain", lambda *args, true=chains.chain, **more: chains.Chained(
        true(*args, **more).bare, 0, 0))
    monkeypatch.setattr("cyclebound.tools.simd.wcet.analysis.chain", chains.chain)


def without_jumps(monkeypatch):
    true = pipeline_costs.EdgeCosts.cost
    monkeypatch.setattr(pipeline_costs.EdgeCosts, "cost", lambda self, edge: true(self, edge) - (
        8 if edge.how is How.TAKEN else 0))


def without_access_commit(monkeypatch):
    true = pipeline_costs.EdgeCosts.cost
    monkeypatch.setattr(pipeline_costs.EdgeCosts, "cost", lambda self, edge: true(self, edge) - (
        8 if self._graph.is_access(edge.source) else 0))


def without_lead(monkeypatch):
    monkeypatch.setattr(access_costs, "TILE_LEAD", 0)


def without_scratchpads(monkeypatch):
    monkeypatch.setattr(access_costs.AccessCosts, "_scratchpad", lambda self, node, shape: 0)


def without_the_last_access(monkeypatch):
    monkeypatch.setattr(pairs.PairGraph, "last", lambda self, end, extra: 0)


def with_a_round_less(monkeypatch):
    true = pairs.PairGraph.__init__

    def made(self, *args, **more):
        loops = args[0].loops.bounds
        for loop, bound in loops.items():
            loops[loop] = type(bound)(bound.most - 1, bound.exact, bound.inferred, bound.branch)
        true(self, *args, **more)

    monkeypatch.setattr(pairs.PairGraph, "__init__", made)


def without_the_second(monkeypatch):
    true = pairs.PairGraph._access
    monkeypatch.setattr(pairs.PairGraph, "_access", lambda self, access, time, before, costs: (
        true(self, access, time, before, costs) if time == "k" else (0, False)))


def without_setup(monkeypatch):
    """The clocks between an access and its memory are forgotten."""
    _without(monkeypatch, "setup")


def without_resume(monkeypatch):
    """And the clock after which DRAM's completion is seen."""
    _without(monkeypatch, "resume")


def _without(monkeypatch, name):
    true = pairs.Clocks.__init__

    def made(self, *args):
        true(self, *args)
        setattr(self, name, 0)

    monkeypatch.setattr(pairs.Clocks, "__init__", made)


def without_lines(monkeypatch):
    """Tiles are thought to move as one."""
    monkeypatch.setattr(Access, "split", False)


def without_the_other_first(monkeypatch):
    """The other's access is never over when a scratchpad's is."""
    monkeypatch.setattr(pairs.PairGraph, "_coarse", lambda self, time: 1 << 40)


MUTATIONS = [without_the_other_first, without_setup, without_resume, without_lines,
             without_refresh, without_jumps, without_access_commit, without_lead,
             without_scratchpads, without_the_last_access, with_a_round_less, without_the_second]


def test_witnesses_stay_within_their_bounds():
    assert not violated()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_mutated_analysis_is_caught(mutation, monkeypatch):
    longest_runs()  # on the true model
    mutation(monkeypatch)
    assert violated()


def test_a_path_by_sum_is_not_enough():
    """The two work-groups of a pair take different routes, of which neither is longer alone."""
    program = kernel(BRANCHES)
    analysis = Analysis(program, Grid(64 * 2, 1, SMALL), PART, "reset")
    routes = routes_of(analysis)
    same = max(worst_schedule(2, lambda group, route=route: iter(route),
                              lambda group, node: analysis.costs[node], analysis.phases.final,
                              analysis.clocks, policy=Policy.ACCESS, load=analysis.load,
                              most=1000)[1] for route in routes)
    both = by_enumeration(analysis, Policy.ACCESS)
    assert same < both <= analysis.wcet(Policy.ACCESS).bare


def test_computing_and_a_transfer_are_one_phase_unless_the_unit_is_yielded():
    """Sim-D's formula is of ``compute``; under ``yield`` the kernel takes longer."""
    program = kernel(IN_CHIP)
    grid = Grid(64 * 8, 1, SMALL)
    analysis = Analysis(program, grid, PART, "reset")
    ((compute, transfer), (more, store)), = routes_of(analysis)
    cycles = analysis.routes[analysis.kinds[0]].cycles
    phases = (compute + cycles(transfer) + more, cycles(store))
    formula = analysis.load + 4 * 2 * max(phases) + min(phases) + grid.count
    goes_on, yields = (measured(program, grid, memory_of(program), policy)
                       for policy in (Policy.COMPUTE, Policy.YIELD))
    assert 0.9 * formula < goes_on <= min(formula, analysis.wcet(Policy.COMPUTE).bare)
    assert 1.2 * formula < yields <= analysis.wcet(Policy.YIELD).bare


# -- loops stay loops ------------------------------------------------------------------------------

def test_time_does_not_grow_with_rounds():
    def graph(rounds):
        text = REFRESHED.replace("200", str(rounds))
        analysis = Analysis(kernel(text), Grid(64 * 4, 1, SMALL), PART, "reset")
        kinds = analysis.kinds[0], analysis.kinds[0]
        return (len(analysis.pair_graphs(Policy.ACCESS, kinds, kinds)[0].arcs),
                analysis.wcet(Policy.ACCESS).bare)

    (few, short), (some, middle), (many, long) = graph(10), graph(1000), graph(60_000)
    assert few == some == many
    per_round = (middle - short) / 990
    assert long == pytest.approx(short + per_round * 59_990, rel=1e-6)


# -- odd kernels -----------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [
    "exit\n",
    "mov v0, vc.zero\nexit\n",
    "ldglin v0, 0\nexit\n",
    "stglin v0, 1\nexit\n",
    "mov v0, vc.zero\nitest.ez p0, v0\nexit p0\nstglin v0, 1\nexit\n",
    "ldsplin v0, 0\nstsplin v0, 0\nexit\n",
    "ldgbidx 0\nstgbidx 1\nexit\n",
    "ldglin v0, 0, 700\nstglin v0, 1, -700\nexit\n",
    "smov s0, sc.wg_off_x\nldg2sptile 0, 0, s0, -1\nldsplin v0, 0\nstglin v0, 1\nexit\n",
    "smovssp sc.sd_words, 3\nsmovssp sc.sd_period, 9\nsldsp s0, 0\nldgcidx 0, 2, 1\nexit\n",
    "smov s0, 3\nagain:\nldglin v0, 0, s0\nsisub s0, s0, 1\nsicj.g again, s0\nstglin v0, 1\nexit\n",
    "sldg s0, 0, 2\nldglin v0, 0, 0, s0\nldglin v0, 0, s1\nstglin v0, 1\nexit\n",
    "mov v0, vc.lid_x\nmovvsp vc.mem_idx, v0\nldgidxit v1, 0\nstgidxit v1, 1\nexit\n",
])
@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_odd_kernels(text, count):
    program = kernel(text)
    grid = Grid(64 * count - 5, 1, SMALL)
    analysis = Analysis(program, grid, PART, "reset")
    for policy in POLICIES:
        bound = analysis.wcet(policy)
        memory = memory_of(program)
        cycles = measured(program, grid, memory, policy)
        assert cycles <= bound.cycles
        assert cycles >= 0.3 * bound.cycles


@pytest.mark.parametrize("start", chains.STARTS)
def test_refreshes_at_the_start(start):
    bounds = Analysis(kernel("stglin v0, 1\nexit\n"), Grid(64, 1, SMALL), PART, start)
    more = chains.STARTS[start] * PART.nRFC * PART.tck_ps // SMALL.compute_ps
    assert bounds.wcet(Policy.ACCESS).cycles <= bounds.wcet(Policy.ACCESS).bare + more
    assert bounds.wcet(Policy.ACCESS).cycles >= bounds.wcet(Policy.ACCESS).bare + more - 1


@pytest.mark.parametrize("rounds", [47, 48, 49, 50, 51, 100])
def test_refreshes_whenever_the_kernel_starts(rounds):
    """The timer anywhere, a refresh under way, at lengths of about one and two nREFI."""
    program, grid = kernel(REFRESHED.replace("200", str(rounds))), Grid(64 * 2, 1, SMALL)
    bound = Analysis(program, grid, PART, "idle").wcet(Policy.ACCESS).cycles
    longest = 0
    for elapsed in (0, 1, 50, 280, 500, 559, 3000, 9000, 12_000, 12_479):
        timeline = DramTimeline(PART)
        timeline.due = PART.nREFI - elapsed
        timeline.rest = max(0, PART.nRFC - elapsed)
        longest = max(longest, CycleModel(program, grid, memory_of(program), policy=Policy.ACCESS,
                                          part=PART, timeline=timeline).run(keep=False).cycles)
    assert 0.9 * bound < longest <= bound


def test_a_policy_without_a_bound():
    _, analysis = analysed("prefix_sum")
    with pytest.raises(WcetError, match="pairwise"):
        analysis.wcet(Policy.PAIRWISE)
    _, analysis = analysed("saxpy")
    assert analysis.wcet(Policy.PAIRWISE) == analysis.wcet(Policy.ACCESS)


# -- the command -----------------------------------------------------------------------------------

@pytest.fixture
def ran():
    from typer.testing import CliRunner

    from cyclebound.sim.cli import simd as cli_simd

    assert cli_simd.simd is not None
    return lambda *words: CliRunner().invoke(app, ["simd", "wcet", *words])


def test_the_command(ran, tmp_path):
    chart, trace = tmp_path / "when.svg", tmp_path / "when.json"
    found = ran("saxpy", "--json", "--chart", str(chart), "--trace", str(trace))
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["policies"]["access"]["cycles"] == told["policies"]["compute"]["cycles"]
    assert told["lower"] < told["policies"]["access"]["cycles"] < told["upper"]
    assert sum(line["access"] for line in told["lines"]) > 0
    assert chart.read_text().startswith("<?xml")
    assert len(json.loads(trace.read_text())["traceEvents"]) > 64


def test_the_listing(ran):
    found = ran("compute_q", "--listing", "-p", "access")
    assert "loop at line 23: 2048 rounds, inferred" in found.stdout
    assert "2,048     16,384             mul v5, v0, s0" in found.stdout


def test_a_limit(ran):
    over = ran("saxpy", "--fail-over", "1", "-p", "access")
    assert over.exit_code == 1
    assert re.search(r"^cyclebound: over 1 cycles: access [\d,]+$", over.output, re.MULTILINE)
    assert ran("saxpy", "--fail-over", "100000000").exit_code == 0


def test_tightness_of_a_part():
    from typer.testing import CliRunner

    def told(*words):
        return CliRunner().invoke(app, ["simd", "tightness", "--machine", "small", *words])

    x16, x8 = (told("fft", "--part", f"ddr4-3200aa-{part}").stdout for part in ("x16", "x8"))
    for said in (x16, x8):
        assert re.search(r"^\| `fft` \| 2 \| access \| [\d,]+ \| [\d,]+ \| 0\.\d{3} \|", said,
                         re.MULTILINE)
    assert x16.splitlines()[2] != x8.splitlines()[2]
    for words, says in ((("none",), "no kernel"), (("fft", "--start", "none"), "no start"),
                        (("fft", "--part", "none"), "part must be one of"),
                        (("fft", "--part", "ddr4-1866m-x16"), "is faster than DRAM's")):
        found = told(*words)
        assert found.exit_code != 0
        assert says in str(found.exception)


def test_the_published_analysis_does_not_ignore_options(ran):
    """A limit that nothing compares with would let every kernel through."""
    found = ran("compute_phi_mag", "--timing", "published", "--fail-over", "1", "-p", "access")
    assert found.exit_code != 0
    assert "--timing published has no --policy, --fail-over" in str(found.exception)


def test_a_kernel_without_a_bound(ran, tmp_path):
    (tmp_path / "k.sas").write_text(".data\n0 0 64 1\n.text\nagain:\nldglin v0, 0\nj again\n")
    found = ran(str(tmp_path / "k.sas"), "--grid", "64")
    assert found.exit_code != 0
    assert "line 5" in str(found.exception)


def test_full_sizes_are_bounded():
    """Cycles of docs/simd.md, which a run at full size took."""
    from cyclebound.sim.families.simd.run import grid_of

    for name, cycles in (("compute_phi_mag", 1303), ("fft", 202_913), ("cnn_max_pool", 374_609)):
        program = assemble_file(kernel_path(name))
        analysis = Analysis(program, grid_of(program, None, None, "paper"), PART, "reset")
        assert 0.99 < cycles / analysis.wcet(Policy.ACCESS).cycles <= 1
