"""Long runs of the mesh: at least 10^5 packets against their bounds."""

from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.mesh import every_pair_alone, saturate

__all__ = ["a_hundred_thousand_packets", "every_pair_alone"]

_PERMUTATIONS = range(2, 14)


@testbench
async def a_hundred_thousand_packets(bench: Bench) -> None:
    """Hotspot, transpose and permutations, everybody saturating."""
    longest = bench.parameters["longest"]
    before = bench.compared
    for number in (HOTSPOT, TRANSPOSE, *_PERMUTATIONS):
        await saturate(bench, number, longest, 60 if number == HOTSPOT else 800, modelled=False)
    delivered = bench.compared - before
    assert delivered >= 100_000, f"only {delivered} packets were delivered"
