"""All tiles of a small mesh to one of its corners, which is what is proved of every choice."""

from cyclebound.golden.noc.patterns import HOTSPOT
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.mesh import every_pair_alone, pattern_network, saturate, staggered
from cyclebound.tb.noc.mesh_row import crowds

__all__ = ["crowds", "every_pair_alone", "packets_to_the_corner"]

_FLITS = (2, 3, 4)
_PACKETS = 20
_PLANS = 6


@testbench
async def packets_to_the_corner(bench: Bench) -> None:
    """From senders that never pause, and from ones that begin late and idle."""
    for flits in _FLITS:
        await saturate(bench, HOTSPOT, flits, _PACKETS, modelled=True)
        for _ in range(_PLANS):
            await staggered(bench, pattern_network(bench, HOTSPOT, flits), 200, modelled=True,
                            what="traversal", pattern=HOTSPOT)
