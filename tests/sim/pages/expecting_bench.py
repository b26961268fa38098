"""A testbench of a block in `faults` with tests that cocotb expects to fail."""

import cocotb
from faults_bench import requests

from cyclebound.tb.bench import Bench, testbench

__all__ = ["raw", "requests", "wrong"]


@cocotb.xfail()
@testbench
async def wrong(bench: Bench) -> None:
    bench.check(await bench.step(), bench.outputs.pack({"done": 1}))


@cocotb.test(expect_error=ValueError)
async def raw(dut) -> None:
    """Without a `Bench`."""
    raise ValueError("expected")
