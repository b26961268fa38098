"""Lines that a configuration asks for at most, and the cycles that they cost, against runs."""

import random

import numpy as np
import pytest

from cyclebound.golden.dataflow.cache import LineCacheModel
from cyclebound.golden.dataflow.cache_policies import POLICIES, REPLACEMENTS, CacheShape
from cyclebound.golden.dataflow.core import CoreModel, core_times, run_core
from cyclebound.golden.dataflow.fabric_bounds import core_completion, fabric_completion
from cyclebound.golden.dataflow.graph import CONSTANT, NUMBER, Graph, Memory, Special, Task
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.golden.dataflow.persistence import (
    LineTraffic,
    cycles_lost,
    index_of,
    line_traffic,
)
from cyclebound.golden.dataflow.run import Layout
from cyclebound.tools.dataflow.mapper import map_graph

pytestmark = pytest.mark.unit
SHAPE = {"size": 16, "line": 2, "banks": 2, "ways": 2, "misses": 2, "targets": 2,
         "address_width": 8, "policy": "write-back", "replacement": "lru"}


def access(graph, array, index, value=None):
    return graph.add(Task(Memory.LOAD if value is None else Memory.STORE, [index, value, None],
                          array=array))


def test_indexes_that_are_terms_of_the_thread():
    graph = Graph()
    number = graph.add(Task(NUMBER))
    four = graph.add(Task(CONSTANT, value=4))
    scaled = graph.add(Task(Operation.MUL, [number, 3]))
    term = graph.add(Task(Operation.SUB, [scaled, four]))
    loaded = access(graph, "x", term)
    assert index_of(graph, term, 3) == [2**32 - 4, 2**32 - 1, 2]
    assert index_of(graph, 7, 2) == [7, 7]
    assert index_of(graph, loaded, 3) is None
    assert index_of(graph, graph.add(Task(Operation.ADD, [loaded, 1])), 3) is None
    assert index_of(graph, graph.add(Task(Special.IDIV, [number, 2])), 3) is None


@pytest.mark.parametrize(("changes", "threads", "expected"), [
    # 8 words of x and z: 8 lines in 4 sets of 2 ways
    ({}, 8, LineTraffic(16, 8, 0)),
    # a third line in one set: each of the 6 accesses there may miss, and displace a dirty line
    ({}, 9, LineTraffic(18, 6 + 6, 6)),
    ({"ways": 4, "size": 32}, 9, LineTraffic(18, 9, 0)),
    # no line is taken for a store, which writes its word below
    ({"policy": "write-through"}, 8, LineTraffic(16, 4, 8)),
])
def test_lines_of_a_sum(changes, threads, expected):
    graph = Graph()
    number = graph.add(Task(NUMBER))
    graph.ends = [access(graph, "z", number, access(graph, "x", number))]
    assert line_traffic(graph, {"x": (0, threads), "z": (threads, threads)}, threads=threads,
                        shape=CacheShape(**SHAPE | changes)) == expected


def test_an_index_that_is_loaded_may_be_anywhere_in_its_array():
    graph = Graph()
    number = graph.add(Task(NUMBER))
    graph.ends = [access(graph, "y", access(graph, "x", number))]
    buffers = {"x": (0, 2), "y": (2, 14)}
    assert line_traffic(graph, buffers, threads=2, shape=CacheShape(**SHAPE)) == LineTraffic(
        4, 8, 0)
    # 15 lines of y: of each set there are more than it has ways
    assert line_traffic(graph, buffers | {"y": (2, 30)}, threads=2, shape=CacheShape(
        **SHAPE)) == LineTraffic(4, 2 + 2, 2 + 2)


def test_cycles_lost():
    assert cycles_lost(LineTraffic(100, 5, 2), turn=3, latency=10, targets=4) == 7 * 3 + 50 + 20
    assert cycles_lost(LineTraffic(8, 5, 0), turn=1, latency=1, targets=4) == 5 + 5 + 8


# -- cycles without a miss are those of hits -------------------------------------------------------

def waits(cache, memory):
    """Whether a cycle may be lost: something of a miss is under way."""
    return bool(cache.line_request() or memory._due or any(cache._filling)
                or any(bank.draining for bank in cache.banks))


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 1500),
                                                           marks=pytest.mark.thorough)])
def test_in_all_other_cycles_each_bank_takes_a_request(seeds):
    """And no more cycles are lost than the lines that were asked for may cost."""
    for seed in seeds:
        rng = random.Random(seed)
        line, banks, ways, sets = (rng.choice((1, 2, 4)) for _ in range(4))
        shape = CacheShape(size=line * banks * ways * sets, line=line, banks=banks, ways=ways,
                           misses=rng.randint(1, ways * sets), targets=rng.randint(1, 3),
                           address_width=9, policy=rng.choice(POLICIES),
                           replacement=rng.choice(REPLACEMENTS))
        turn, latency, ports = rng.choice((1, 3)), rng.choice((1, 2, 9)), rng.randint(1, 4)
        cache = LineCacheModel(ports=ports, shape=shape)
        memory = LineMemoryModel([0] * 512, line=line, turn=turn, latency=latency,
                                 choose=lambda *most, rng=rng: tuple(
                                     rng.randint(1, end) for end in most))
        held, tags, left, lost = [None] * ports, [set(range(4)) for _ in range(ports)], 120, 0
        few = [rng.randrange(512) for _ in range(6)]
        while left or any(held) or waits(cache, memory) or any(len(own) < 4 for own in tags):
            for port, response in enumerate(cache.responses()):
                if response is not None:
                    tags[port].add(response[0])
                if held[port] is None and tags[port] and left and rng.random() < 0.8:
                    left -= 1
                    address = rng.choice(few) if rng.random() < 0.8 else rng.randrange(512)
                    held[port] = TaggedAccess(tags[port].pop(), address, rng.random() < 0.4, 0)
            waited = waits(cache, memory)
            lost += waited
            wanted = {request.address // line % banks for request in held if request is not None}
            takes = memory.takes(cache.line_request())
            answer = memory.answer()
            taken = cache.step(held, line_taken=takes, line=answer)
            memory.step(takes)
            served = {request.address // line % banks
                      for request, took in zip(held, taken, strict=True) if took}
            assert waited or served == wanted, seed
            held = [None if took else request for request, took in zip(held, taken, strict=True)]
        counts = cache.counts
        assert counts["merged"] + counts["missed"] <= counts["read"] * shape.targets
        traffic = LineTraffic(120, counts["read"], counts["written"])
        assert lost <= cycles_lost(traffic, turn=turn, latency=latency, targets=shape.targets)


# -- whole runs ------------------------------------------------------------------------------------

def drawn(seed):
    """Loads by terms of the thread and by what was loaded, a sum of them, stored; and a cache."""
    rng = random.Random(seed)
    threads = rng.choice((5, 16, 40))
    graph = Graph()
    number = graph.add(Task(NUMBER))
    arrays = {"z": np.zeros(threads, np.uint32)}
    loaded = []
    for name in "abc"[:rng.randint(1, 3)]:
        size = rng.choice((1, 4, threads, 3 * threads))
        arrays[name] = np.array([rng.randrange(threads) for _ in range(size)], np.uint32)
        index = rng.choice([number, graph.add(Task(Operation.AND, [number, rng.choice((1, 6))])),
                            graph.add(Task(Operation.MUL, [number, rng.randint(1, 3)])),
                            *loaded[-1:]])
        loaded.append(access(graph, name, index))
    total = loaded[0]
    for other in loaded[1:]:
        total = graph.add(Task(Operation.ADD, [total, other]))
    graph.ends = [access(graph, "z", number, total)]
    line, banks, ways = rng.choice((2, 8)), rng.choice((1, 2, 4)), rng.choice((1, 2, 4))
    sets = rng.choice((1, 4))
    shape = CacheShape(size=line * banks * ways * sets, line=line, banks=banks, ways=ways,
                       misses=rng.randint(1, min(4, ways * sets)), targets=rng.randint(1, 4),
                       address_width=16, policy=rng.choice(POLICIES),
                       replacement=rng.choice(REPLACEMENTS))
    return (graph.pruned(), arrays, shape, threads, rng.choice((2, 4)),
            rng.choice(((1, 1), (3, 20))), rng)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 60),
                                                          marks=pytest.mark.thorough)])
def test_no_random_run_exceeds_its_bound(seeds):
    nearest = 0.0
    for seed in seeds:
        graph, arrays, shape, threads, depth, (turn, latency), rng = drawn(seed)
        mapped, layout = map_graph(graph, FIVE_BY_FIVE, moves=300), Layout.of(arrays)
        core = CoreModel(FIVE_BY_FIVE, depth=depth, shape=shape)
        memory = LineMemoryModel(layout.words(arrays), line=shape.line, turn=turn, latency=latency,
                                 choose=lambda *most, rng=rng: tuple(
                                     rng.choice((end, rng.randint(1, end))) for end in most))
        ran = run_core(core, memory, mapped, layout, threads=threads)
        traffic = line_traffic(mapped.graph, layout.buffers, threads=threads, shape=shape)
        assert core.cache.counts["read"] <= traffic.reads, seed
        known = core_times(mapped, layout, threads=threads, depth=depth, shape=shape, turn=turn,
                           latency=latency) | {"depth": depth}
        assert ran.threads_ended <= fabric_completion.of(known) + known["lost"], seed
        assert ran.cycles <= core_completion.of(known), seed
        nearest = max(nearest, ran.cycles / core_completion.of(known))
    assert nearest > 0.4
