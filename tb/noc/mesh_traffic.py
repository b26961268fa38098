"""Long runs of the mesh: at least 10^5 packets against their bounds."""

from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.mesh import (
    crowd_network,
    every_pair_alone,
    pattern_network,
    saturate,
    staggered,
)

__all__ = ["a_hundred_thousand_packets", "every_pair_alone", "search"]

_PERMUTATIONS = range(2, 14)


@testbench
async def a_hundred_thousand_packets(bench: Bench) -> None:
    """Hotspot, transpose and permutations, all tiles saturating."""
    longest = bench.parameters["longest"]
    before = bench.compared
    for number in (HOTSPOT, TRANSPOSE, *_PERMUTATIONS):
        await saturate(bench, number, longest, 60 if number == HOTSPOT else 800, modelled=False)
    delivered = bench.compared - before
    assert delivered >= 100_000, f"only {delivered} packets were delivered"


@testbench
async def search(bench: Bench) -> None:
    """Senders that begin late, pause and idle: many patterns, of packets that just fill FIFOs and
    of other lengths, and crowds."""
    longest, full = bench.parameters["longest"], bench.parameters["depth"] + 1
    for number in (HOTSPOT, TRANSPOSE, 26, 56, *range(2, 12)):
        for flits in sorted({full - 1, full, longest}):
            for _ in range(3):
                await staggered(bench, pattern_network(bench, number, flits), 600, modelled=False,
                                what="traversal", pattern=number)
    for number in range(20):
        for _ in range(3):
            await staggered(bench, crowd_network(bench, number), 800, modelled=False,
                            what="crowd", crowd=number)
