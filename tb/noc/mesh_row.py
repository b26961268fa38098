"""Senders that begin late and pause, in the row of routers whose states are all explored."""

from cyclebound.golden.noc.patterns import HOTSPOT
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.mesh import (
    crowd_network,
    every_pair_alone,
    pattern_network,
    staggered,
)

__all__ = ["crowds", "every_pair_alone", "packets_to_each_end"]

_PLANS = 6


@testbench
async def packets_to_each_end(bench: Bench) -> None:
    """All tiles to the first one, and to the one after it, in packets of 2 to 7 flits."""
    for hot in (0, 1):
        for flits in (2, 3, 4, 5, 7):
            for _ in range(_PLANS):
                await staggered(bench, pattern_network(bench, HOTSPOT, flits, hot), 200,
                                modelled=True, what="traversal", pattern=HOTSPOT, hot=hot)


@testbench
async def crowds(bench: Bench) -> None:
    """Streams of mixed lengths, with pauses and stalls."""
    for number in range(6):
        await staggered(bench, crowd_network(bench, number), 400, modelled=True, what="crowd",
                        crowd=number)
