"""Testbench of tiles on one DRAM: products and kernels, one after the other and beside each other.

All words are what numpy makes of them. Each job takes no longer than its own analysis says with the
wait for the other client; in windows it takes as long whatever the other tile does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from cyclebound.golden.dataflow.grid import Grid as DataflowGrid
from cyclebound.golden.dataflow.kernel import Ints, kernel
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.request import BURST_BYTES, WORD_BYTES
from cyclebound.golden.simd.machine import Grid, as_built
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import CODES, Policy
from cyclebound.golden.simd.work_group import Memory, memory_of
from cyclebound.golden.system.fabric import fabric_job, fabric_times, longest_line
from cyclebound.golden.system.tiled import (
    array_device,
    array_memory,
    kernel_start,
    product_cycles,
    product_program,
    request_wait,
)
from cyclebound.golden.systolic.accelerator_network import Program as ArrayProgram
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_harness_tester import AcceleratorHarnessTester
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.wcet.analysis import Analysis

SUMS = """
// The sum of the four bytes of each word, with their signs.
.data
0 0x0     {words} 1
1 0x40000 {words} 1
.text
    ldglin  v0, 0
    shl     v1, v0, 24
    shr     v1, v1, 24
    shl     v2, v0, 16
    shr     v2, v2, 24
    shl     v3, v0, 8
    shr     v3, v3, 24
    shr     v4, v0, 24
    iadd    v1, v1, v2
    iadd    v3, v3, v4
    iadd    v1, v1, v3
    stglin  v1, 1
    exit
"""
ARRAY_AT = 0x80000  # bytes: where the systolic accelerator's buffer begins
ARRAY_WORDS = 1 << 14
CORE_AT = 0xC0000  # where the dataflow core's begins
POLICY = Policy.ACCESS
_SHAPE = ("part", "size", "depth", "memory_width", "bursts", "slots")


def sums_of(words: np.ndarray) -> np.ndarray:
    """What the kernel makes of them."""
    return words.astype("<u4").view(np.int8).reshape(-1, 4).astype(np.int64).sum(1).astype(
        np.int32).view(np.uint32)


@dataclass
class Took:
    """Clocks of a product, compute cycles of a kernel, clocks of a dataflow core's job from its
    start; 0 of what did not run."""

    product: int = 0
    kernel: int = 0
    core: int = 0


@kernel
def gather(tid, x: Ints, index: Ints, z: Ints):
    """A word from wherever an index says."""
    z[tid] = x[index[tid]]  # type: ignore[index]


class CoreJob:
    """A gather on a dataflow core: what it is given, and what it has to make of it."""

    def __init__(self, fabric: Mapping, threads: int, rng: np.random.Generator,
                 elements: int | None = None) -> None:
        elements = threads if elements is None else elements
        self.threads, self._fabric = threads, fabric
        self.arrays = {"x": rng.integers(0, 1 << 32, elements, dtype=np.uint32),
                       "index": rng.integers(0, elements, threads).astype(np.uint32),
                       "z": rng.integers(0, 1 << 32, threads, dtype=np.uint32)}
        self.wanted = self.arrays["x"][self.arrays["index"]]
        self.layout = Layout.of(self.arrays)
        self.mapped = map_graph(compile_kernel(gather), DataflowGrid(tuple(fabric["rows"])))

    def content(self) -> bytes:
        """Whole lines."""
        words = np.array(self.layout.words(self.arrays), "<u4").tobytes()
        return words + bytes(-len(words) % BURST_BYTES)

    def configuration(self) -> list[int]:
        """Words that the core takes."""
        return self.mapped.words(self.threads, self.layout.buffers, **{
            name: self._fabric[name] for name in ("tid_width", "address_width")})

    def times(self, part: str, others: Sequence[int], period: int) -> dict[str, int]:
        """What the bound needs to know, beside clients with such requests."""
        return fabric_times(self.mapped, self.layout, threads=self.threads, part=part,
                            others=others, period=period, **self._fabric)


class TiledTester(AcceleratorHarnessTester):
    """Both tiles, a product for the one and a kernel for the other."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.shape = {name: bench.parameters[name] for name in _SHAPE}
        windows = bench.parameters.get("windows")
        self.period = sum(windows) if windows else 0
        self.array: ArrayProgram | None = None
        self.core: CoreJob | None = None
        self.fabric: Mapping[str, Any] = bench.parameters.get("fabric") or {}
        self.fabric_longest = longest_line(self.part) if self.fabric else 0

    @property
    def array_longest(self) -> int:
        """The systolic accelerator's longest request."""
        return max(tile_issue_delay(part=self.part, bursts=self.shape["bursts"], write=write)
                   for write in (0, 1))

    def analysis(self, program: Program, grid: Grid, others: Sequence[int], before: int = 0
                 ) -> Analysis:
        """Of a kernel beside clients with such requests, after those of silent ones."""
        built = replace(grid, machine=as_built(grid.machine))
        return Analysis(program, built, self.part,
                        wait=request_wait(self.part, others=others, period=self.period),
                        late=before)

    def kernel_longest(self, program: Program, grid: Grid) -> int:
        """The kernel's longest request: an access, or its program."""
        built = replace(grid, machine=as_built(grid.machine))
        load = tile_issue_delay(part=self.part, write=0,
                                bursts=-(-len(program.instructions) // 8))
        return max(load, *(cost.delay for cost in Analysis(
            program, built, self.part).costs.values() if cost.resource == "dram"))

    def product(self, m: int, k: int, n: int, other: int, line: int | None = None) -> ArrayProgram:
        """A product of random matrices, planned beside such a kernel and the dataflow core, or
        lines of such a delay."""
        rng = np.random.default_rng(self.bench.rng.getrandbits(32))
        a, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
        shape = self.shape
        memory = array_memory(shape["part"], size=shape["size"], bursts=shape["bursts"],
                              slots=shape["slots"], period=self.period,
                              others=(other, self.fabric_longest if line is None else line))
        device = array_device(size=shape["size"], depth=shape["depth"],
                              memory_width=shape["memory_width"])
        return product_program("product", a, b, device=device, memory=memory)

    def check_core(self) -> None:
        """The arrays of the dataflow core's job are numpy's."""
        assert self.core is not None
        words = np.frombuffer(self.get(CORE_AT, len(self.core.content())), "<u4").tolist()
        arrays = self.core.layout.arrays(words)
        for name, wanted in (self.core.arrays | {"z": self.core.wanted}).items():
            self.bench.compare(arrays[name], wanted, f"the gather's {name}", count=wanted.size)

    def check_product(self) -> None:
        """The product is numpy's."""
        assert self.array is not None
        beats = np.frombuffer(self.get(ARRAY_AT, self.array.memory.size), np.int8).reshape(
            self.array.memory.shape)
        wanted = self.array.steps[0].expected
        self.bench.compare(self.array.result(0, beats), wanted, "the product", count=wanted.size)

    def put_kernel(self, program: Program, memory: Memory, **more) -> int:
        address = super().put_kernel(program, memory, **more)
        if self.array is not None:
            self.put(ARRAY_AT, self.array.memory.astype(np.int8).tobytes())
        if self.core is not None:
            self.put(CORE_AT, self.core.content())
        return address

    async def map_array(self, words: int = ARRAY_WORDS, address: int = ARRAY_AT) -> None:
        """Map the systolic accelerator's buffer."""
        await self._map("systolic", words, address)

    async def map_core(self, words: int | None = None, address: int = CORE_AT) -> None:
        """Map the dataflow core's buffer: the words of its job, or so many."""
        if words is None:
            assert self.core is not None
            words = len(self.core.content()) // WORD_BYTES
        await self._map("dataflow", words, address)

    async def _map(self, tile: str, words: int, address: int) -> None:
        """Map a tile's buffer 0."""
        bench = self.bench
        word = bench.inputs.pack({
            f"{tile}_mapping.valid": 1, f"{tile}_mapping.payload.valid": 1,
            f"{tile}_mapping.payload.address": address // WORD_BYTES,
            f"{tile}_mapping.payload.x": words, f"{tile}_mapping.payload.y": 1})
        while not bench.outputs[f"{tile}_mapping.ready"].of(await self.cycle(word)):
            pass
        await self.wait(40)

    def core_words(self, configuration: Sequence[int]) -> list[int]:
        """Words of inputs that give the dataflow core a configuration, and start it."""
        return [*(self.bench.inputs.pack({"dataflow_configuration.valid": 1,
                                          "dataflow_configuration.payload": word})
                  for word in configuration), self.bench.inputs["dataflow_start"].mask]

    def commands(self, listed: Sequence[Mapping[str, int]] | None = None) -> list[int]:
        """Words of inputs that give the systolic accelerator its commands, or these."""
        if listed is None:
            assert self.array is not None
            listed = self.array.commands
        return [self.bench.inputs.pack({"systolic_command.valid": 1} | {
            f"systolic_command.payload.{name}": value for name, value in command.items()})
            for command in listed]

    def started(self, program: Program, grid: Grid, address: int) -> int:
        """The word of inputs that starts the kernel."""
        return self.bench.inputs.pack({
            "start.valid": 1, "start.payload.address": address // WORD_BYTES,
            "start.payload.instructions": len(program.instructions),
            "start.payload.grid.x": grid.x, "start.payload.grid.y": grid.y,
            "start.payload.grid.width": grid.width.bit_length() - 1,
            "start.payload.policy": CODES.index(POLICY)})

    async def array_done(self, most: int) -> int:
        """Wait until the systolic accelerator is idle; the clocks that it took."""
        return await self._done("systolic", most)

    async def core_done(self, most: int) -> int:
        """Wait until the dataflow core is idle; the clocks that it took, its configuration too."""
        return await self._done("dataflow", most)

    async def _done(self, tile: str, most: int) -> int:
        outputs = self.bench.outputs
        for _ in range(-(-most // 64) + 2):
            seen = await self.wait(64)
            if outputs[f"{tile}_idle"].of(seen):
                return outputs[f"{tile}_cycles"].of(seen)
        raise AssertionError(f"the {tile} tile is not idle after {most} clocks")


async def _run(tester: TiledTester, program: Program, grid: Grid, memory: Memory, *, product: bool,
               kernel: bool, core: bool = False, chained: bool = False, begin: int = 0) -> Took:
    """A product and a kernel after a reset: the one and then the other, or both at once; at the
    same time, a dataflow core's job. All begin from clock ``begin`` on, if it is not over."""
    bench, took = tester.bench, Took()
    await bench.reset()
    tester.now = 0
    address = await tester.load(program, memory)
    await tester.map_array()
    if tester.core is not None:
        await tester.map_core()
    commands, start = tester.commands(), tester.started(program, grid, address)
    ready = bench.outputs["systolic_command.ready"]
    if begin > tester.now:
        await tester.wait(begin - tester.now)
    if product:
        assert all(map(ready.of, await tester.play(commands))), "the queue is full"
    else:
        await tester.play([0] * len(commands))
    if chained:
        took.product = await tester.array_done(1 << 20)
    if tester.core is not None:
        words = tester.core_words(tester.core.configuration())
        await tester.play(words if core else [0] * len(words))
    asked = tester.now
    await tester.cycle(start if kernel else 0)
    if kernel:
        ran, begin = await tester.follow(1 << 20, lambda cycle, launched: None)
        assert ran.fault is None, ran.fault
        most = kernel_start(compute_ps=tester.machine.compute_ps, part=tester.part,
                            others=2 if tester.fabric else 1, period=tester.period)
        assert begin - asked <= most, f"begins {begin - asked} clocks after its start"
        took.kernel = ran.cycles
    if product and not chained:
        took.product = await tester.array_done(1 << 20)
    if core:
        took.core = await tester.core_done(1 << 20) - len(words) + 1
        assert not bench.outputs["dataflow_outside"].of(await tester.wait(1)), "outside of an array"
    await tester.wait(60)
    await tester.fetch()
    tester.get_buffers(program, memory)
    return took


class Case:
    """A product, and the kernel over its result, or over so many other words; beside them, a gather
    by so many threads."""

    def __init__(self, tester: TiledTester, m: int, k: int, n: int, *, words: int | None = None,
                 threads: int = 0) -> None:
        chained = words is None
        self.tester, self.chained, self.extents = tester, chained, {"m": m, "k": k, "n": n}
        words = m * n // 4 if words is None else words
        program = assemble(SUMS.format(words=words), "sums")
        self.grid = Grid(words, 1, tester.machine)
        self.other = tester.kernel_longest(program, self.grid)
        tester.array = self.array = tester.product(m, k, n, self.other)
        tester.core = self.core = CoreJob(tester.fabric, threads, np.random.default_rng(
            tester.bench.rng.getrandbits(32))) if threads else None
        if chained:
            place = self.array.places[0].result * tester.shape["size"]
            program = replace(program, buffers={
                **program.buffers, 0: replace(program.buffers[0], address=ARRAY_AT + place)})
        self.program, self.memory = program, memory_of(program)
        if not chained:
            rng = np.random.default_rng(tester.bench.rng.getrandbits(32))
            self.memory[0][...] = rng.integers(0, 1 << 32, (1, words), dtype=np.uint32)
        self.bound = self.bounds()

    def bounds(self, *, alone: bool = False) -> Took:
        """Of each, beside the others, or beside silent clients."""
        tester = self.tester
        simd, array, core = (0, 0, 0) if alone else (self.other, tester.array_longest,
                                                     tester.fabric_longest)
        return Took(
            product_cycles(**tester.shape, **self.extents, other=simd, line=core,
                           period=tester.period, before=0),
            tester.analysis(self.program, self.grid, (array, core)).wcet(POLICY).cycles,
            0 if self.core is None else fabric_job(**self.core_parameters(simd, array)))

    def core_parameters(self, other: int, array: int) -> dict:
        """Of the dataflow core's job."""
        assert self.core is not None
        part, period = self.tester.shape["part"], self.tester.period
        return {"part": part, **self.core.times(part, (other, array), period), "other": other,
                "array": array, "period": period, "before": 0}

    async def run(self, *, product: bool = True, kernel: bool = True, core: bool | None = None,
                  begin: int = 0) -> Took:
        """From reset, or a later clock; results are compared, and times with their bounds."""
        tester, bench = self.tester, self.tester.bench
        core = self.core is not None if core is None else core
        memory = {number: words.copy() for number, words in self.memory.items()}
        given = memory[0].copy()
        if product:
            bench.declare("product", **self.extents, other=self.other,
                          line=tester.fabric_longest, period=tester.period, before=0)
        if core:
            known = self.core_parameters(self.other, tester.array_longest)
            known.pop("part")
            bench.declare("job", **known)
            bench.declare("line", **{name: known[name] for name in ("other", "array", "period")})
        took = await _run(tester, self.program, self.grid, memory, product=product, kernel=kernel,
                          core=core, chained=self.chained, begin=begin)
        for what in ("product", "job", "line")[:1 + 2 * core]:
            bench.undeclare(what)
        if core:
            tester.check_core()
            assert took.core <= self.bound.core, f"{took.core} > {self.bound.core}"
        if product:
            tester.check_product()
            assert took.product <= self.bound.product, f"{took.product} > {self.bound.product}"
        if kernel:
            words = memory[0].ravel() if self.chained else given.ravel()
            bench.compare(memory[1].ravel(), sums_of(words), "sums of bytes", count=words.size)
            assert took.kernel <= self.bound.kernel, f"{took.kernel} > {self.bound.kernel}"
        bench.dut._log.info("%s: took %s of %s", self.extents, took, self.bound)
        return took


@testbench
async def chain(bench: Bench) -> None:
    """A product into DRAM, and then a kernel over it: what numpy makes of both."""
    tester = TiledTester(bench)
    for m, k, n in ((48, 24, 16), (16, 40, 8), (5, 3, 12)):
        case = Case(tester, m, k, n)
        await case.run()


@testbench
async def beside(bench: Bench) -> None:
    """A product and a kernel alone, and beside each other. In windows it makes no difference."""
    tester = TiledTester(bench)
    for m, k, n, words in ((48, 24, 16, 4096), (32, 32, 32, 192)):
        case = Case(tester, m, k, n, words=words)
        both = await case.run()
        alone = Took((await case.run(kernel=False)).product, (await case.run(product=False)).kernel)
        silent = case.bounds(alone=True)
        assert alone.product <= silent.product
        assert alone.kernel <= silent.kernel
        bench.dut._log.info("alone %s, whose bounds are %s", alone, silent)
        if tester.period:
            bench.compare(both, alone, "clocks beside each other and alone")
        else:
            assert both.product > alone.product, "the kernel has not held up the product"
            assert both.kernel > alone.kernel, "the product has not held up the kernel"
            if words > 1_000:  # a bound that forgets the other client would be exceeded
                assert both.product > silent.product


@testbench
async def a_fault(bench: Bench) -> None:
    """A product beyond its buffer stops; the kernel's results are what they were. In windows it
    takes as long as without it."""
    tester = TiledTester(bench)
    case = Case(tester, 48, 24, 16, words=192)
    alone = (await case.run(product=False)).kernel
    await bench.reset()
    tester.now = 0
    memory = {number: words.copy() for number, words in case.memory.items()}
    address = await tester.load(case.program, memory)
    await tester.map_array(words=64)
    await tester.play(tester.commands())
    await tester.cycle(tester.started(case.program, case.grid, address))
    ran, _ = await tester.follow(1 << 20, lambda cycle, launched: None)
    assert ran.fault is None, ran.fault
    assert ran.cycles <= case.bound.kernel, f"{ran.cycles} > {case.bound.kernel}"
    if tester.period:
        bench.compare(ran.cycles, alone, "cycles beside a product that is stopped, and alone")
    tester.get_buffers(case.program, memory)
    bench.compare(memory[1].ravel(), sums_of(memory[0].ravel()), "sums of bytes")
    seen = await tester.wait(2_000)
    assert bench.outputs["systolic_fault"].of(seen), "no fault"
    assert not bench.outputs["systolic_idle"].of(seen), "the product has ended"


@testbench
async def three(bench: Bench) -> None:
    """A product, a kernel and a gather by themselves, in pairs, and all at once, at a refresh too.
    In windows it makes no difference what the others do."""
    tester = TiledTester(bench)
    case = Case(tester, 48, 24, 16, words=1024, threads=77)
    every = await case.run()
    alone = Took((await case.run(kernel=False, core=False)).product,
                 (await case.run(product=False, core=False)).kernel,
                 (await case.run(product=False, kernel=False)).core)
    pairs = [await case.run(product=False), await case.run(kernel=False),
             await case.run(core=False)]
    silent = case.bounds(alone=True)
    bench.dut._log.info("alone %s, whose bounds are %s; pairs %s", alone, silent, pairs)
    for one, most in zip(astuple(alone), astuple(silent), strict=True):
        assert one <= most, f"{one} > {most}, beside silent clients"
    for together in (every, *pairs):
        for name, took, by_itself in zip(Took.__annotations__, astuple(together), astuple(alone),
                                         strict=True):
            if took and tester.period:
                bench.compare(took, by_itself, f"clocks of the {name} beside others and alone")
    if not tester.period:
        for name, took, by_itself in zip(Took.__annotations__, astuple(every), astuple(alone),
                                         strict=True):
            assert took > by_itself, f"nothing has held up the {name}"
        assert every.core > silent.core, "a bound that forgets the other clients would hold"
    for before in (100, 700, 1500):  # clocks from the first command to when a refresh falls due
        begin = tester.part.nREFI - before
        together = await case.run(begin=begin)
        if tester.period:
            by_itself = await case.run(product=False, kernel=False, begin=begin)
            bench.compare(together.core, by_itself.core, "clocks of the core near a refresh")
