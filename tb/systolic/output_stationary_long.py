"""Long runs of the output-stationary array on its harness."""

from cyclebound.golden.systolic.bounds import completion, eq5_6
from cyclebound.golden.systolic.mapping import Dataflow
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.array_harness import Sweep


@testbench
async def random_shapes(bench: Bench) -> None:
    """Products of random shapes up to 128, and all layers of a public simulator."""
    sweep = Sweep(bench, Dataflow.OUTPUT, "macs", eq5_6, completion, by_rows=False)
    await sweep.random(60, 128)
    await sweep.public_simulator()
