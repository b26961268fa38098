"""The kernels of SGMF's Table 2 on a fabric, in as many configurations as each of them needs."""

from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import kernel

THREADS = 1024
CONSTANTS = {
    "saxpy": {"a": 2.5}, "euclid": {"records": 1000, "lat": 0.5, "lng": -1.25},
    "fan1": {"size": 32, "t": 3}, "fan2": {"size": 32, "shift": 5, "t": 3},
    "adjust_weights": {"shift": 5, "rate": 0.3, "momentum": 0.3}, "bfs_kernel2": {"nodes": 1000},
    "time_step": {"stage": 3.0}, "normalize_weights": {"particles": 1000},
}
MISSES = {"banks": 32, "hit": 4, "miss": 40, "miss_rate": 0.1}


@testbench
async def every_kernel_with_misses(bench: Bench) -> None:
    for name in KERNELS:
        await kernel(bench, name, THREADS, constants=CONSTANTS.get(name), **MISSES)
        bench.dut._log.info("%s: %d cycles compared so far", name, bench.compared)
