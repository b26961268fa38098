"""Testbench of the processor: kernels on several cores, every port compared in every cycle.

Memory is numpy's afterwards, bit by bit.
"""

import numpy as np

from cyclebound.golden.dataflow.bitstream import WORD
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.processor import ProcessorModel, processor_times
from cyclebound.golden.dataflow.run import Layout
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.core import (
    KERNELS,
    arrays_of,
    stored_by_a_thread,
    stored_twice,
    wanted,
)
from cyclebound.tb.dataflow.line_ports import answer_values, expected_request
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph

MEMORIES = ((1, 1), (2, 7), (3, 20))  # turn and latency of the memories below


def shapes_of(p: dict) -> tuple[CacheShape, CacheShape]:
    """A core's cache and the second level, from the component's parameters."""
    own = CacheShape(**{name: p[name] for name in CacheShape.__dataclass_fields__})
    return own, CacheShape(
        line=p["line"], address_width=p["address_width"], policy=WRITE_BACK,
        replacement=p["replacement"], **{name: p[f"l2_{name}"] for name in (
            "size", "banks", "ways", "misses", "targets")})


def model_of(p: dict) -> ProcessorModel:
    """The processor's model."""
    own, shared = shapes_of(p)
    return ProcessorModel(Grid(tuple(p["rows"])), cores=p["cores"], depth=p["depth"], shape=own,
                          shared=shared, channels=p["channels"])


def times_of(p: dict, mapped: Mapped, layout: Layout, **known: int) -> dict[str, int]:
    """What a run declares (`processor_times`)."""
    own, shared = shapes_of(p)
    return processor_times(mapped, layout, cores=p["cores"], depth=p["depth"], shape=own,
                           shared=shared, channels=p["channels"], **known)


class ProcessorTester:
    """The processor and its model, which keep their state from one configuration to the next."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.model = bench, model_of(bench.parameters)
        self.grid = Grid(tuple(bench.parameters["rows"]))

    async def kernel(self, name: str, threads: int, share: int, *, turn: int, latency: int,
                     twice: bool = False) -> int:
        """Run it, and compare what memory has afterwards. Returns its cycles.

        ``twice``: two threads store each word, of which memory must have one's.
        """
        bench, p = self.bench, self.bench.parameters
        mapped = map_graph(compile_kernel(KERNELS[name]), self.grid)
        arrays = arrays_of(name, threads, np.random.default_rng(bench.rng.getrandbits(32)))
        if twice:
            arrays = stored_twice(arrays)
        layout = Layout.of(arrays)
        words = layout.words(arrays)
        memories = [LineMemoryModel(words, line=p["line"], turn=turn, latency=latency,
                                    choose=self._drawn) for _ in range(p["channels"])]
        fixed = {"threads": threads, "share": share}
        for word in mapped.words(share, layout.buffers, tid_width=p["tid_width"],
                                 address_width=p["address_width"]):
            await bench.step(bench.inputs.pack(fixed | {
                "configuration.valid": 1, "configuration.payload": word}))
        bench.declare("completion", **times_of(p, mapped, layout, threads=threads, share=share,
                                               turn=turn, latency=latency))
        self.model.configure(mapped, layout, threads=threads, share=share)
        ran = await self._play(memories, len(mapped.accesses()))
        bench.undeclare("completion")
        z = layout.arrays(words)["z"]
        if twice:
            assert stored_by_a_thread(arrays, z), f"{name}: z has what no thread has stored"
        else:
            bench.compare(z, wanted(name, arrays), f"{name}: z", count=threads)
        bench.dut._log.info("%s: %d threads, %d each, turn %d, latency %d: %d cycles", name,
                            threads, share, turn, latency, ran)
        return ran

    def _drawn(self, turn: int, latency: int) -> tuple[int, int]:
        return tuple(self.bench.rng.choice((most, self.bench.rng.randint(1, most)))
                     for most in (turn, latency))  # type: ignore[return-value]

    async def _play(self, memories: list[LineMemoryModel], units: int) -> int:
        """`golden.dataflow.processor.run_processor`, with the hardware in each of its cycles."""
        bench, model = self.bench, self.model
        always = bench.outputs["done"].mask | sum(
            bench.outputs[f"faults.{core}.{k}.valid"].mask
            for core in range(bench.parameters["cores"]) for k in range(units))
        start = bench.cycle
        while True:
            values: dict[str, int] = {"start": bench.cycle == start}
            expected: dict[str, int] = {}
            care, takes, answers = always, [], []
            for number, (memory, asked) in enumerate(zip(memories, model.line_requests(),
                                                         strict=True)):
                its, cares = expected_request(bench, f"lines.{number}.request", asked, WORD)
                expected |= its
                care |= cares
                takes.append(memory.takes(asked))
                answers.append(memory.answer())
                values |= {f"lines.{number}.request.ready": takes[-1],
                           **answer_values(f"lines.{number}.response", answers[-1], WORD)}
            first = bench.cycle == start
            seen = await bench.step(bench.inputs.pack(values))
            result = model.step(start=first, lines_taken=takes, lines=answers)
            for memory, took in zip(memories, takes, strict=True):
                memory.step(took)
            assert not any(fault for core in result.cores for fault in core.faults)
            bench.check(seen, bench.outputs.pack(expected | {"done": result.done}), care)
            if result.done:
                return bench.cycle - start


async def everywhere(bench: Bench, name: str, *, twice: bool = False) -> None:
    """One configuration after the other; ranges that end within a line, and cores without any."""
    tester, p = ProcessorTester(bench), bench.parameters
    most = min((1 << p["address_width"]) // 3, p["cores"] << p["tid_width"], 24 * p["cores"])
    for turn, latency in MEMORIES:
        for threads in (1, most):
            await tester.kernel(name, threads, -(-threads // p["cores"]), turn=turn,
                                latency=latency, twice=twice)
    share = -(-most // (2 * p["cores"])) + 1  # the last cores have fewer, or none
    await tester.kernel(name, share + 1, share, turn=1, latency=3, twice=twice)


@testbench
async def sums_of_arrays(bench: Bench) -> None:
    await everywhere(bench, "vector_add")


@testbench
async def a_word_that_all_threads_load(bench: Bench) -> None:
    await everywhere(bench, "shifted")


@testbench
async def words_of_one_line_from_several_cores(bench: Bench) -> None:
    await everywhere(bench, "scattered")


@testbench
async def one_word_from_two_cores(bench: Bench) -> None:
    await everywhere(bench, "scattered", twice=True)


reset_in_mid_run = interrupted(sums_of_arrays, last=400)
