"""Testbench of tiles on one DRAM: products and kernels, one after the other and beside each other.

All words are what numpy makes of them. Each job takes no longer than its own analysis says with the
wait for the other client; in windows it takes as long whatever the other tile does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.request import WORD_BYTES
from cyclebound.golden.simd.machine import Grid, as_built
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import CODES, Policy
from cyclebound.golden.simd.work_group import Memory, memory_of
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
from cyclebound.tb.simd.accelerator_harness_scene import HarnessScene
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
_ARRAY = 0x80000  # bytes: where the systolic accelerator's buffer begins
_ARRAY_WORDS = 1 << 14
_POLICY = Policy.ACCESS
_SHAPE = ("part", "size", "depth", "memory_width", "bursts", "slots")


def sums_of(words: np.ndarray) -> np.ndarray:
    """What the kernel makes of them."""
    return words.astype("<u4").view(np.int8).reshape(-1, 4).astype(np.int64).sum(1).astype(
        np.int32).view(np.uint32)


@dataclass
class Took:
    """Clocks of a product, compute cycles of a kernel; 0 of what did not run."""

    product: int = 0
    kernel: int = 0


class TiledScene(HarnessScene):
    """Both tiles, a product for the one and a kernel for the other."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.shape = {name: bench.parameters[name] for name in _SHAPE}
        windows = bench.parameters.get("windows")
        self.period = sum(windows) if windows else 0
        self.array: ArrayProgram | None = None

    @property
    def array_longest(self) -> int:
        """The systolic accelerator's longest request."""
        return max(tile_issue_delay(part=self.part, bursts=self.shape["bursts"], write=write)
                   for write in (0, 1))

    def analysis(self, program: Program, grid: Grid, other: int) -> Analysis:
        """Of a kernel beside a client with such requests."""
        built = replace(grid, machine=as_built(grid.machine))
        return Analysis(program, built, self.part,
                        wait=request_wait(self.part, other=other, period=self.period))

    def kernel_longest(self, program: Program, grid: Grid) -> int:
        """The kernel's longest request: an access, or its program."""
        built = replace(grid, machine=as_built(grid.machine))
        load = tile_issue_delay(part=self.part, write=0,
                                bursts=-(-len(program.instructions) // 8))
        return max(load, *(cost.delay for cost in Analysis(
            program, built, self.part).costs.values() if cost.resource == "dram"))

    def product(self, m: int, k: int, n: int, other: int) -> ArrayProgram:
        """A product of random matrices, planned beside such a client."""
        rng = np.random.default_rng(self.bench.rng.getrandbits(32))
        a, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
        shape = self.shape
        memory = array_memory(shape["part"], size=shape["size"], bursts=shape["bursts"],
                              slots=shape["slots"], other=other, period=self.period)
        device = array_device(size=shape["size"], depth=shape["depth"],
                              memory_width=shape["memory_width"])
        return product_program("product", a, b, device=device, memory=memory)

    def put_kernel(self, program: Program, memory: Memory, **more) -> int:
        address = super().put_kernel(program, memory, **more)
        if self.array is not None:
            self.put(_ARRAY, self.array.memory.astype(np.int8).tobytes())
        return address

    async def map_array(self, words: int = _ARRAY_WORDS, address: int = _ARRAY) -> None:
        """Map the systolic accelerator's buffer."""
        bench = self.bench
        word = bench.inputs.pack({
            "systolic_mapping.valid": 1, "systolic_mapping.payload.valid": 1,
            "systolic_mapping.payload.address": address // WORD_BYTES,
            "systolic_mapping.payload.x": words, "systolic_mapping.payload.y": 1})
        while not bench.outputs["systolic_mapping.ready"].of(await self.cycle(word)):
            pass
        await self.wait(40)

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
            "start.payload.policy": CODES.index(_POLICY)})

    async def array_done(self, most: int) -> int:
        """Wait until the systolic accelerator is idle; the clocks that it took."""
        outputs = self.bench.outputs
        for _ in range(-(-most // 64) + 2):
            seen = await self.wait(64)
            if outputs["systolic_idle"].of(seen):
                return outputs["systolic_cycles"].of(seen)
        raise AssertionError(f"the systolic accelerator is not idle after {most} clocks")


async def _run(scene: TiledScene, program: Program, grid: Grid, memory: Memory, *, product: bool,
               kernel: bool, chained: bool = False) -> Took:
    """A product and a kernel after a reset: the one and then the other, or both at once."""
    bench, took = scene.bench, Took()
    await bench.reset()
    scene.now = 0
    address = await scene.load(program, memory)
    await scene.map_array()
    commands, start = scene.commands(), scene.started(program, grid, address)
    ready = bench.outputs["systolic_command.ready"]
    if product:
        assert all(map(ready.of, await scene.play(commands))), "the queue is full"
    else:
        await scene.play([0] * len(commands))
    if chained:
        took.product = await scene.array_done(1 << 20)
    asked = scene.now
    await scene.cycle(start if kernel else 0)
    if kernel:
        ran, begin = await scene.follow(1 << 20, lambda cycle, launched: None)
        assert ran.fault is None, ran.fault
        most = kernel_start(compute_ps=scene.machine.compute_ps, part=scene.part,
                            period=scene.period)
        assert begin - asked <= most, f"begins {begin - asked} clocks after its start"
        took.kernel = ran.cycles
    if product and not chained:
        took.product = await scene.array_done(1 << 20)
    await scene.wait(60)
    await scene.fetch()
    scene.get_buffers(program, memory)
    return took


class Case:
    """A product, and the kernel over its result, or over so many other words."""

    def __init__(self, scene: TiledScene, m: int, k: int, n: int, *, words: int | None = None
                 ) -> None:
        chained = words is None
        self.scene, self.chained, self.extents = scene, chained, {"m": m, "k": k, "n": n}
        words = m * n // 4 if words is None else words
        program = assemble(SUMS.format(words=words), "sums")
        self.grid = Grid(words, 1, scene.machine)
        self.other = scene.kernel_longest(program, self.grid)
        scene.array = self.array = scene.product(m, k, n, self.other)
        if chained:
            place = self.array.places[0].result * scene.shape["size"]
            program = replace(program, buffers={
                **program.buffers, 0: replace(program.buffers[0], address=_ARRAY + place)})
        self.program, self.memory = program, memory_of(program)
        if not chained:
            rng = np.random.default_rng(scene.bench.rng.getrandbits(32))
            self.memory[0][...] = rng.integers(0, 1 << 32, (1, words), dtype=np.uint32)
        self.bound = self.bounds()

    def bounds(self, *, alone: bool = False) -> Took:
        """Of both, beside the other one, or beside a silent client."""
        scene = self.scene
        other = Took() if alone else Took(self.other, scene.array_longest)
        return Took(
            product_cycles(**scene.shape, **self.extents, other=other.product,
                           period=scene.period),
            scene.analysis(self.program, self.grid, other.kernel).wcet(_POLICY).cycles)

    async def run(self, *, product: bool = True, kernel: bool = True) -> Took:
        """From reset; results are compared, and times with their bounds."""
        scene, bench = self.scene, self.scene.bench
        memory = {number: words.copy() for number, words in self.memory.items()}
        given = memory[0].copy()
        if product:
            bench.declare("product", **self.extents, other=self.other, period=scene.period)
        took = await _run(scene, self.program, self.grid, memory, product=product, kernel=kernel,
                          chained=self.chained)
        bench.undeclare("product")
        if product:
            beats = np.frombuffer(scene.get(_ARRAY, self.array.memory.size), np.int8).reshape(
                self.array.memory.shape)
            step = self.array.steps[0]
            bench.compare(self.array.result(0, beats), step.expected, "the product",
                          count=step.expected.size)
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
    scene = TiledScene(bench)
    for m, k, n in ((48, 24, 16), (16, 40, 8), (5, 3, 12)):
        case = Case(scene, m, k, n)
        await case.run()


@testbench
async def beside(bench: Bench) -> None:
    """A product and a kernel alone, and beside each other. In windows it makes no difference."""
    scene = TiledScene(bench)
    for m, k, n, words in ((48, 24, 16, 4096), (32, 32, 32, 192)):
        case = Case(scene, m, k, n, words=words)
        both = await case.run()
        alone = Took((await case.run(kernel=False)).product, (await case.run(product=False)).kernel)
        silent = case.bounds(alone=True)
        assert alone.product <= silent.product
        assert alone.kernel <= silent.kernel
        bench.dut._log.info("alone %s, whose bounds are %s", alone, silent)
        if scene.period:
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
    scene = TiledScene(bench)
    case = Case(scene, 48, 24, 16, words=192)
    alone = (await case.run(product=False)).kernel
    await bench.reset()
    scene.now = 0
    memory = {number: words.copy() for number, words in case.memory.items()}
    address = await scene.load(case.program, memory)
    await scene.map_array(words=64)
    await scene.play(scene.commands())
    await scene.cycle(scene.started(case.program, case.grid, address))
    ran, _ = await scene.follow(1 << 20, lambda cycle, launched: None)
    assert ran.fault is None, ran.fault
    assert ran.cycles <= case.bound.kernel, f"{ran.cycles} > {case.bound.kernel}"
    if scene.period:
        bench.compare(ran.cycles, alone, "cycles beside a product that is stopped, and alone")
    scene.get_buffers(case.program, memory)
    bench.compare(memory[1].ravel(), sums_of(memory[0].ravel()), "sums of bytes")
    seen = await scene.wait(2_000)
    assert bench.outputs["systolic_fault"].of(seen), "no fault"
    assert not bench.outputs["systolic_idle"].of(seen), "the product has ended"
