"""The kernels of SGMF's Table 2 on a fabric, a few threads of each, with misses; and loops."""

from cyclebound.golden.dataflow.kernel_constants import CONSTANTS, MISSES
from cyclebound.golden.dataflow.kernels import KERNELS, LOOPS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import kernel, streams

THREADS = 24
MANY = 64  # of a loop's kernel: a few in a hundred are wrong if a variable's store does not wait


@testbench
async def every_kernel(bench: Bench) -> None:
    for name in KERNELS:
        await kernel(bench, name, THREADS, size=1024, constants=CONSTANTS.get(name), **MISSES)


@testbench
async def accesses_of_many_cycles(bench: Bench) -> None:
    """Each access takes 20 cycles: consumers that a net reaches by common switches are late."""
    for name in ("fan2", "compute_step_factor", "time_step"):
        await kernel(bench, name, THREADS, size=1024, constants=CONSTANTS.get(name),
                     compare=False, hit=20, miss=20)


@testbench
async def kernels_with_loops(bench: Bench) -> None:
    """A graph for each iteration, with variables that wait in memory in between."""
    for name in LOOPS:
        for memory in ({}, MISSES):
            await kernel(bench, name, MANY, constants=CONSTANTS[name], compare=False, **memory)


@testbench
async def one_thread_per_cycle_where_no_memory_is_involved(bench: Bench) -> None:
    await streams(bench, (1, THREADS))
