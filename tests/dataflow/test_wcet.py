"""The worst-case time of a mapped kernel: nothing exceeds it, and something comes near."""

import random
import re

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import wcet
from cyclebound.golden.dataflow.cache_bounds import access_times
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.run import Layout, run_mapped
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.tools.dataflow import adversary, graph_attack
from cyclebound.tools.dataflow.adversary import AttackedKernel, search
from cyclebound.tools.dataflow.graph_attack import attack, random_target
from cyclebound.tools.dataflow.partition import map_parts
from cyclebound.tools.dataflow.segments import compile_segments

pytestmark = pytest.mark.unit
DIVIDES = Grid(("SLLLQ", "LCKCD", "SLLLT"))


def _private(tree, before=()):
    """The tree with queues of its own for each branch, as if none were shared."""
    for node in tree:
        if isinstance(node, wcet._Queue):
            yield from _private(node.after, (*before, node.places))
        else:
            for places in reversed(before):
                node = wcet._Queue(places, [node])
            yield node


@pytest.fixture
def private_rooms(monkeypatch):
    """The fault that was in the bound: each branch of a net has places of its own."""
    shared = wcet._trees
    monkeypatch.setattr(wcet, "_trees", lambda mapped: {
        token: list(_private(tree)) for token, tree in shared(mapped).items()})


@pytest.fixture(scope="module")
def slow_consumer():
    """A part of fan2 in which a switch leads to a consumer that waits for a load, and to another.
    """
    (graph,) = compile_segments(KERNELS["fan2"], **CONSTANTS["fan2"])
    mapped = map_parts(graph, DIVIDES, depth=4)[7]
    arrays = dict.fromkeys(mapped.arrays, np.zeros(24, np.uint32))
    layout = Layout.of(arrays)
    return mapped, run_mapped(mapped, layout.words(arrays), layout, threads=24, depth=4, hit=20,
                              miss=20).cycles


def test_a_slow_consumer_starves_its_siblings(slow_consumer):
    mapped, cycles = slow_consumer
    assert cycles == 234 <= estimate(mapped, threads=24, depth=4, memory=20).cycles <= 1.25 * 234


def test_with_private_rooms_the_bound_is_exceeded(slow_consumer, private_rooms):
    mapped, cycles = slow_consumer
    assert estimate(mapped, threads=24, depth=4, memory=20).cycles == 195 < cycles


@pytest.mark.parametrize(("runs", "seed", "grid"), [
    (40, 2, graph_attack.GRIDS[0]),
    *(pytest.param(5000, seed, None, marks=pytest.mark.thorough) for seed in (1, 2))])
def test_no_random_graph_exceeds_it(runs, seed, grid):
    found, nearest = attack(runs, seed=seed, tries=2 if grid else 6,
                            target_of=lambda rng: random_target(rng, grid))
    assert not found, found[0]
    assert nearest > 0.9


def test_the_attack_finds_private_rooms(private_rooms):
    found, _ = attack(40, seed=2, tries=2,
                      target_of=lambda rng: random_target(rng, graph_attack.GRIDS[0]))
    assert found
    assert str(found[0]).startswith(f"{found[0].cycles} cycles of {found[0].target.allowed}: ")
    assert found[0].target.cycles(found[0].pattern) == found[0].cycles


def test_the_attack_says_what_it_found(capsys, monkeypatch):
    monkeypatch.setattr(graph_attack, "GRIDS", graph_attack.GRIDS[:1])
    assert graph_attack.main(["2", "2"]) == 0
    assert re.match(r"^2 runs, 0 over the bound, the nearest [01]\.\d{3} of it\n$",
                    capsys.readouterr().out)
    monkeypatch.setattr(graph_attack.AttackedGraph, "cycles", lambda self, pattern: 100_000)
    assert graph_attack.main(["1", "2"]) == 1
    assert capsys.readouterr().out.startswith("100000 cycles of ")
    with pytest.raises(SystemExit, match="RUNS SEED"):
        graph_attack.main([])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["fan2", "compute_step_factor", "time_step", "euclid"])
def test_no_memory_exceeds_a_kernels_bound(name):
    """Every part on the grid on which the bound was exceeded, late and quick accesses mixed."""
    rng = random.Random(name)
    (graph,) = compile_segments(KERNELS[name], **CONSTANTS.get(name, {}))
    for depth in (2, 4, 8):
        for mapped in map_parts(graph, DIVIDES, depth=depth):
            arrays = dict.fromkeys(mapped.arrays, np.ones(48, np.uint32))
            layout = Layout.of(arrays)
            for _ in range(8):
                memory = {"hit": 2, "miss": rng.choice((3, 20, 40)), "miss_rate": rng.random()}
                longest, stall = access_times(users=sum(map(bool, mapped.accesses())), **memory)
                found = run_mapped(mapped, layout.words(arrays), layout, threads=48, depth=depth,
                                   **memory)
                assert found.cycles <= estimate(mapped, threads=48, depth=depth, memory=longest,
                                                stall=stall).cycles


def test_steps_are_the_same_with_and_without_a_period(monkeypatch):
    for seed in range(6):
        target = random_target(random.Random(seed), graph_attack.GRIDS[1])
        sizes = {"threads": 40 * target.depth + seed, "depth": target.depth, "memory": 20}
        found = estimate(target.mapped, **sizes)
        with monkeypatch.context() as patch:
            patch.setattr(wcet._Times, "period", lambda self: 0)
            assert found == estimate(target.mapped, **sizes)


def test_memory_is_known_before():
    assert access_times(users=3) == (2, 0)
    assert access_times(users=3, hit=4, miss=40) == (4, 0)
    assert access_times(users=3, hit=4, miss=40, miss_rate=0.1) == (40, 0)
    assert access_times(users=3, banks=8, hit=4, miss=40, miss_rate=0.1) == (42, 2)
    assert access_times(users=0, banks=8) == (2, 0)
    with pytest.raises(NotCovered, match=r"^a miss must take as long as a hit, 9 cycles, or "
                       r"longer$"):
        access_times(users=1, hit=9, miss=8, miss_rate=0.5)


@pytest.mark.parametrize(("wrong", "message"), [
    ({"threads": 0}, "threads must be a whole number of at least 1, not 0"),
    ({"depth": 1}, "depth must be a whole number of at least 2, not 1"),
    ({"memory": 1}, "memory must be a whole number of at least 2, not 1"),
    ({"stall": -1}, "stall must be a whole number of at least 0, not -1")])
def test_refuses(slow_consumer, wrong, message):
    with pytest.raises(NotCovered, match=f"^{message}$"):
        estimate(slow_consumer[0], **{"threads": 4, "depth": 4} | wrong)


@pytest.mark.parametrize(("name", "depth", "share"), [
    ("vector_add", 2, 0.97), ("saxpy", 4, 0.97), ("bfs_kernel2", 2, 0.8), ("euclid", 4, 0.95)])
def test_a_slow_memory_comes_near(name, depth, share):
    target = AttackedKernel.of(name, depth=depth, threads=4 * depth)
    even, worst = search(target, 12)
    assert even <= worst <= target.allowed
    assert worst >= share * target.allowed


@pytest.mark.parametrize("seed", range(4))
def test_no_memory_exceeds_it(seed):
    """Random kernels, depths and misses; some units share a bank, and wait for each other."""
    rng = random.Random(seed)
    for _ in range(3):
        target = AttackedKernel.of(
            rng.choice(("vector_add", "saxpy", "fan1", "normalize_weights")),
            depth=rng.choice((2, 4, 8)), threads=rng.choice((1, 7, 20)))
        banks, miss = rng.choice((1, 2, 4)), rng.choice((2, 9, 30))
        found = run_mapped(target.mapped, list(target.words), target.layout,
                           threads=target.threads, depth=target.depth, banks=banks, hit=2,
                           miss=miss, miss_rate=rng.random())
        users = sum(map(bool, target.mapped.accesses()))
        longest, stall = access_times(users=users, banks=banks, miss=miss, miss_rate=1)
        assert found.cache.worst <= longest
        assert found.cache.longest_wait <= stall
        assert found.cycles <= estimate(target.mapped, threads=target.threads, depth=target.depth,
                                        memory=longest, stall=stall).cycles


def test_the_table(capsys):
    adversary.main(["1", "vector_add"])
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines()]
    assert [row[2].strip() for row in rows] == ["2", "4", "8", "16"]
    assert all(float(row[7]) <= 1 for row in rows)
    with pytest.raises(SystemExit, match="TRIES KERNEL"):
        adversary.main([])
