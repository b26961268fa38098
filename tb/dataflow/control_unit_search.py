"""Threads that become complete in a control unit among others that wait, for every function."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.completion_adversary import complete_one_by_one
from cyclebound.tb.dataflow.control_unit import CASES, Scene


@testbench
async def complete_among_others_that_wait(bench: Bench) -> None:
    for case in CASES:
        for load in (0.3, 0.8, 1.0):
            await bench.reset()
            scene = Scene(bench, **case)
            await complete_one_by_one(
                bench, "result", scene.model.buffer, operands=scene.model.operands,
                depth=scene.depth, threads=6 * scene.depth, load=load, queues=scene.queues,
                cycle=scene.cycle)
