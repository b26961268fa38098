"""Testbench of the accelerator: installed kernels under each policy, equal to the cycle model."""

import json
import os
from pathlib import Path

import numpy as np

from cyclebound.golden.simd.accelerator import Phase
from cyclebound.golden.simd.machine import machine_named
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_harness_tester import tester_on
from cyclebound.tools.simd.kernel_cases import case, expected

OCCUPATION = "occupation.json"  # beside the job: the phases of `DRAWN` under each policy
DRAWN = "stencil"


async def kernel(bench: Bench, name: str, policy: Policy) -> list[Phase]:
    """One kernel; its results also as its mathematics have them. Its phases, as the RTL has them.
    """
    await bench.reset()
    tester = tester_on(bench)
    instance = case(name, tester.machine)
    wanted = expected(name, instance)
    timed = await tester.compare(instance.program, instance.grid, instance.memory, policy)
    for number, words in wanted.items():
        assert np.array_equal(instance.memory[number], words)
    bench.dut._log.info("%s, %s: %d compute cycles, %d to load", name, policy.value, timed.cycles,
                        timed.load)
    return timed.phases  # which are the RTL's, one by one


def runs(name: str, *policies: Policy):
    """A test of one kernel, under each of these policies; it has the kernel's name.

    Machine ``paper``, of which a clock takes 16 times as much, runs it under the first one.
    """
    async def run(bench: Bench) -> None:
        tried = policies[:1] if bench.parameters["machine"] == "paper" else policies
        phases = {policy.value: await kernel(bench, name, policy) for policy in tried}
        if name == DRAWN:
            folder = Path(json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())["folder"])
            (folder / OCCUPATION).write_text(json.dumps({
                "kernel": name, "compute_ps": machine_named(
                    bench.parameters["machine"]).compute_ps,
                "phases": phases}))

    run.__name__ = run.__qualname__ = name
    return testbench(run)


vector_add = runs("vector_add", Policy.UNCONSTRAINED)
saxpy = runs("saxpy", *Policy)
cnn_max_pool = runs("cnn_max_pool", Policy.PAIRWISE)
fft = runs("fft", Policy.UNCONSTRAINED)
stencil = runs("stencil", *Policy)
spmv = runs("spmv", Policy.UNCONSTRAINED)
srad_reduce = runs("srad_reduce", *Policy)
