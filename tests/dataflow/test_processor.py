# amaranth: UnusedElaboratable=no
"""Several cores above a second level: memory is numpy's, within the composed bound; ranges."""

import re

import numpy as np
import pytest

from cyclebound.golden.dataflow.bitstream import UNIT_WORDS
from cyclebound.golden.dataflow.cache import LineCacheModel
from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.dataflow.fabric_bounds import core_completion, processor_completion
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.l2 import L2Model
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.persistence import (
    LineTraffic,
    line_traffic,
    lines_accessed,
    shared_traffic,
)
from cyclebound.golden.dataflow.processor import ranges, run_processor
from cyclebound.golden.dataflow.run import Layout
from cyclebound.hdl.dataflow.dispatcher import Dispatcher
from cyclebound.hdl.dataflow.processor import Processor
from cyclebound.sim.catalogue import load
from cyclebound.tb.dataflow.core import (
    KERNELS,
    arrays_of,
    stored_by_a_thread,
    stored_twice,
    wanted,
)
from cyclebound.tb.dataflow.processor import model_of, times_of
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from kit.processors import drawn_processor, pick

pytestmark = pytest.mark.unit
FOUR = load().find("dataflow.processor").configurations["four"].parameters


def test_ranges():
    assert ranges(10, cores=3, share=4) == [(0, 4), (4, 4), (8, 2)]
    assert ranges(4, cores=3, share=4) == [(0, 4), (4, 0), (8, 0)]
    with pytest.raises(ValueError, match=r"^threads must be 12 at most, 4 for each of 3 cores, "
                                         r"not 13$"):
        ranges(13, cores=3, share=4)


def ran(p, name, threads, share, turn, latency, *, rng=None, model=None, twice=False, **options):
    """Cycles, the bound, and whether memory is right: of words that threads store ``twice``,
    whether it has one of both."""
    mapped = map_graph(compile_kernel(KERNELS[name]), Grid(tuple(p["rows"])))
    arrays = arrays_of(name, threads, np.random.default_rng(threads))
    arrays = stored_twice(arrays) if twice else arrays
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    choose = {} if rng is None else {"choose": lambda *most: tuple(
        int(rng.choice((end, rng.integers(1, end + 1)))) for end in most)}
    memories = [LineMemoryModel(words, line=p["line"], turn=turn, latency=latency, **choose)
                for _ in range(p["channels"])]
    cycles = run_processor(model or model_of(p), memories, mapped, layout, threads=threads,
                           share=share, **options)
    known = times_of(p, mapped, layout, threads=threads, share=share, turn=turn, latency=latency)
    z = layout.arrays(words)["z"]
    return (cycles, processor_completion.of(known | p),
            stored_by_a_thread(arrays, z) if twice else np.array_equal(z, wanted(name, arrays)))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("changes", "threads", "share"), [
    ({}, 53, 14), ({"policy": "write-through"}, 20, 20),
    *(pytest.param(*case, marks=pytest.mark.thorough) for case in (
        ({"cores": 1}, 60, 60), ({"cores": 15}, 150, 10), ({"l2_banks": 6, "l2_size": 192,
                                                            "channels": 1}, 100, 25),
        ({"cores": 6, "l2_ways": 1, "l2_size": 24, "l2_misses": 1, "l2_targets": 1}, 90, 16)))])
def test_a_kernel_is_numpys_within_its_bound(name, changes, threads, share):
    """Cores store into other words of one line, where ranges meet and arrays begin."""
    p = FOUR | changes
    for turn, latency in ((1, 1), (3, 20)):
        cycles, allowed, right = ran(p, name, threads, share, turn, latency)
        assert right
        assert cycles <= allowed


@pytest.mark.parametrize(("threads", "share"), [(53, 14), (20, 5), (3, 1)])
def test_a_word_that_two_cores_store_is_one_of_theirs(threads, share, monkeypatch):
    cycles, allowed, right = ran(FOUR, "scattered", threads, share, 3, 20, twice=True)
    assert right
    assert cycles <= allowed
    monkeypatch.setattr(LineCacheModel, "mask_of",
                        lambda self, request: request.write * (2**self.shape.line - 1))
    if threads > 3:  # a line that is written with all of its words undoes others
        assert not ran(FOUR, "scattered", threads, share, 3, 20, twice=True)[2]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_no_drawn_run_exceeds_its_bound(seed):
    """Whatever other cores and the memories do: any sizes, times and ranges."""
    rng = np.random.default_rng(seed)
    changes, threads, share = drawn_processor(rng, (1, 2, 8))
    cycles, allowed, right = ran(FOUR | changes, pick(rng, *KERNELS), threads, share,
                                 pick(rng, 1, 3), pick(rng, 1, 9, 30), rng=rng)
    assert right
    assert cycles <= allowed


def test_what_all_misses_cost_together():
    """A core by itself, and with three others that have as many threads each."""
    allowed = [ran(FOUR, "vector_add", 20 * cores, 20, 2, 9)[:2] for cores in (1, 4)]
    assert all(cycles <= bound for cycles, bound in allowed)
    assert allowed[1][1] < 4 * allowed[0][1]


def test_traffic_at_the_second_level():
    mapped = map_graph(compile_kernel(KERNELS["vector_add"]), Grid(tuple(FOUR["rows"])))
    buffers = {"x": (0, 16), "y": (16, 16), "z": (32, 16)}
    lines = lines_accessed(mapped.graph, buffers, threads=4, first=8, line=4)
    assert lines == {2, 6, 10}
    own = CacheShape(size=16, line=4, banks=1, ways=4, misses=1, targets=1, address_width=8,
                     policy="write-back", replacement="lru")
    assert line_traffic(mapped.graph, buffers, threads=4, first=8, shape=own) == LineTraffic(
        12, 3, 0)
    assert shared_traffic(9, lines, own) == LineTraffic(9, 3, 0)
    assert shared_traffic(9, {0, 1, 2, 3, 4}, own) == LineTraffic(9, 9, 9)


@pytest.mark.parametrize(("model", "name", "wrong"), [
    # as a cache by itself may: a line is written with all of its words
    (LineCacheModel, "mask_of", lambda self, request: request.write * (2**self.shape.line - 1)),
    (L2Model, "flushed", lambda self, flush: flush)])
def test_a_fault_is_found(monkeypatch, model, name, wrong):
    monkeypatch.setattr(model, name, wrong)
    assert not ran(FOUR, "vector_add", 53, 14, 1, 1)[2]


def test_an_endless_run_is_an_error():
    with pytest.raises(RuntimeError, match=r"^threads were still under way after 20 cycles$"):
        ran(FOUR, "vector_add", 4, 1, 1, 1, limit=20)


@pytest.mark.parametrize(("threads", "share"), [(53, 14), (3, 20), (40, 10)])
def test_each_core_is_configured_with_its_range(simulate, threads, share):
    """Word for word as if each had its own configuration; twice, as one follows the other."""
    p, cores = FOUR, 4
    mapped = map_graph(compile_kernel(KERNELS["shifted"]), Grid(tuple(p["rows"])))
    layout = Layout.of(arrays_of("shifted", threads, np.random.default_rng(1)))
    sizes = {"tid_width": p["tid_width"], "address_width": p["address_width"]}
    sent = mapped.words(share, layout.buffers, **sizes)
    dut = Dispatcher(cores=cores, grid=mapped.grid, tid_width=p["tid_width"])
    got = [[] for _ in range(cores)]

    async def bench(ctx):
        ctx.set(dut.threads, threads)
        ctx.set(dut.share, share)
        for _ in range(2):
            for number, word in enumerate(sent):
                ctx.set(dut.configuration.valid, 1)
                ctx.set(dut.configuration.payload, word)
                for core, words in zip(dut.cores, got, strict=True):
                    assert ctx.get(core.valid)
                    words.append(ctx.get(core.payload))
                await ctx.tick()
                if number % 5 == 0:
                    ctx.set(dut.configuration.valid, 0)
                    await ctx.tick()
            ctx.set(dut.configuration.valid, 0)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
    simulate(dut, bench)
    assert len(sent) == UNIT_WORDS * len(mapped.grid.units) + len(mapped.grid.switches)
    for words, (first, count) in zip(got, ranges(threads, cores=cores, share=share), strict=True):
        if count:
            assert words == 2 * mapped.words(count, layout.buffers, first=first, **sizes)
        else:  # no configuration of its own has no threads
            assert words[:len(sent)] != sent


def test_the_bound_is_a_cores_and_the_flush():
    known = {"threads": 8, "depth": 4, "fill": 9, "interval": 8, "rest": 1, "lost": 5, "flush": 7}
    assert processor_completion.of(known | {"below": 20}) == core_completion.of(known) + 19


@pytest.mark.parametrize(("bad", "message"), [
    ({"cores": 0}, "core count must be at least 1, not 0"),
    ({"tid_width": 24}, "tid width must be from 1 to 23, not 24"),
    ({"channels": 4}, "channel count must be from 1 to 3, not 4"),
    ({"l2_size": 768 + 8},
     "cache size must be a power of two for each bank, 3 of them, not 776")])
def test_refuses(bad, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Processor(**FOUR | bad)
