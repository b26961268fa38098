"""The kernels of SGMF's Table 2 on a fabric, in as many configurations as each of them needs."""

from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import kernel
from cyclebound.tb.dataflow.fabric_constants import CONSTANTS

THREADS = 1024
MISSES = {"banks": 32, "hit": 4, "miss": 40, "miss_rate": 0.1}


@testbench
async def every_kernel_with_misses(bench: Bench) -> None:
    for name in KERNELS:
        await kernel(bench, name, THREADS, constants=CONSTANTS.get(name), **MISSES)
        bench.dut._log.info("%s: %d cycles compared so far", name, bench.compared)
