"""Exhaustive testbench of the DRAM controller: tiles of all sizes at every alignment there is."""

from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.controller_harness import SIZES, load, sizes

_LOAD = 32_000  # requests each way: ten million cycles


@testbench
async def every_alignment(bench: Bench) -> None:
    """Every burst of a row of all banks; beyond it, everything repeats with another row."""
    part = part_named(bench.parameters["part"])
    await sizes(bench, part, {bursts: [(0, part.bursts_per_sweep)] for bursts in SIZES})


@testbench
async def refresh_under_full_load(bench: Bench) -> None:
    """Ten million cycles each way: no refresh is late, and the time is inside Eq. 19."""
    await load(bench, _LOAD)
