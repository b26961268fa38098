"""Whole layers on the matrix multiplier: their plan, numpy's result, and the plan's cycles."""

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.layers import (
    LENET_5,
    Convolution,
    Product,
    attention_head,
    im2col,
    mlp,
)
from cyclebound.golden.systolic.planner import Machine, plan
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.matmul import MatmulTester

_MACHINE = ("rows", "columns", "double_buffer", "a_depth", "b_depth", "sums_depth")


async def _run(bench: Bench, layers: tuple[Product | Convolution, ...]) -> None:
    """Each layer with random operands: every command, one after the other."""
    tester, rng = MatmulTester(bench), np.random.default_rng(bench.rng.getrandbits(32))
    machine = Machine(**{name: value for name, value in bench.parameters.items()
                         if name in _MACHINE})

    def random(*shape: int) -> NDArray[np.int8]:
        return rng.integers(-128, 128, shape, dtype=np.int8)

    for layer in layers:
        if isinstance(layer, Convolution):
            image = random(layer.channels, layer.height, layer.width)
            filters = random(layer.filters, layer.channels, *layer.kernels)
            a, b = im2col(layer, image, filters)
        else:
            a, b = random(layer.m, layer.k), random(layer.k, layer.n)
        whole, c = plan(layer, machine), np.zeros((a.shape[0], b.shape[1]), dtype=np.int64)
        began = bench.cycle
        for command in whole.commands:
            c[command.a_rows, command.b_columns] = await tester.multiply(
                a[command.a_rows].astype(np.int64), b[:, command.b_columns].astype(np.int64))
        took = bench.cycle - began
        assert took == whole.cycles.total, (
            f"{layer.name}: {took} cycles, planned {whole.cycles.total}")
        if isinstance(layer, Convolution):
            image_out = c.T.reshape(layer.filters, *layer.output)
            assert np.array_equal(image_out, layer.reference(image, filters)), layer.name
        else:
            assert np.array_equal(c, a.astype(np.int64) @ b.astype(np.int64)), layer.name


@testbench
async def lenet_5(bench: Bench) -> None:
    """All layers of LeNet-5."""
    await _run(bench, LENET_5)


@testbench
async def others(bench: Bench) -> None:
    """A multilayer perceptron, an attention head, and a strided convolution."""
    await _run(bench, (*mlp((64, 96, 10), 16), *attention_head(24, 32, 8),
                       Convolution("strided", 16, 16, 3, 8, 3, stride=2, padding=1)))
