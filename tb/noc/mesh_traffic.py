"""Long runs of the mesh: at least 10^5 packets against their bounds."""

from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.mesh import saturate

_PERMUTATIONS = range(2, 14)


@testbench
async def a_hundred_thousand_packets(bench: Bench) -> None:
    """Hotspot, transpose and permutations, everybody saturating."""
    longest = bench.parameters["longest"]
    sent = 0
    while sent < 100_000:
        for number in (HOTSPOT, TRANSPOSE, *_PERMUTATIONS):
            packets = 60 if number == HOTSPOT else 400
            await saturate(bench, number, longest, packets, modelled=False)
            sent += packets * (bench.parameters["rows"] * bench.parameters["columns"] - 4)
