"""Long testbench of data through the DRAM controller: a hundred thousand requests."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.controller_data_harness import mixed_traffic

_REQUESTS = 100_000


@testbench
async def a_hundred_thousand_requests(bench: Bench) -> None:
    """Tiles, indexed and snoopy requests: every word is where it belongs."""
    await mixed_traffic(bench, _REQUESTS)
