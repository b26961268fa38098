# amaranth: UnusedElaboratable=no
"""A fabric with its cache's banks, in hardware: cycles, faults and memory of the golden fabric."""

import numpy as np
import pytest
from amaranth.back import rtlil

from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.run import Layout, run_mapped
from cyclebound.hdl.dataflow.fabric_harness import FabricHarness
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph

pytestmark = pytest.mark.unit
MEMORY = {"banks": 2, "hit": 3, "miss": 9}


@pytest.mark.thorough
def test_converts_again():
    harness = FabricHarness(rows=("SL", "LT"), depth=2, tid_width=3, address_width=4, **MEMORY)
    assert rtlil.convert(harness) == rtlil.convert(harness)


def test_a_kernel_without_a_look_at_each_cycle(simulate):
    """Twice, at two rates of misses; the second array is too short."""
    grid, threads = Grid(("SLLT", "LCKL")), 7
    mapped = map_graph(compile_kernel(KERNELS["vector_add"]), grid)
    arrays = {name: np.arange(1, size + 1, dtype=np.float32).view(np.uint32)
              for name, size in (("x", 7), ("y", 5), ("z", 7))}
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    dut = FabricHarness(rows=grid.rows, depth=2, tid_width=4, address_width=5, **MEMORY)

    async def access(ctx, address, word=None):
        ctx.set(dut.host.valid, 1)
        ctx.set(dut.host.address, address)
        ctx.set(dut.host.write, word is not None)
        ctx.set(dut.host.data, word or 0)
        await ctx.tick()
        ctx.set(dut.host.valid, 0)
        await ctx.tick().repeat(MEMORY["hit"] - 1)
        return ctx.get(dut.host.word)

    async def bench(ctx):
        for address, word in enumerate(words):
            await access(ctx, address, word)
        for rate in (0, 128):
            ctx.set(dut.miss_rate, rate)
            ctx.set(dut.configuration.valid, 1)
            for word in mapped.words(threads, layout.buffers, tid_width=4, address_width=5):
                ctx.set(dut.configuration.payload, word)
                await ctx.tick()
            ctx.set(dut.configuration.valid, 0)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            await ctx.tick().until(dut.done)
            wanted = run_mapped(mapped, words, layout, threads=threads, depth=2,
                                miss_rate=rate / 256, **MEMORY)
            assert ctx.get(dut.cycles) == wanted.cycles
            assert [str(fault) for fault in wanted.faults] == [
                "load y: thread 5 at index 5", "load y: thread 6 at index 6"]
            for unit, report in enumerate(dut.faults):
                own = [fault for fault in wanted.faults if fault.unit == unit]
                assert ctx.get(report.count) == len(own)
                if own:
                    assert (ctx.get(report.first.tid), ctx.get(report.first.data)) == (5, 5)
            assert [await access(ctx, address) for address in range(len(words))] == words
    simulate(dut, bench)
    assert layout.arrays(words)["z"].view(np.float32).tolist() == [2, 4, 6, 8, 10, 6, 7]
