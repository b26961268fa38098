"""A testbench of blocks in `faults` that cocotb is told not to run, or not to take seriously."""

import cocotb
from faults_bench import requests  # noqa: F401  cocotb finds it here

from cyclebound.tb.bench import Bench, testbench


@cocotb.skipif(True)
@testbench
async def left_out(bench: Bench) -> None:
    raise AssertionError("it ran")


@cocotb.xfail()
@testbench
async def wrong(bench: Bench) -> None:
    """The block is not as expected, and cocotb expects that."""
    bench.check(await bench.step(), bench.outputs.pack({"done": 1}))
