"""Threads that become complete in a control unit among others that wait, for every function."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.completion_adversary import complete_one_by_one
from cyclebound.tb.dataflow.control_unit import CASES, ControlUnitTester


@testbench
async def complete_among_others_that_wait(bench: Bench) -> None:
    for case in CASES:
        for load in (0.3, 0.8, 1.0):
            await bench.reset()
            tester = ControlUnitTester(bench, **case)
            await complete_one_by_one(
                bench, "result", tester.model.buffer, operands=tester.model.operands,
                depth=tester.depth, threads=6 * tester.depth, load=load, queues=tester.queues,
                cycle=tester.cycle)
