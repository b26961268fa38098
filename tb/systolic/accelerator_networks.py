"""Whole networks on the accelerator: numpy's results, and the plan's cycles."""

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_network import (
    ATTENTION,
    MOBILENET_224,
    NETWORKS,
    Step,
    chained,
    product_step,
    random_steps,
)
from cyclebound.golden.systolic.dram_memory import behind_dram
from cyclebound.golden.systolic.post_processing import Scale
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.accelerator import SystolicAcceleratorTester, shape_of

_SLOW = Memory(40, 2)


async def _network(bench: Bench, name: str) -> None:
    """Layers in series in one list of commands, with a slow memory, and with a DDR3."""
    tester = SystolicAcceleratorTester(bench)
    dram = behind_dram("ddr3-1600-module", beat_bytes=tester.device.size, clocks=8)
    steps = random_steps(NETWORKS[name], tester.device.size, bench.rng.getrandbits(32))
    for memory in (Memory(), _SLOW, dram):
        took, planned = await tester.program(steps, memory=memory)
        assert took == planned, f"{took} cycles, planned {planned}"
    await tester.program(steps, memory=dram, rng=bench.rng)
    layers = chained(NETWORKS[name], tester.device.size)
    for layer in layers:  # each by itself, for the bound; and the commands of the last one
        await tester.layer(shape_of(layer))
    await tester.commands(shape_of(layers[-1]), _SLOW)


@testbench
async def lenet_5(bench: Bench) -> None:
    """LeNet-5, from its image to its ten results."""
    await _network(bench, "lenet_5")


@testbench
async def mobilenet(bench: Bench) -> None:
    """The first convolution and two bottlenecks of a MobileNetV2, on small images."""
    await _network(bench, "mobilenet")


@testbench
async def perceptron(bench: Bench) -> None:
    """A multilayer perceptron."""
    await _network(bench, "perceptron")


@testbench
async def attention_head(bench: Bench) -> None:
    """The products of an attention head; what is between scores and weights is numpy's."""
    tester, rng = SystolicAcceleratorTester(bench), np.random.default_rng(bench.rng.getrandbits(32))
    scale = Scale(1, 8)

    def random(*shape: int) -> NDArray[np.int8]:
        return rng.integers(-128, 128, shape, dtype=np.int8)

    async def product(name: str, a: NDArray[np.int8], b: NDArray[np.int8]) -> NDArray[np.int8]:
        step: Step = product_step(name, a, b, scale)
        took, planned = await tester.program([step], measured={
            "height": len(a), "width": 1, "channels": a.shape[1], "filters": b.shape[1],
            "kernel": 1})
        assert took == planned, f"{name}: {took}, planned {planned}"
        return step.expected[:, :, 0].T

    length, model, depth = (getattr(ATTENTION[0], dimension) for dimension in "mkn")
    tokens = random(length, model)
    q, k, v = [await product(name, tokens, random(model, depth)) for name in "QKV"]
    scores = await product("scores", q, k.T.copy())
    powers = np.exp(scores / 32)
    weights = np.round(127 * powers / powers.sum(axis=1, keepdims=True)).astype(np.int8)
    values = await product("values", weights, v)
    assert values.shape == (length, depth)


@testbench
async def mobilenet_at_full_size(bench: Bench) -> None:
    """The first convolution and the first bottleneck of a MobileNetV2, on 224 x 224 pixels."""
    tester = SystolicAcceleratorTester(bench)
    steps = random_steps(MOBILENET_224, tester.device.size, bench.rng.getrandbits(32))
    took, planned = await tester.program(steps)
    assert took == planned, f"{took} cycles, planned {planned}"
    for layer in MOBILENET_224:  # each by itself, for the bound
        await tester.layer(shape_of(layer))
