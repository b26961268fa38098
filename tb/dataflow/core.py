"""Testbench of the core: kernels above a memory of lines, every port compared in every cycle.

Memory is numpy's afterwards, bit by bit.
"""

import numpy as np

from cyclebound.golden.dataflow.bitstream import WORD
from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.dataflow.core import CoreModel, CoreResult, CoreRun, core_times
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.kernel import Ints, kernel
from cyclebound.golden.dataflow.kernels import KERNELS as TABLE_2
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.run import Layout
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.fabric import configure
from cyclebound.tb.dataflow.line_ports import answer_values, expected_request
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph

MEMORIES = ((1, 1), (2, 7), (3, 20))  # turn and latency of the memory below


@kernel
def shifted(tid, x: Ints, c: Ints, z: Ints):
    """Each thread loads one word that all others load, too."""
    z[tid] = x[tid] + c[0]  # type: ignore[index]


@kernel
def scattered(tid, x: Ints, y: Ints, z: Ints):
    """Each thread stores at a place that is data."""
    z[x[tid]] = y[tid]  # type: ignore[index]


KERNELS = {"vector_add": TABLE_2["vector_add"], "shifted": shifted, "scattered": scattered}


def arrays_of(name: str, threads: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What the kernel gets. ``scattered`` stores each word once, in any order of threads."""
    if name == "scattered":
        return {"x": rng.permutation(threads).astype(np.uint32),
                "y": rng.integers(0, 2**31, threads).astype(np.uint32),
                "z": np.zeros(threads, np.uint32)}
    if name == "vector_add":
        return {**{array: rng.standard_normal(threads).astype(np.float32).view(np.uint32)
                   for array in "xy"}, "z": np.zeros(threads, np.uint32)}
    return {"x": rng.integers(0, 2**31, threads).astype(np.uint32),
            "c": rng.integers(0, 2**31, 3).astype(np.uint32), "z": np.zeros(threads, np.uint32)}


def wanted(name: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """What numpy makes of it."""
    if name == "vector_add":
        return (arrays["x"].view(np.float32) + arrays["y"].view(np.float32)).view(np.uint32)
    if name == "scattered":
        return arrays["y"][np.argsort(arrays["x"])]
    return arrays["x"] + arrays["c"][0]


def stored_twice(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What ``scattered`` gets, so that each word is stored by two threads, wherever these run."""
    return arrays | {"x": arrays["x"] // 2}


def stored_by_a_thread(arrays: dict[str, np.ndarray], z: np.ndarray) -> bool:
    """Whether each word that threads of ``scattered`` store is one of theirs, and no other has
    changed."""
    return all(word in arrays["y"][arrays["x"] == at] if at in arrays["x"] else
               word == arrays["z"][at] for at, word in enumerate(z))


class DataflowCoreTester:
    """The core, its model, which keeps its state from one configuration to the next."""

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        self.bench, self.grid = bench, Grid(tuple(p["rows"]))
        self.shape = CacheShape(**{name: p[name] for name in CacheShape.__dataclass_fields__})
        self.model = CoreModel(self.grid, depth=p["depth"], shape=self.shape)

    async def kernel(self, name: str, threads: int, *, turn: int, latency: int) -> CoreRun:
        """Run it, and compare what memory has afterwards."""
        bench, p = self.bench, self.bench.parameters
        mapped = map_graph(compile_kernel(KERNELS[name]), self.grid)
        arrays = arrays_of(name, threads, np.random.default_rng(bench.rng.getrandbits(32)))
        layout = Layout.of(arrays)
        words = layout.words(arrays)
        memory = LineMemoryModel(words, line=self.shape.line, turn=turn, latency=latency,
                                 choose=self._drawn)
        await configure(bench, mapped, layout, threads)
        bench.declare("completion", **core_times(
            mapped, layout, threads=threads, depth=p["depth"], shape=self.shape, turn=turn,
            latency=latency))
        ran = await self._play(mapped, layout, memory, threads)
        bench.undeclare("completion")
        bench.compare(layout.arrays(words)["z"], wanted(name, arrays), f"{name}: z", count=threads)
        bench.dut._log.info("%s: %d threads, turn %d, latency %d: %d cycles, %s", name, threads,
                            turn, latency, ran.cycles, self.model.cache.counts)
        return ran

    def _drawn(self, turn: int, latency: int) -> tuple[int, int]:
        return tuple(self.bench.rng.choice((most, self.bench.rng.randint(1, most)))
                     for most in (turn, latency))  # type: ignore[return-value]

    async def _play(self, mapped: Mapped, layout: Layout, memory: LineMemoryModel,
                    threads: int) -> CoreRun:
        """`golden.dataflow.core.run_core`, with the hardware in each of its cycles."""
        bench, model = self.bench, self.model
        model.configure(mapped.configuration(threads, layout.buffers))
        always = bench.outputs["done"].mask | sum(
            bench.outputs[f"faults.{k}.valid"].mask for k in range(len(mapped.accesses())))
        start, ended = bench.cycle, 0
        while True:
            asked = model.line_request()
            takes, answer = memory.takes(asked), memory.answer()
            values: dict[str, int] = {
                "start": bench.cycle == start, "lines.request.ready": takes,
                **answer_values("lines.response", answer, WORD)}
            first = bench.cycle == start
            seen = await bench.step(bench.inputs.pack(values))
            assert model.fabric is not None
            if model.fabric.done and not ended:
                ended = bench.cycle - start
            result: CoreResult = model.step(start=first, line_taken=takes, line=answer)
            memory.step(takes)
            expected, care = expected_request(bench, "lines.request", asked, WORD)
            expected["done"] = result.done
            care |= always
            assert not any(result.faults)
            bench.check(seen, bench.outputs.pack(expected), care)
            if result.done:
                return CoreRun(ended, bench.cycle - start)


async def everywhere(bench: Bench, name: str) -> None:
    """One configuration after the other; each begins with an empty cache."""
    tester = DataflowCoreTester(bench)
    longest = (1 << bench.parameters["address_width"]) // 3
    for turn, latency in MEMORIES:
        for threads in (1, min(longest, 40)):
            await tester.kernel(name, threads, turn=turn, latency=latency)


@testbench
async def sums_of_arrays(bench: Bench) -> None:
    await everywhere(bench, "vector_add")


@testbench
async def a_word_that_all_threads_load(bench: Bench) -> None:
    await everywhere(bench, "shifted")


reset_in_mid_run = interrupted(sums_of_arrays, last=400)
