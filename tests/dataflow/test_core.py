# amaranth: UnusedElaboratable=no
"""A fabric above its cache: memory is numpy's, within the bound that the cache's times make."""

import re

import numpy as np
import pytest

from cyclebound.golden.dataflow.cache import LineCacheModel
from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.dataflow.core import CoreModel, core_times, run_core
from cyclebound.golden.dataflow.fabric_bounds import core_completion, fabric_completion
from cyclebound.golden.dataflow.graph import Memory, Token
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.line_cache_bounds import line_access, line_flush, line_taken
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.hdl.dataflow.core import Core
from cyclebound.sim.catalogue import load
from cyclebound.tb.dataflow.core import KERNELS, MEMORIES, arrays_of, wanted
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph

pytestmark = pytest.mark.unit
SMALL = load().find("dataflow.core").configurations["small"].parameters


def prepared(name, threads, p=SMALL):
    mapped = map_graph(compile_kernel(KERNELS[name]), Grid(tuple(p["rows"])))
    arrays = arrays_of(name, threads, np.random.default_rng(threads))
    shape = CacheShape(**{key: p[key] for key in CacheShape.__dataclass_fields__})
    return mapped, arrays, Layout.of(arrays), shape


def ran(core, name, threads, turn, latency, p=SMALL):
    mapped, arrays, layout, shape = prepared(name, threads, p)
    words = layout.words(arrays)
    run = run_core(core, LineMemoryModel(words, line=shape.line, turn=turn, latency=latency),
                   mapped, layout, threads=threads)
    known = core_times(mapped, layout, threads=threads, depth=p["depth"], shape=shape, turn=turn,
                       latency=latency)
    return run, known, np.array_equal(layout.arrays(words)["z"], wanted(name, arrays))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("changes", [{}, {"policy": "write-through", "ways": 1}, pytest.param(
    {"size": 8, "line": 1, "banks": 4, "ways": 2, "misses": 1, "targets": 1},
    marks=pytest.mark.thorough)])
def test_a_kernel_is_numpys_within_its_bound(name, changes):
    p = SMALL | changes
    shape = prepared(name, 1, p)[-1]
    core = CoreModel(Grid(tuple(p["rows"])), depth=p["depth"], shape=shape)
    for threads, (turn, latency) in zip((1, 30, 64), MEMORIES, strict=True):
        run, known, right = ran(core, name, threads, turn, latency, p)
        assert right
        assert run.threads_ended <= fabric_completion.of(known | p) + known["lost"]
        assert run.threads_ended < run.cycles <= core_completion.of(known | p)


@pytest.mark.parametrize(("changes", "latency", "lost"), [
    # of 64 words, 8 lines of each array: in each of 8 sets there are three lines of two ways, and
    # each access of 3 * 64 may read a line, and write one
    ({}, 7, 192 * (1 + 1 + 7) + 192),
    # one set of four ways: four misses are under way at once, which is less than one by one
    ({"size": 32, "banks": 1, "ways": 4, "misses": 4}, 40, 0)])
def test_times_are_those_of_the_cache_and_the_memory_below(changes, latency, lost):
    p = SMALL | changes
    mapped, _, layout, shape = prepared("vector_add", 64, p)
    cache = p | {"ports": 3, "tag_width": 2, "turn": 1, "latency": latency}
    memory, stall = ((3 + 2, 2) if lost else
                     (line_access.of(cache), line_taken.of(cache) - 1))
    times = estimate(mapped, threads=64, depth=4, memory=memory, stall=stall)
    assert core_times(mapped, layout, threads=64, depth=4, shape=shape, turn=1,
                      latency=latency) == {
        "threads": 64, **times.parameters, "lost": lost, "flush": shape.banks + line_flush.of(
            cache | {"dirty": 4, "under_way": 0})}


def test_a_store_for_which_no_thread_waits_may_be_under_way_at_the_end():
    mapped, _, layout, shape = prepared("vector_add", 8)
    known = {"threads": 8, "depth": 4, "shape": shape, "turn": 2, "latency": 7}
    flush = core_times(mapped, layout, **known)["flush"]
    mapped.graph.ends[:] = [Token(number) for number, task in mapped.graph.tasks.items()
                            if task.function == Memory.LOAD]
    assert core_times(mapped, layout, **known)["flush"] > flush


def test_what_is_loaded_again_is_read_once():
    """64 words of x and z and a line of c, of 8 words each: 17 lines or 18, as they lie."""
    core = CoreModel(Grid(tuple(SMALL["rows"])), depth=4, shape=prepared("shifted", 1)[-1])
    run, *_ = ran(core, "shifted", 64, 1, 7)
    counts = core.cache.counts
    assert counts["hits"] + counts["merged"] + counts["missed"] == 3 * 64
    assert counts["missed"] == counts["read"] <= 18
    assert run.cycles < 64 * 8


def test_a_core_that_does_not_flush_is_found(monkeypatch):
    monkeypatch.setattr(LineCacheModel, "flushed", lambda self, flush: flush)
    core = CoreModel(Grid(tuple(SMALL["rows"])), depth=4, shape=prepared("vector_add", 1)[-1])
    _, _, right = ran(core, "vector_add", 30, 1, 1)
    assert not right


def test_an_endless_run_is_an_error():
    mapped, _, layout, shape = prepared("vector_add", 4)
    core = CoreModel(Grid(tuple(SMALL["rows"])), depth=4, shape=shape)
    with pytest.raises(RuntimeError, match=r"^threads were still under way after 20 cycles$"):
        run_core(core, LineMemoryModel([0] * 64, line=8), mapped, layout, threads=4, limit=20)


@pytest.mark.parametrize(("bad", "message"), [
    ({"depth": 3}, "depth must be a power of two, not 3"),
    ({"line": 256}, "a line must have 64 words at most, a bank's share of the cache, not 256"),
    ({"address_width": 4},
     "addresses must have 7 bits at least, as the cache has 128 words, not 4")])
def test_refuses(bad, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Core(**SMALL | bad)
