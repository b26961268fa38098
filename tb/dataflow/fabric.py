"""Testbench of the fabric: kernels, every load/store unit's ports compared in every cycle."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from cyclebound.golden.dataflow.cache_banks import CacheModel, random_cache
from cyclebound.golden.dataflow.cache_bounds import access_times
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import NUMBER, Graph, Memory, Task
from cyclebound.golden.dataflow.grid import Grid, Kind
from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import Floats, Kernel
from cyclebound.golden.dataflow.kernels import KERNELS, LOOPS
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.memory import with_spills
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES, Operation
from cyclebound.golden.dataflow.run import Accesses, Layout
from cyclebound.golden.dataflow.wcet import estimate, longest_path
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.dataflow.run import map_graphs
from cyclebound.tools.dataflow.segments import compile_segments


async def configure(bench: Bench, mapped: Mapped, layout: Layout, threads: int) -> None:
    """Load a configuration, a word in each cycle."""
    p = bench.parameters
    await load(bench, mapped.words(threads, layout.buffers, tid_width=p["tid_width"],
                                   address_width=p["address_width"]))


async def load(bench: Bench, words: Iterable[int]) -> None:
    """Load a configuration that is words already."""
    for word in words:
        await bench.step(bench.inputs.pack({"configuration.valid": 1,
                                            "configuration.payload": word}))


async def run(bench: Bench, mapped: Mapped, words: list[int], layout: Layout, threads: int,
              **memory) -> tuple[int, CacheModel]:
    """Configure the fabric and let the threads run, with nothing but the memory in Python.

    Returns the cycles from start to done, and the memory. No access may be outside its array.
    """
    await configure(bench, mapped, layout, threads)
    return await run_loaded(bench, words, len(mapped.grid.of_kind(Kind.LOAD_STORE)), **memory)


async def run_loaded(bench: Bench, words: list[int], count: int, *,
                     faults_of: Callable[[int, int, int], None] | None = None,
                     tell: Callable[[int], None] | None = None,
                     events: Counter[str] | None = None,
                     **memory) -> tuple[int, CacheModel]:
    """Run the threads of a configured fabric with ``count`` load/store units, to their end.

    ``faults_of`` is told unit, thread and index of each access outside of its array; without it
    there may be none. ``tell`` is told the cycle, now and then. The memory's events are added to
    ``events``.
    """
    outputs, inputs = bench.outputs, bench.inputs
    accesses = Accesses(words, units=count, **memory)
    cache = accesses.cache
    asks = [outputs[f"memory.{k}.request.valid"].mask for k in range(count)]
    says = [tuple(outputs[f"memory.{k}.request.payload.{name}"] for name in
                  ("tag", "address", "write", "data")) for k in range(count)]
    takes = [inputs[f"memory.{k}.request.ready"].mask for k in range(count)]
    answered = [inputs[f"memory.{k}.response.valid"].mask for k in range(count)]
    answers = [tuple(inputs[f"memory.{k}.response.payload.{name}"] for name in ("tag", "data"))
               for k in range(count)]
    faults = sum(outputs[f"memory.{k}.fault.valid"].mask for k in range(count))
    reports = [(outputs[f"memory.{k}.fault.valid"].mask, outputs[f"memory.{k}.fault.payload.tid"],
                outputs[f"memory.{k}.fault.payload.data"]) for k in range(count)]
    done = outputs["done"].mask
    start, seen, word = bench.cycle, 0, inputs["start"].mask
    while not seen & done:
        for k, response in enumerate(cache.responses()):
            if response is not None:
                word |= answered[k] | sum(field.to(value) for field, value in
                                          zip(answers[k], response, strict=True))
        seen = await bench.peek()
        requests: list[TaggedAccess | None] = [None] * count
        for k, asking in enumerate(asks):
            if seen & asking:
                tag, address, write, data = (field.of(seen) for field in says[k])
                requests[k] = TaggedAccess(tag, address, bool(write), data)
        for k, taken in enumerate(cache.step(requests)):
            if taken:
                word |= takes[k]
        ended = await bench.step(word)
        if faults_of is None:
            bench.check(ended, 0, faults)
        elif ended & faults:
            for k, (valid, tid, index) in enumerate(reports):
                if ended & valid:
                    faults_of(k, tid.of(ended), index.of(ended))
        if tell is not None and not (bench.cycle - start) % 1000:
            tell(bench.cycle - start)
        word = 0
    if events is not None:
        events.update(accesses.events)
    return bench.cycle - start, cache


class Holding:
    """A memory that takes no store before a cycle, and counts the loads that it takes until then.

    Parameters
    ----------
    cache : CacheModel
        The memory.
    until : int
        That cycle; the one in which the threads start is 0.
    """

    def __init__(self, cache: CacheModel, until: int):
        self._cache, self._left, self.loads = cache, until, 0
        self.responses = cache.responses

    def step(self, requests: Sequence[TaggedAccess | None]) -> list[bool]:
        if not self._left:
            return self._cache.step(requests)
        self._left -= 1
        taken = self._cache.step([None if request and request.write else request
                                  for request in requests])
        self.loads += sum(taken)
        return taken


async def play(bench: Bench, mapped: Mapped, words: list[int], layout: Layout, threads: int,
               *, hold: int = 0, **memory) -> tuple[int, CacheModel | Holding]:
    """As `run`, with the golden fabric beside it, and every port in use compared.

    ``hold``: cycles for which memory takes no store; it is a `Holding` then.
    """
    p = bench.parameters
    await configure(bench, mapped, layout, threads)
    model = FabricModel(mapped.grid, mapped.configuration(threads, layout.buffers),
                        depth=p["depth"])
    plain = random_cache(words, units=len(model.loads), **memory)
    cache = Holding(plain, hold) if hold else plain
    used = [k for k, node in enumerate(model.loads) if node in model.units]
    always = bench.outputs["done"].mask
    for k in used:
        always |= (bench.outputs[f"memory.{k}.request.valid"].mask
                   | bench.outputs[f"memory.{k}.fault.valid"].mask)
    start, done = bench.cycle, False
    while not done:
        responses, requests = cache.responses(), model.requests()
        taken = cache.step(requests)
        values: dict[str, int] = {"start": bench.cycle == start}
        for k in used:
            if taken[k]:
                values[f"memory.{k}.request.ready"] = 1
            if (response := responses[k]) is not None:
                values |= {f"memory.{k}.response.valid": 1,
                           f"memory.{k}.response.payload.tag": response[0],
                           f"memory.{k}.response.payload.data": response[1]}
        seen = await bench.step(bench.inputs.pack(values))
        outputs = model.step(start=bool(values["start"]), requests_taken=taken, responses=responses)
        done = outputs.done
        expected: dict[str, int] = {"done": done}
        care = always
        for k in used:
            request, fault = outputs.requests[k], outputs.faults[k]
            if request is not None:
                at = f"memory.{k}.request."
                expected |= {f"{at}valid": 1, f"{at}payload.tag": request.tag,
                             f"{at}payload.address": request.address,
                             f"{at}payload.write": request.write}
                care |= (bench.outputs[f"{at}payload.tag"].mask
                         | bench.outputs[f"{at}payload.address"].mask
                         | bench.outputs[f"{at}payload.write"].mask)
                if request.write:
                    expected[f"{at}payload.data"] = request.data
                    care |= bench.outputs[f"{at}payload.data"].mask
            if fault is not None:
                at = f"memory.{k}.fault."
                expected |= {f"{at}valid": 1, f"{at}payload.tid": fault[0],
                             f"{at}payload.data": fault[1]}
                care |= bench.outputs[f"{at}payload"].mask
        bench.check(seen, bench.outputs.pack(expected), care)
    return bench.cycle - start, cache


async def measure(bench: Bench, mapped: Mapped, words: list[int], layout: Layout, threads: int,
                  *, compare: bool, **memory) -> int:
    """Play, declared with the bound for this memory, made before."""
    longest, stall = access_times(users=sum(map(bool, mapped.accesses())), **memory)
    allowed = estimate(mapped, threads=threads, depth=bench.parameters["depth"], memory=longest,
                       stall=stall)
    bench.declare("completion", threads=threads, **allowed.parameters)
    cycles, _ = await (play if compare else run)(bench, mapped, words, layout, threads, **memory)
    bench.undeclare("completion")
    return cycles


def random_arrays(bench: Bench, kernel: Kernel, size: int) -> dict[str, np.ndarray]:
    """Floats around 1 and small integers, as bits."""
    rng = np.random.default_rng(bench.rng.getrandbits(32))
    arrays = {}
    for array in kernel.arrays:
        floats = kernel.parameters[array] is Floats
        numbers = rng.standard_normal(size).astype(np.float32).view(np.uint32)
        arrays[array] = numbers if floats else rng.integers(0, 2, size).astype(np.uint32)
    return arrays


def prepared(bench: Bench, name: str, threads: int, *, size: int | None = None,
             constants=None) -> tuple[list[Mapped], dict, Layout, dict]:
    """A kernel on the grid: its parts, arrays with what parts have in common, where they lie, and
    the reference's arrays afterwards."""
    grid = Grid(tuple(bench.parameters["rows"]))
    kernel = (KERNELS | LOOPS)[name]
    graphs = compile_segments(kernel, **(constants or {}))
    parts = map_graphs(graphs, grid, depth=bench.parameters["depth"])
    arrays = random_arrays(bench, kernel, size or threads)
    after, _ = interpret_all(graphs, arrays, threads)
    wanted = {array: after[array] for array in arrays}
    arrays = with_spills([array for part in parts for array in part.arrays], arrays, threads)
    return parts, arrays, Layout.of(arrays), wanted


async def kernel(bench: Bench, name: str, threads: int, *, size: int | None = None,
                 constants=None, compare: bool = True, **memory) -> int:
    """A kernel on the grid: memory afterwards is that of the reference, bit by bit.

    ``compare``: with the golden fabric, too, in every cycle. Returns the cycles of all its parts.
    """
    parts, arrays, layout, wanted = prepared(bench, name, threads, size=size, constants=constants)
    words = layout.words(arrays)
    cycles = [await measure(bench, part, words, layout, threads, compare=compare, **memory)
              for part in parts]
    bench.dut._log.info("%s: %d threads, %d cycles, %s", name, threads, sum(cycles), cycles)
    after = layout.arrays(words)
    for array_name, array in wanted.items():
        assert after[array_name].tolist() == array.tolist(), f"{name}: {array_name}"
    return sum(cycles)


async def streams(bench: Bench, lengths: Iterable[int]) -> None:
    """Thread number + a constant, into the sink: no memory, so that the bound is exact."""
    graph = Graph()
    graph.ends = [graph.add(Task(Operation.ADD, [graph.add(Task(NUMBER)), 5]))]
    mapped = map_graph(graph, Grid(tuple(bench.parameters["rows"])))
    for threads in lengths:
        bench.declare("stream", threads=threads, path=longest_path(mapped))
        await play(bench, mapped, [], Layout({}), threads)
    bench.undeclare("stream")


async def in_flight(bench: Bench) -> None:
    """A load, sums, and a store that memory does not take: each holds as many threads as its
    buffers have entries, and each sum those in its pipeline. A thread too many would be lost.

    Seen at the ports: each of them has loaded, and none has stored. (SGMF, section 4.1)
    """
    depth, grid = bench.parameters["depth"], Grid(tuple(bench.parameters["rows"]))
    sums = min(3, len(grid.of_kind(Kind.COMPUTE)))
    graph = Graph()
    token = graph.add(Task(Memory.LOAD, [graph.add(Task(NUMBER)), None, None], array="x"))
    for _ in range(sums):
        token = graph.add(Task(Operation.ADD, [token, 0]))
    graph.ends = [graph.add(Task(Memory.STORE, [token, token, None], array="z"))]
    threads = 2 * depth * (sums + 2) + 100
    arrays = {"x": np.arange(threads, dtype=np.uint32), "z": np.zeros(threads, np.uint32)}
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    _, memory = await play(bench, map_graph(graph, grid), words, layout, threads,
                           hold=8 * depth + 200)
    assert isinstance(memory, Holding)
    in_flight, path = memory.loads, sums + 2
    bench.dut._log.info("%d threads in flight, %d units of %d entries", in_flight, path, depth)
    # with two entries a thread leaves in every other cycle, and stalled pipelines keep their gaps
    filled = PIPELINE_STAGES if depth > 2 else PIPELINE_STAGES // 2
    assert path * depth + sums * filled <= in_flight < threads
    assert layout.arrays(words)["z"].tolist() == arrays["x"].tolist()


@testbench
async def vector_add(bench: Bench) -> None:
    for threads, memory in ((1, {}), (7, {"hit": 5}),
                            (120, {"banks": 4, "hit": 3, "miss": 20, "miss_rate": 0.1})):
        await kernel(bench, "vector_add", threads, **memory)


@testbench
async def accesses_outside_their_arrays_are_reported(bench: Bench) -> None:
    await kernel(bench, "vector_add", 40, size=33)


@testbench
async def one_thread_per_cycle_where_no_memory_is_involved(bench: Bench) -> None:
    await streams(bench, (1, 2, 60))


@testbench
async def threads_in_flight_fill_every_buffer_of_a_path(bench: Bench) -> None:
    await in_flight(bench)
