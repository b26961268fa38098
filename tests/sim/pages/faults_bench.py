"""The testbench of all blocks in `faults`: good, or wrong in the way that its parameter names."""

import json
import os
import signal
import time
from pathlib import Path

from cyclebound.tb.bench import Bench, testbench


async def _requests(bench: Bench, count: int = 5, *, wrong_at: int = -1):
    """One at a time, each declared, and compared cycle by cycle."""
    cycles = bench.parameters["cycles"]
    for number in range(count):
        bench.declare("delay", number=number)
        for step in range(cycles + 1):
            seen = await bench.step(bench.inputs.pack({"go": step == 0}))
            expected = step == cycles
            if number == wrong_at and step == 1:
                expected = not expected
            if bench.parameters["fault"] != "unchecked":
                bench.check(seen, bench.outputs.pack({"done": expected}))


@testbench
async def requests(bench: Bench) -> None:
    fault = bench.parameters["fault"]
    if fault == "mismatch":
        await _requests(bench, wrong_at=2)
    elif fault != "silent":
        await _requests(bench)
    if fault == "good":
        kept = Path(os.environ["CYCLEBOUND_JOB"]).with_name("delays.json")
        kept.write_text(json.dumps([bench.parameters["cycles"] + 1] * 5))


@testbench
async def then_the_fault(bench: Bench) -> None:
    fault = bench.parameters["fault"]
    await bench.step()
    if fault == "endless":
        while True:
            await bench.step()
    elif fault == "hanging":
        time.sleep(3600)
    elif fault == "dying":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "wordless":
        raise AssertionError(" ")
    elif fault == "many":
        bench.drive(bench.inputs.pack({"go": 1}))
        await bench.wait(100_000)
        bench.drive(0)
        await bench.wait(10)
    elif fault == "slow":
        time.sleep(0.7)
    elif fault == "murderous":  # only the first job to come here
        mark = Path(os.environ["CYCLEBOUND_TEST_MARK"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
