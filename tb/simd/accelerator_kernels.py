"""The other installed kernels on the accelerator, and those that it refuses."""

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator import runs
from cyclebound.tb.simd.accelerator_scene import Scene
from cyclebound.tools.simd.kernel_cases import case

REFUSED = "matrix_product", "transposition"  # for their snoopy accesses

compute_phi_mag = runs("compute_phi_mag", Policy.ACCESS)
compute_q = runs("compute_q", Policy.UNCONSTRAINED)
cnn_relu = runs("cnn_relu", Policy.PAIRWISE)
cnn_convolution = runs("cnn_convolution", Policy.ACCESS)
depth2vertex = runs("depth2vertex", Policy.UNCONSTRAINED)
half_sample_robust = runs("half_sample_robust", Policy.PAIRWISE)
histogram = runs("histogram", *Policy)
prefix_sum = runs("prefix_sum", *Policy)
srad = runs("srad", Policy.UNCONSTRAINED)
srad2 = runs("srad2", Policy.COMPUTE)
track = runs("track", Policy.UNCONSTRAINED)
vertex2normal = runs("vertex2normal", Policy.PAIRWISE)


@testbench
async def snoopy_accesses_are_refused(bench: Bench) -> None:
    """A kernel with a snoopy access stops there, and the next kernel runs."""
    scene = Scene(bench)
    for name in REFUSED:
        found = case(name, scene.machine)
        ran, _ = await scene.run(found.program, found.grid, found.memory, Policy.UNCONSTRAINED)
        assert ran.fault is not None, f"{name} runs"
        assert ran.fault["cause"] == Cause.ACCESS
        stopped = found.program.instructions[ran.fault["index"]].name
        assert "bidx" in stopped or "cidx" in stopped, f"{name} stops at {stopped}"
        bench.compared += 1
    found = case("vector_add", scene.machine)
    await scene.compare(found.program, found.grid, found.memory, Policy.UNCONSTRAINED)
