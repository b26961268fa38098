"""The kernels of SGMF's Table 2 on a fabric, with misses; and loops.

Of a few threads, every port is compared in every cycle. Of 1,024 threads, it is memory afterwards:
the golden fabric would take most of the time.
"""

import functools

from cyclebound.golden.dataflow.kernel_constants import CONSTANTS, MISSES
from cyclebound.golden.dataflow.kernels import KERNELS, LOOPS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import in_flight, kernel, streams

THREADS, ALL_THREADS = 24, 1024
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
        run = functools.partial(kernel, bench, name, MANY, constants=CONSTANTS[name],
                                compare=False)
        await run()
        await run(**MISSES)


@testbench
async def one_thread_per_cycle_where_no_memory_is_involved(bench: Bench) -> None:
    await streams(bench, (1, THREADS))


@testbench
async def every_kernel_of_1024_threads(bench: Bench) -> None:
    for name in KERNELS:
        await kernel(bench, name, ALL_THREADS, constants=CONSTANTS.get(name), compare=False,
                     **MISSES)


@testbench
async def one_of_1024_threads_per_cycle_where_no_memory_is_involved(bench: Bench) -> None:
    await streams(bench, (1, ALL_THREADS))


@testbench
async def one_thread_per_cycle_where_memory_hits(bench: Bench) -> None:
    """A balanced graph: threads go as epochs leave a load/store unit, in each cycle with four
    entries or more, every other cycle with two."""
    depth, memory = bench.parameters["depth"], 2
    few, many = [await kernel(bench, "vector_add", threads, compare=False, hit=memory, miss=memory)
                 for threads in (ALL_THREADS // 4, ALL_THREADS // 2)]
    assert depth * (many - few) == ALL_THREADS // 4 * max(depth, memory + 2)


@testbench
async def threads_in_flight_fill_every_buffer_of_a_path(bench: Bench) -> None:
    await in_flight(bench)
