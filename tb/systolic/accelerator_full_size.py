"""Layers of a network as large as it has them, on the accelerator."""

from cyclebound.golden.systolic.accelerator_network import MOBILENET_224, random_steps
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.accelerator import Scene, shape_of


@testbench
async def mobilenet(bench: Bench) -> None:
    """The first convolution and the first bottleneck of a MobileNetV2, on 224 x 224 pixels."""
    scene = Scene(bench)
    steps = random_steps(MOBILENET_224, scene.device.size, bench.rng.getrandbits(32))
    took, planned = await scene.program(steps)
    assert took == planned, f"{took} cycles, planned {planned}"
    for layer in MOBILENET_224:  # each by itself, for the bound
        await scene.layer(shape_of(layer))
