"""Testbench of an accelerator that shares its DRAM controller: results of kernels."""

from cyclebound.golden.simd.scheduler import Policy
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_harness_tester import tester_on
from cyclebound.tools.simd.kernel_cases import case, expected


async def _kernel(bench: Bench, name: str) -> None:
    tester = tester_on(bench)
    instance = case(name, tester.machine)
    wanted = expected(name, instance)
    ran, _ = await tester.run(instance.program, instance.grid, instance.memory,
                              Policy.UNCONSTRAINED)
    assert ran.fault is None, ran.fault
    for number, words in wanted.items():
        bench.compare(instance.memory[number], words, f"buffer {number}", count=words.size)
    bench.dut._log.info("%s: %d compute cycles, %d to load", name, ran.cycles, ran.load)


@testbench
async def kernels(bench: Bench) -> None:
    """Tiles, indexed and snoopy accesses beside another client."""
    for name in ("vector_add", "spmv", "stencil"):
        await bench.reset()
        await _kernel(bench, name)
