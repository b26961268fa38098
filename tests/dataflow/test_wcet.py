"""The worst-case time of a mapped kernel: nothing exceeds it, and something comes near."""

import random

import pytest

from cyclebound.golden.dataflow.cache_bounds import cache_access
from cyclebound.golden.dataflow.run import run_mapped
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.sim import dataflow_adversary
from cyclebound.sim.dataflow_adversary import Scene, search

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "depth", "share"), [
    ("vector_add", 2, 0.97), ("saxpy", 4, 0.97), ("bfs_kernel2", 2, 0.8), ("euclid", 4, 0.95)])
def test_a_slow_memory_comes_near(name, depth, share):
    scene = Scene.of(name, depth=depth, threads=4 * depth)
    even, worst = search(scene, 12)
    assert even <= worst <= scene.allowed
    assert worst >= share * scene.allowed


@pytest.mark.parametrize("seed", range(4))
def test_no_memory_exceeds_it(seed):
    """Random kernels, depths and misses; some units share a bank, and wait for each other."""
    rng = random.Random(seed)
    for _ in range(3):
        scene = Scene.of(rng.choice(("vector_add", "saxpy", "fan1", "normalize_weights")),
                         depth=rng.choice((2, 4, 8)), threads=rng.choice((1, 7, 20)))
        banks, miss = rng.choice((1, 2, 4)), rng.choice((2, 9, 30))
        found = run_mapped(scene.mapped, list(scene.words), scene.layout, threads=scene.threads,
                           depth=scene.depth, banks=banks, hit=2, miss=miss, miss_rate=rng.random())
        users = sum(map(bool, scene.mapped.accesses()))
        assert found.cache.worst <= cache_access(ports=users, miss=miss)
        assert found.cycles <= estimate(
            scene.mapped, threads=scene.threads, depth=scene.depth, stall=users - 1,
            memory=cache_access(ports=users, miss=miss)).cycles


def test_the_table(capsys):
    dataflow_adversary.main(["1", "vector_add"])
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines()]
    assert [row[2].strip() for row in rows] == ["2", "4", "8", "16"]
    assert all(float(row[7]) <= 1 for row in rows)
    with pytest.raises(SystemExit, match="TRIES KERNEL"):
        dataflow_adversary.main([])
