"""Kernels on a fabric with its memory in hardware: Python fills memory, waits, and compares.

Cycles, faults and memory have to be those of the golden fabric with the golden memory.
"""

from typing import TypedDict

from cyclebound.golden.dataflow.cache_bounds import access_times
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.run import Layout, run_mapped
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import configure, prepared


class _Memory(TypedDict):
    banks: int
    hit: int
    miss: int


MEMORY: _Memory = {"banks": 32, "hit": 4, "miss": 40}  # of the component
_RATE = 26  # of 256: one access in ten


async def fill(bench: Bench, words: list[int]) -> None:
    for address, word in enumerate(words):
        await bench.step(bench.inputs.pack({"host.valid": 1, "host.address": address,
                                            "host.write": 1, "host.data": word}))


async def contents(bench: Bench, count: int) -> list[int]:
    """Read the first ``count`` words of memory by the host's port."""
    words = []
    for address in range(count + MEMORY["hit"]):
        asks = {"host.valid": 1, "host.address": address} if address < count else {}
        seen = await bench.step(bench.inputs.pack(asks))
        words.append(bench.outputs["host.word"].of(seen))
    return words[MEMORY["hit"]:]


async def play(bench: Bench, mapped: Mapped, words: list[int], layout: Layout, threads: int,
               rate: int) -> None:
    """One configuration, on the RTL and on the golden fabric; ``words`` are changed by the latter.
    """
    p = bench.parameters
    await fill(bench, words)
    await configure(bench, mapped, layout, threads)
    setting = bench.inputs.pack({"miss_rate": rate})
    longest, stall = access_times(users=sum(map(bool, mapped.accesses())), miss_rate=1, **MEMORY)
    allowed = estimate(mapped, threads=threads, depth=p["depth"], memory=longest, stall=stall)
    bench.declare("completion", threads=threads, **allowed.parameters)
    await bench.step(setting)
    await bench.step(setting | bench.inputs["start"].mask)
    bench.drive(setting)
    seen = bench.outputs.unpack(await bench.run_until("done", poll=200))
    wanted = run_mapped(mapped, words, layout, threads=threads, depth=p["depth"],
                        miss_rate=rate / 256, **MEMORY)
    bench.compare(seen["cycles"], wanted.cycles, "cycles of a kernel", count=wanted.cycles)
    for unit in range(len(mapped.accesses())):
        own = [fault for fault in wanted.faults if fault.unit == unit]
        bench.compare(seen[f"faults.{unit}.count"], len(own), f"faults.{unit}.count")
        if own:
            bench.compare((seen[f"faults.{unit}.first.tid"], seen[f"faults.{unit}.first.data"]),
                          (own[0].thread, own[0].index), f"faults.{unit}.first")
    bench.compare(await contents(bench, len(words)), words, "memory", count=len(words))


async def kernel(bench: Bench, name: str, threads: int, *, size: int | None = None,
                 rate: int = _RATE) -> None:
    parts, arrays, layout, wanted = prepared(bench, name, threads, size=size,
                                             constants=CONSTANTS.get(name))
    words = layout.words(arrays)
    for part in parts:
        await play(bench, part, words, layout, threads, rate)
    after = layout.arrays(words)
    for array_name, array in wanted.items():
        bench.compare(after[array_name], array, f"{name}: {array_name}")


@testbench
async def vector_add(bench: Bench) -> None:
    for rate in (0, _RATE, 256):
        await kernel(bench, "vector_add", 100, rate=rate)


@testbench
async def accesses_outside_their_arrays_are_reported(bench: Bench) -> None:
    await kernel(bench, "vector_add", 40, size=33)
