"""Hotspots of a large mesh, for as long as its longest ways take: millions of cycles each."""

from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.patterns import HOTSPOT, pattern
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.mesh_harness import HarnessScene, saturate


async def until_all_are_met(bench: Bench, flits: int) -> None:
    """Everybody to a corner, for twice as long as the greatest bound and a tenth more."""
    scene, p = HarnessScene(bench), bench.parameters
    known = {name: p[name] for name in ("rows", "columns", "delta", "depth")}
    senders = map(scene.mesh.tiles.index, pattern(scene.mesh, HOTSPOT))
    greatest = max(bounds.traversal(flits=flits, pattern=HOTSPOT, source=source, **known)
                   for source in senders)
    await saturate(bench, scene, HOTSPOT, flits, 21 * greatest // 10)


@testbench
async def packets_of_one_flit(bench: Bench) -> None:
    await until_all_are_met(bench, 1)


@testbench
async def packets_of_six_flits(bench: Bench) -> None:
    await until_all_are_met(bench, 6)
