"""Long runs of the array without local reuse: every output compared in every cycle."""

import itertools

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.no_local_reuse import Scene


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128."""
    scene, always = Scene(bench), itertools.repeat(True)
    for _ in range(15):
        m, k, n = (bench.rng.randint(1, 128) for _ in range(3))
        await scene.product(m, k, n, offers=always, sinks=always, observe=True)
