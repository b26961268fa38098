"""Every small shape, at every place at and over every edge."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.access_setup import (
    AccessSetupScene,
    linear_cases,
    local_cases,
    play,
    snoopy_cases,
    tile_cases,
)


@testbench
async def every_tile_of_registers(bench: Bench) -> None:
    bench.declare("job")
    scene = AccessSetupScene(bench)
    await play(scene, linear_cases(scene, every=True))


@testbench
async def every_tile_of_scratchpads(bench: Bench) -> None:
    bench.declare("job")
    scene = AccessSetupScene(bench)
    await play(scene, local_cases(scene, every=True))
    await play(scene, tile_cases(scene, every=True))


@testbench
async def every_snoopy_tile(bench: Bench) -> None:
    bench.declare("job")
    scene = AccessSetupScene(bench)
    await play(scene, snoopy_cases(scene, every=True))
