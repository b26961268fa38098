"""The kernels of SGMF's Table 2 on a fabric, 1,024 threads of each, with misses.

Memory afterwards is compared, not each cycle: the golden fabric would take most of the time.
"""

from cyclebound.golden.dataflow.kernel_constants import CONSTANTS, MISSES
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import in_flight, kernel, streams

THREADS = 1024


@testbench
async def every_kernel(bench: Bench) -> None:
    for name in KERNELS:
        await kernel(bench, name, THREADS, constants=CONSTANTS.get(name), compare=False,
                     **MISSES)


@testbench
async def one_thread_per_cycle_where_no_memory_is_involved(bench: Bench) -> None:
    await streams(bench, (1, THREADS))


@testbench
async def one_thread_per_cycle_where_memory_hits(bench: Bench) -> None:
    """A balanced graph: threads go as epochs leave a load/store unit, in each cycle with four
    entries or more, every other cycle with two."""
    depth, memory = bench.parameters["depth"], 2
    few, many = [await kernel(bench, "vector_add", threads, compare=False, hit=memory, miss=memory)
                 for threads in (THREADS // 4, THREADS // 2)]
    assert depth * (many - few) == THREADS // 4 * max(depth, memory + 2)


@testbench
async def threads_in_flight_fill_every_buffer_of_a_path(bench: Bench) -> None:
    await in_flight(bench)
