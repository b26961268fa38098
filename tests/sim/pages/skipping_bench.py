"""A testbench of a block in `faults` with a test that cocotb is told not to run."""

import cocotb
from faults_bench import requests

from cyclebound.tb.bench import Bench, testbench

__all__ = ["left_out", "requests"]


@cocotb.skipif(True)
@testbench
async def left_out(bench: Bench) -> None:
    raise AssertionError("it ran")
