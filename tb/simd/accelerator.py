"""Testbench of the accelerator: installed kernels under each policy, equal to the cycle model."""

import numpy as np

from cyclebound.golden.simd.scheduler import Policy
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_scene import Scene
from cyclebound.tools.simd.kernel_cases import case, expected


async def kernel(bench: Bench, name: str, policy: Policy) -> None:
    """One kernel; its results also as its mathematics have them."""
    await bench.reset()
    scene = Scene(bench)
    found = case(name, scene.machine)
    wanted = expected(name, found)
    timed = await scene.compare(found.program, found.grid, found.memory, policy)
    for number, words in wanted.items():
        assert np.array_equal(found.memory[number], words)
    bench.dut._log.info("%s, %s: %d compute cycles, %d to load", name, policy.value, timed.cycles,
                        timed.load)


@testbench
async def vector_add(bench: Bench) -> None:
    await kernel(bench, "vector_add", Policy.UNCONSTRAINED)


@testbench
async def saxpy(bench: Bench) -> None:
    for policy in Policy:
        await kernel(bench, "saxpy", policy)


@testbench
async def cnn_max_pool(bench: Bench) -> None:
    await kernel(bench, "cnn_max_pool", Policy.PAIRWISE)


@testbench
async def fft(bench: Bench) -> None:
    await kernel(bench, "fft", Policy.UNCONSTRAINED)


@testbench
async def stencil(bench: Bench) -> None:
    for policy in Policy:
        await kernel(bench, "stencil", policy)


@testbench
async def spmv(bench: Bench) -> None:
    await kernel(bench, "spmv", Policy.UNCONSTRAINED)


@testbench
async def srad_reduce(bench: Bench) -> None:
    for policy in Policy:
        await kernel(bench, "srad_reduce", policy)
