"""All sequences of three requests to two rows of two banks, one after the other. Takes minutes."""

import itertools

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.page_controller import Scene

_KINDS = [*itertools.product((False, True), (0, 1), (0, 1))]


@testbench
async def every_triple(bench: Bench) -> None:
    """Each begins with whatever rows the one before left open, and its third may come late."""
    scene = Scene(bench)
    for triple in itertools.product(_KINDS, repeat=3):
        for request in triple[:2]:
            scene.request(*request)
        for _ in range(bench.rng.choice((0, 0, 20, 30, 40, 50))):
            await scene.cycle()
        scene.request(*triple[2])
        await scene.drain()
