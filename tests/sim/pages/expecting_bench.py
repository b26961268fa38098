"""A testbench of a block in `faults` with a test that cocotb expects to fail."""

import cocotb
from faults_bench import requests

from cyclebound.tb.bench import Bench, testbench

__all__ = ["requests", "wrong"]


@cocotb.xfail()
@testbench
async def wrong(bench: Bench) -> None:
    bench.check(await bench.step(), bench.outputs.pack({"done": 1}))
