"""Testbench of the processor above DRAM: kernels, every port and pin compared in every cycle.

On each channel's pins is a device that objects to whatever its data sheet forbids. What it has
afterwards is numpy's, bit by bit.
"""

import numpy as np

from cyclebound.golden.dataflow.channel import ChannelModel
from cyclebound.golden.dataflow.channel_shape import ChannelShape
from cyclebound.golden.dataflow.dram_processor import dram_processor_times
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.dataflow.channel import Pins
from cyclebound.tb.dataflow.core import KERNELS, arrays_of, wanted
from cyclebound.tb.dataflow.processor import model_of, shapes_of
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph

__all__ = ["dram_times_of"]


def dram_times_of(p: dict, mapped: Mapped, layout: Layout, **known: int) -> dict[str, int]:
    """What a run declares (`dram_processor_times`)."""
    own, shared = shapes_of(p)
    return dram_processor_times(mapped, layout, part=p["part"], cores=p["cores"], depth=p["depth"],
                                shape=own, shared=shared, channels=p["channels"], **known)


class DramProcessorTester:
    """Processor, channels and DRAMs, and their models."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.model, self.grid = model_of(p), Grid(tuple(p["rows"]))
        shape = ChannelShape(line=p["line"], address_width=p["address_width"])
        self.channels = [ChannelModel(part_named(p["part"]), shape=shape)
                         for _ in range(p["channels"])]
        self.pins = [Pins(bench, channel, f"drams.{number}.")
                     for number, channel in enumerate(self.channels)]
        self.configured = False

    async def cycle(self, values: dict[str, int]) -> bool:
        """One cycle; whether all is done."""
        bench, model = self.bench, self.model
        asked = model.line_requests() if self.configured else [None] * len(self.channels)
        idle = all(channel.idle for channel in self.channels)
        driven = bench.inputs.pack(values)
        for pins in self.pins:
            driven |= pins.drive()
        seen = await bench.step(driven)
        takes = [channel.takes(line) for channel, line in zip(self.channels, asked, strict=True)]
        expected = care = 0
        for pins in self.pins:
            shown, cares = pins.expected()
            expected, care = expected | shown, care | cares
        done = False
        if self.configured:
            result = model.step(start=bool(values.get("start")), lines_taken=takes,
                                lines=[channel.answer() for channel in self.channels])
            assert not any(fault for core in result.cores for fault in core.faults)
            done = result.done and idle
            expected |= bench.outputs["done"].to(done)
            care |= bench.outputs["done"].mask
        bench.check(seen, expected, care)
        for pins, channel, took in zip(self.pins, self.channels, takes, strict=True):
            pins.see(seen)
            channel.step(took)
        return done

    async def kernel(self, name: str, threads: int, share: int) -> int:
        """Run it, and compare what the DRAMs have afterwards. Returns its cycles."""
        bench, p = self.bench, self.bench.parameters
        mapped = map_graph(compile_kernel(KERNELS[name]), self.grid)
        arrays = arrays_of(name, threads, np.random.default_rng(bench.rng.getrandbits(32)))
        layout = Layout.of(arrays)
        words = layout.words(arrays)
        for pins in self.pins:
            pins.load([int(word) for word in words])
        self.configured = False
        fixed = {"threads": threads, "share": share}
        for word in mapped.words(share, layout.buffers, tid_width=p["tid_width"],
                                 address_width=p["address_width"]):
            await self.cycle(fixed | {"configuration.valid": 1, "configuration.payload": word})
        bench.declare("completion", **dram_times_of(p, mapped, layout, threads=threads,
                                                    share=share))
        self.model.configure(mapped, layout, threads=threads, share=share)
        self.configured, begun = True, bench.cycle
        done = await self.cycle({"start": 1})
        while not done:
            done = await self.cycle({})
        ran = bench.cycle - begun
        bench.undeclare("completion")
        _, shared = shapes_of(p)
        there = [self.pins[address // shared.line % shared.banks % p["channels"]].word(address)
                 for address in range(len(words))]
        bench.compare(layout.arrays(there)["z"], wanted(name, arrays),
                      f"{name}: z", count=threads)
        bench.dut._log.info("%s: %d threads, %d each: %d cycles", name, threads, share, ran)
        return ran


async def everywhere(bench: Bench, name: str) -> None:
    """One configuration after the other, at any time since the last refresh; ranges that end within
    a line, and cores without any."""
    tester, p = DramProcessorTester(bench), bench.parameters
    most = min((1 << p["address_width"]) // 3, p["cores"] << p["tid_width"], 24 * p["cores"])
    interval = part_named(p["part"]).nREFI
    for threads in (1, most):
        for before in (0, 1, bench.rng.randint(100, 900)):  # cycles until a refresh falls due
            while before and (bench.cycle + 1 + before) % interval:
                await tester.cycle({})
            await tester.kernel(name, threads, -(-threads // p["cores"]))
    share = -(-most // (2 * p["cores"])) + 1  # the last cores have fewer, or none
    await tester.kernel(name, share + 1, share)


@testbench
async def sums_of_arrays(bench: Bench) -> None:
    await everywhere(bench, "vector_add")


@testbench
async def a_word_that_all_threads_load(bench: Bench) -> None:
    await everywhere(bench, "shifted")


reset_in_mid_run = interrupted(sums_of_arrays, last=1_000)
