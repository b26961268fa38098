"""The adversary: what it finds in analyses with planted looseness, and in those that are in use."""

import dataclasses
from functools import partial

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import DDR4_3200AA_X8, DDR4_3200AA_X16
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, as_built
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.simd.attacks import KeptAttacks, kept_attacks
from cyclebound.sim.families.simd.published import own_cycles, published_cycles
from cyclebound.tools.simd import wcet_adversary as adversary
from cyclebound.tools.simd.kernel_cases import case
from cyclebound.tools.simd.kernels import KERNELS
from cyclebound.tools.simd.published.analysis import published_wcet
from cyclebound.tools.simd.published.witnesses import AUTHORS_LEAD, YIELDS, compute_phases
from cyclebound.tools.simd.random_kernels import Mix
from cyclebound.tools.simd.wcet import access_costs, followed_indexes
from cyclebound.tools.simd.wcet.access_costs import AccessCosts
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.pipeline_costs import EdgeCosts

SMALL = MACHINES["small"]
BENCH = adversary.Bench(SMALL, DDR4_3200AA_X16, Mix(branches=True))
SHAPED = adversary.Bench(as_built(SMALL), DDR4_3200AA_X16,
                         Mix(branches=True, shapes=True, snoopy=False), buses=adversary.BUSES)
ROWS = dataclasses.replace(SHAPED, mix=Mix(branches=True, shapes=True, rows=True))
IN_SCOPE = adversary.Bench(SMALL, DDR4_3200AA_X16, Mix(True, False, False), 0, AUTHORS_LEAD)
POLICIES = (adversary.POLICIES, (Policy.YIELD,))

pytestmark = pytest.mark.unit


def found_in(analysis, bench, seeds):
    """The first violation among the kernels of some seeds."""
    return next((attack for attack in adversary.attacks(analysis, seeds, bench)
                 if attack.violated), None)


def no_refreshes(program, grid, part, policy):
    """Planted: the bound without refreshes."""
    found = Analysis(program, grid, part).wcet(policy)
    return found.bare


def no_setup(program, grid, part, policy):
    """Planted: the bound without the clocks between an access and its memory."""
    machine = dataclasses.replace(grid.machine, setup_clocks=0)
    return own_cycles(program, dataclasses.replace(grid, machine=machine), part, policy)


def formula_of_a_path(program, grid, part, policy):
    """Planted: the published formula outside its scope, where paths are chosen by their sum."""
    found = published_wcet(program, grid, part, unchecked=True)
    return found.access if policy is Policy.ACCESS else found.compute


def test_it_finds_a_dropped_refresh():
    assert found_in(no_refreshes, BENCH, range(20))  # the third does


def test_it_finds_forgotten_clocks_of_the_crossing():
    bench = dataclasses.replace(BENCH, machine=as_built(SMALL))
    assert found_in(no_setup, bench, range(2, 30))  # the first of them shows it


def test_it_finds_a_forgotten_edge_cost(monkeypatch):
    """The pipeline that is emptied by an access."""
    cost = EdgeCosts.cost
    monkeypatch.setattr(EdgeCosts, "cost", lambda self, edge: cost(self, edge) - 8 * (
        self._graph.is_access(edge.source)))
    assert found_in(own_cycles, BENCH, range(6, 30))  # the seventh kernel shows it


def test_it_finds_paths_by_sum():
    bench = dataclasses.replace(IN_SCOPE, mix=Mix(True, False, True))
    assert found_in(formula_of_a_path, bench, range(80, 100))  # the eighty-first shows it


def test_it_finds_a_forgotten_restart(monkeypatch):
    """Clipped tiles of a scratchpad, as if their lines followed each other on its bus."""
    found = access_costs.scratchpad_cycles
    monkeypatch.setattr(access_costs, "scratchpad_cycles",
                        lambda access, bus, **more: found(access, bus))
    assert found_in(own_cycles, SHAPED, range(1059, 1070))  # the first of them shows it


def test_it_finds_a_row_of_words_that_is_read_as_one(monkeypatch):
    """More words than a line of their buffer has, which are read as whole lines."""
    shapes = AccessCosts._shapes

    def one_run(self, node):
        instruction = self._graph.instruction(node)
        if instruction.name != "sldg":
            return shapes(self, node)
        count = instruction.operand("B")
        return {self._whole(self._program.buffers[instruction.operand("A").value],
                            1 if count is None else count.value)}

    monkeypatch.setattr(AccessCosts, "_shapes", one_run)
    assert found_in(own_cycles, SHAPED, range(246, 260))  # the first of them shows it


@pytest.mark.parametrize(("module", "planted"), [
    (access_costs, lambda rows_of, **buffer: max(1, rows_of(**buffer) - 1)),
    (access_costs, lambda rows_of, **buffer: rows_of(**{**buffer, "address": 0})),
    (followed_indexes, lambda rows_of, **buffer: max(1, rows_of(**buffer) - 1)),
], ids=["one-row-fewer", "from-address-0", "one-row-fewer-of-known-words"])
def test_it_finds_rows_of_an_indexed_buffer_that_are_not_counted(monkeypatch, module, planted):
    monkeypatch.setattr(module, "rows_of", partial(planted, module.rows_of))
    assert found_in(own_cycles, ROWS, range(20, 30))  # the first of them shows each


@pytest.mark.thorough
@pytest.mark.parametrize("part", [DDR4_3200AA_X16, DDR4_3200AA_X8], ids=["x16", "x8"])
def test_no_kernel_with_requests_over_many_rows_exceeds_the_bound(part):
    assert found_in(own_cycles, dataclasses.replace(ROWS, part=part), range(2500)) is None


def test_grids_and_buses_are_of_all_kinds():
    bench = dataclasses.replace(SHAPED, mix=Mix(branches=True, shapes=True))
    found = [adversary.attack(nothing_is_known, seed, bench) for seed in range(60)]
    grids = {attack.grid for attack in found}
    assert {width for _, _, width in grids} == set(SMALL.widths)
    assert any(x % width for x, _, width in grids)
    assert any(y % (SMALL.items // width) for _, y, width in grids)
    assert {attack.bus for attack in found} == set(adversary.BUSES)
    text = "".join(attack.text for attack in found)
    for word in ("ldg2sptile", "stg2sptile", "ldsplin", "sldsp", "ldgcidx", "sldg s0, 7", " 1 1\n"):
        assert word in text


def nothing_is_known(program, grid, part, policy):
    """An analysis that covers no kernel: nothing is run."""
    raise NotCovered("nothing")


def test_attacks_are_kept(tmp_path):
    path, setting = tmp_path / "kernels.jsonl", {"part": "x16"}
    made = [adversary.attack(own_cycles, seed, BENCH) for seed in (3, 4)]
    for attack in made:
        KeptAttacks(path, setting).add(attack)
    with path.open("a") as file:
        file.write('{"cut o')
    again = KeptAttacks(path, setting)
    assert again.get(3) == dataclasses.replace(made[0], text="")
    assert again.get(5) is None
    assert KeptAttacks(path, {"part": "x8"}).get(3) is None
    again.add(dataclasses.replace(made[0], seed=5, bound=1))  # a violation, with its text
    assert KeptAttacks(path, setting).get(5).text == made[0].text
    assert len(path.read_text().splitlines()) == 3
    path.write_text('{"part": "x16"}\n')
    with pytest.raises(UserError, match="line 1: this is no kernel"):
        kept_attacks(path, setting)


def test_what_it_finds_can_be_run_again():
    first, again = (adversary.attack(no_refreshes, 3, BENCH) for _ in range(2))
    assert first == again
    assert str(first).startswith("seed 3: grid ")


def test_a_histogram_counts_every_kernel_with_a_bound():
    found = [adversary.attack(own_cycles, seed, BENCH) for seed in range(3)]
    assert sum(adversary.histogram(found).values()) == 3
    nothing = dataclasses.replace(found[0], bound=None)
    assert adversary.histogram([nothing]) == {}
    assert not nothing.violated


@pytest.mark.parametrize("name", ["prefix_sum", "stencil", "cnn_convolution"])
def test_scratchpads_as_compute(name):
    """Under its bound, and the reduced cases' results are those under ``yield``."""
    found = case(name, SMALL)
    bound = own_cycles(found.program, found.grid, DDR4_3200AA_X16, Policy.COMPUTE)
    plain = {number: words.copy() for number, words in found.memory.items()}
    CycleModel(found.program, found.grid, plain, policy=Policy.YIELD,
               part=DDR4_3200AA_X16).run()
    timed = CycleModel(found.program, found.grid, found.memory, policy=Policy.COMPUTE,
                       part=DDR4_3200AA_X16).run()
    assert timed.cycles <= bound
    assert all((words == plain[number]).all() for number, words in found.memory.items())


def test_the_published_formula_is_of_compute_and_not_of_yield():
    assert compute_phases(Policy.COMPUTE)[1] >= 0 > compute_phases(Policy.YIELD)[1]
    with pytest.raises(NotCovered, match="of access and compute, and not of yield"):
        published_cycles(YIELDS[0].program, YIELDS[0].grid, DDR4_3200AA_X16, Policy.YIELD)


@pytest.mark.thorough
@pytest.mark.parametrize("part", [DDR4_3200AA_X16, DDR4_3200AA_X8], ids=["x16", "x8"])
@pytest.mark.parametrize("policies", POLICIES)
def test_no_kernel_with_accesses_of_any_shape_exceeds_the_bound(policies, part):
    """On the machine as built: 2,500 for each part and these policies, 10,000."""
    bench = dataclasses.replace(SHAPED, part=part, policies=policies)
    assert found_in(own_cycles, bench, range(2500)) is None


@pytest.mark.thorough
@pytest.mark.parametrize("part", [DDR4_3200AA_X16, DDR4_3200AA_X8], ids=["x16", "x8"])
@pytest.mark.parametrize("policies", POLICIES)
def test_no_random_kernel_exceeds_the_bound(policies, part):
    """2,500 for each part and these policies: 10,000."""
    bench = adversary.Bench(SMALL, part, Mix(branches=True), policies=policies)
    assert found_in(own_cycles, bench, range(2500)) is None


@pytest.mark.thorough
def test_in_scope_random_kernels_keep_to_the_published_bound():
    """Besides the errata, which random kernels of `small` hardly meet."""
    assert found_in(published_cycles, IN_SCOPE, range(500)) is None


@pytest.mark.thorough
@pytest.mark.parametrize("name", KERNELS)
def test_all_kernels_with_scratchpads_as_compute(name):
    found = case(name, SMALL)
    bound = own_cycles(found.program, found.grid, DDR4_3200AA_X16, Policy.COMPUTE)
    assert CycleModel(found.program, found.grid, found.memory, policy=Policy.COMPUTE,
                      part=DDR4_3200AA_X16).run().cycles <= bound


def test_one_active_lane_in_an_indexed_request():
    """Found by the adversary: the iterator looks at all lanes before the first command."""
    for policy in (Policy.ACCESS, Policy.COMPUTE, Policy.YIELD):
        bench = dataclasses.replace(BENCH, policies=(policy,))
        found = adversary.attack(own_cycles, 5215, bench)
        assert found.bound is not None
        assert not found.violated
