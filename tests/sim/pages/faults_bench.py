"""The testbench of all blocks in `faults`: good, or wrong in the way that its parameter names."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np

from cyclebound.tb.bench import Bench, testbench


async def _requests(bench: Bench, count: int = 5, *, wrong_at: int = -1, what: str = "delay"):
    """One at a time, each compared cycle by cycle and observed."""
    cycles = bench.parameters["cycles"]
    for number in range(count):
        first = bench.cycle
        for step in range(cycles + 1):
            seen = await bench.step(bench.inputs.pack({"go": step == 0}))
            expected = step == cycles
            if number == wrong_at and step == 1:
                expected = not expected
            bench.check(seen, bench.outputs.pack({"done": expected}))
        bench.observe(what, first, bench.cycle - 1, number=np.int64(number))


@testbench
async def requests(bench: Bench) -> None:
    fault = bench.parameters["fault"]
    if fault == "mismatch":
        await _requests(bench, wrong_at=2)
    elif fault == "stranger":
        await _requests(bench)
        await _requests(bench, what="visit")
    elif fault != "silent":
        await _requests(bench)
    if fault == "good":
        kept = Path(os.environ["CYCLEBOUND_JOB"]).with_name("delays.json")
        kept.write_text(json.dumps([bench.parameters["cycles"] + 1] * 5))


@testbench
async def then_the_fault(bench: Bench) -> None:
    fault = bench.parameters["fault"]
    await bench.step()
    if fault == "stranger":
        await _requests(bench, what="passage")
    elif fault == "endless":
        while True:
            await bench.step()
    elif fault == "hanging":
        time.sleep(3600)
    elif fault == "dying":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "wordless":
        raise AssertionError(" ")
    elif fault == "many":
        for number in range(1_000_000):
            bench.observe("delay", number, number + number % 4)
    elif fault == "counted":
        bench.observe_counted("delay", 2, 3_000_000_000)
    elif fault == "slow":
        time.sleep(0.7)
    elif fault == "murderous":  # only the first job to come here
        mark = Path(os.environ["CYCLEBOUND_TEST_MARK"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
