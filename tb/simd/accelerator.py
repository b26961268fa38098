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


def runs(name: str, *policies: Policy):
    """A test of one kernel, under each of these policies; it has the kernel's name."""
    async def run(bench: Bench) -> None:
        for policy in policies:
            await kernel(bench, name, policy)

    run.__name__ = run.__qualname__ = name
    return testbench(run)


vector_add = runs("vector_add", Policy.UNCONSTRAINED)
saxpy = runs("saxpy", *Policy)
cnn_max_pool = runs("cnn_max_pool", Policy.PAIRWISE)
fft = runs("fft", Policy.UNCONSTRAINED)
stencil = runs("stencil", *Policy)
spmv = runs("spmv", Policy.UNCONSTRAINED)
srad_reduce = runs("srad_reduce", *Policy)
