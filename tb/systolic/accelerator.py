"""Testbench of the accelerator: layers by their plans, against numpy, to the cycle."""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.golden.systolic.accelerator_layout import Operation
from cyclebound.golden.systolic.accelerator_model import AcceleratorModel
from cyclebound.golden.systolic.accelerator_network import (
    Step,
    program_of,
    random_layer,
    random_steps,
)
from cyclebound.golden.systolic.accelerator_plan import Device, layer_cycles, program_cycles
from cyclebound.golden.systolic.dram_memory import behind_dram
from cyclebound.golden.systolic.layers import Convolution
from cyclebound.golden.systolic.post_processing import Scale
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.memory_server import MemoryServer

_DEVICE = ("size", "a_depth", "b_depth", "bias_depth", "c_depth", "sums_depth", "pool_depth",
           "address_width", "memory_width")
Commands = Sequence[Mapping[str, int]]


class SystolicAcceleratorTester:
    """The accelerator between its commands and a memory."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.device = Device(**{name: value for name, value in bench.parameters.items()
                                if name in _DEVICE})

    async def run(self, commands: Commands, server: MemoryServer, *, chance: float = 1.0,
                  given_so_far: Callable[[int], None] | None = None) -> tuple[int, int]:
        """All commands; the first cycle, and the last one that is not idle."""
        bench = self.bench
        words = [bench.inputs.pack({"command.valid": 1} | {
            f"command.payload.{name}": value for name, value in command.items()})
            for command in commands]
        ready, idle = bench.outputs["command.ready"].mask, bench.outputs["idle"].mask
        given, first, gone = 0, bench.cycle, -1
        while True:
            now = bench.cycle
            offer = given < len(words) and bench.rng.random() < chance
            seen = await bench.step(server.inputs(now) | (words[given] if offer else 0))
            server.see(now, seen)
            if given == len(words) and now > gone and seen & idle:
                return first, now - 1
            if offer and seen & ready:
                first = now if given == 0 else first
                given, gone = given + 1, now
                if given_so_far is not None:
                    given_so_far(given)

    async def program(self, steps: Sequence[Step], *, memory: Memory | None = None,
                      rng: random.Random | None = None, chance: float = 1.0,
                      measured: Mapping[str, int] | None = None) -> tuple[int, int]:
        """Layers in series: every word in memory is as it should be.

        ``measured`` is what the bound calls the parameters of the only layer, if there is one.
        The number of cycles, and that of the plan, which is never exceeded.
        """
        memory = memory or Memory()
        program = program_of(steps, self.device, memory)
        beats, expected = program.memory.copy(), program.memory.copy()
        commands = program.commands
        AcceleratorModel(self.device, expected).run(commands)
        server = MemoryServer(self.bench, beats, memory, rng)
        if measured is not None:
            self.bench.declare("layer", **measured)
        first, last = await self.run(commands, server, chance=chance)
        if measured is not None:
            self.bench.undeclare("layer")
        self.bench.compare(beats, expected, "memory, by beat", count=len(beats))
        for number, step in enumerate(steps):
            name = step.layer.convolution.name
            self.bench.compare(program.result(number, beats), step.expected,
                               f"{name}: the result, which has to be numpy's,")
        took, planned = last - first + 1, program_cycles(commands, self.device.size, memory)
        if chance == 1:
            assert took <= planned, f"{took} cycles, planned {planned}"
        return took, planned

    async def layer(self, shape: Mapping[str, int] | Layer, *, memory: Memory | None = None,
                    rng: random.Random | None = None, chance: float = 1.0) -> None:
        """One layer with random operands."""
        layer = shape if isinstance(shape, Layer) else layer_of(shape)
        shape = shape_of(shape) if isinstance(shape, Layer) else shape
        await self.program(
            random_steps([layer], self.device.size, self.bench.rng.getrandbits(32)),
            memory=memory, rng=rng, chance=chance,
            measured={**shape, **vars(memory or Memory())} if chance == 1 else None)

    async def commands(self, shape: Mapping[str, int], memory: Memory) -> None:
        """Each command of a layer by itself."""
        program = program_of(random_steps([layer_of(shape)], self.device.size, 1), self.device,
                             memory)
        server = MemoryServer(self.bench, program.memory.copy(), memory)
        for command in program.commands:
            if command["operation"] == Operation.COMPUTE:
                what, parameters = "compute", {}
            else:
                what, parameters = "transfer", vars(memory)
            self.bench.declare(what, commands=1, **parameters)
            await self.run([command], server)
            self.bench.undeclare(what)

    def covered(self, shape: Mapping[str, int]) -> bool:
        """Whether there is such a layer, and it fits."""
        try:
            layer_cycles(**{name: value for name, value in self.bench.parameters.items()
                            if name in _DEVICE}, **shape)
        except NotCovered:
            return False
        return True

    def fitting(self) -> Layer:
        """A random layer that fits the device."""
        while True:
            layer = random_layer(self.bench.rng, self.device.size)
            if self.covered(shape_of(layer)):
                return layer

    def random(self) -> Mapping[str, int]:
        """The bound's parameters of a random layer that fits."""
        return shape_of(self.fitting())


_MORE = ("window", "together", "shortcut")


def layer_of(shape: Mapping[str, int]) -> Layer:
    """A layer from what the bound calls its parameters."""
    shape = dict(shape)
    more = {name: shape.pop(name) for name in _MORE if name in shape}
    depthwise, scales = bool(shape.pop("depthwise", 0)), shape.pop("scales", 0)
    top = shape.pop("padding", 0)
    left, bottom, right = (shape.pop(f"padding_{edge}", top)
                           for edge in ("left", "bottom", "right"))
    kernel, stride, dilation = ((high, wide or high) for high, wide in (
        (shape.pop(name, 1), shape.pop(f"{name}_across", 0))
        for name in ("kernel", "stride", "dilation")))
    return Layer(
        Convolution("layer", **shape, padding=(top, left, bottom, right), kernel=kernel,
                    stride=stride, dilation=dilation),
        Scale(3, 9, low=-100, high=120), depthwise=depthwise,
        scales=tuple((3 + i, 8 + i % 3) for i in range(shape["filters"])) if scales else (), **more)


def shape_of(layer: Layer) -> Mapping[str, int]:
    """The bound's parameters of a layer; rare ones only where they differ from the usual value."""
    conv = layer.convolution
    shape = {name: getattr(conv, name) for name in ("height", "width", "channels", "filters")}
    for name, (high, wide) in (("kernel", conv.kernels), ("stride", conv.strides),
                               ("dilation", conv.dilations)):
        shape |= {name: high} if name != "dilation" or high > 1 or wide > 1 else {}
        shape |= {f"{name}_across": wide} if wide != high else {}
    shape["padding"] = conv.edges[0]
    for name, edge in zip(("left", "bottom", "right"), conv.edges[1:], strict=True):
        shape |= {f"padding_{name}": edge} if edge != conv.edges[0] else {}
    if conv.groups > 1 and not layer.depthwise:
        shape["groups"] = conv.groups
    if layer.scales:
        shape["scales"] = 1
    return shape | {"window": layer.window, "depthwise": int(layer.depthwise),
                    "together": layer.together, "shortcut": layer.shortcut}


@testbench
async def every_layer(bench: Bench) -> None:
    """Every layer of the domain."""
    tester = SystolicAcceleratorTester(bench)
    ranges = [range(low, high + 1) for low, high in bench.domain.values()]
    for values in itertools.product(*ranges):
        shape = dict(zip(bench.domain, values, strict=True))
        if tester.covered(shape):
            await tester.layer(shape)


@testbench
async def any_layer(bench: Bench) -> None:
    """Random layers of all kinds."""
    tester = SystolicAcceleratorTester(bench)
    for _ in range(25):
        await tester.layer(tester.fitting())


@testbench
async def single_commands(bench: Bench) -> None:
    """Each command by itself takes what its bound says."""
    tester = SystolicAcceleratorTester(bench)
    for shape in [tester.random() for _ in range(8)]:
        await tester.commands(shape, Memory(bench.rng.randint(1, 5), bench.rng.randint(1, 3)))


@testbench
async def slow_memory(bench: Bench) -> None:
    """A memory as slow as it may be, and one that is so at times: never more than planned."""
    tester = SystolicAcceleratorTester(bench)
    size = tester.device.size
    for memory in (Memory(5, 3), Memory(77, 2),
                   behind_dram("ddr4-3200aa-x16", beat_bytes=size, clocks=16),
                   behind_dram("ddr3-1600-module", beat_bytes=size, clocks=2)):
        for _ in range(2):
            layer = tester.fitting()
            await tester.layer(layer, memory=memory)
            await tester.layer(layer, memory=memory, rng=bench.rng)


@testbench
async def commands_that_come_late(bench: Bench) -> None:
    """A queue that runs empty: the same results."""
    tester = SystolicAcceleratorTester(bench)
    for _ in range(6):
        await tester.layer(tester.fitting(), rng=bench.rng, memory=Memory(9, 3), chance=0.02)
