"""A program of a user's own on the accelerator: commands and memory from a file, memory back.

What it takes is counted by the probe that `cyclebound.sim.families.systolic.run` gives the block.

``program.npz`` beside the job's description holds ``memory`` (a row for each beat), ``fields`` (the
commands' names), ``commands`` (a row for each), and the memory's ``delay`` and ``interval``.
"""

import os
import time
from pathlib import Path

import numpy as np

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.accelerator import SystolicAcceleratorTester
from cyclebound.tb.systolic.memory_server import MemoryServer

PROGRESS = "progress.txt"
RESULT = "memory.npy"


@testbench
async def program(bench: Bench) -> None:
    """All commands, with a memory as slow as it may be; how many were given, once a second."""
    folder = Path(os.environ["CYCLEBOUND_JOB"]).parent
    with np.load(folder / "program.npz") as kept:
        names, rows, beats = kept["fields"].tolist(), kept["commands"].tolist(), kept["memory"]
        memory = Memory(int(kept["delay"]), int(kept["interval"]))
    commands = [dict(zip(names, row, strict=True)) for row in rows]
    told = 0.0

    def tell(given: int) -> None:
        nonlocal told
        if time.monotonic() - told > 1:
            told = time.monotonic()
            (folder / PROGRESS).write_text(f"{given} {len(commands)}\n")

    server = MemoryServer(bench, beats, memory)
    await SystolicAcceleratorTester(bench).run(commands, server, given_so_far=tell)
    np.save(folder / RESULT, beats.astype(np.int8))
