"""A user's kernel on the accelerator: its phases, and what becomes of its buffers.

The job's folder has ``kernel.json`` and ``memory.npz`` (`sim.families.simd.rtl` writes them):
instructions, buffers, grid and policy; content by buffer. ``ran.json`` and ``ran.npz`` are written
there.
"""

import json
import os
from pathlib import Path

import numpy as np

from cyclebound.golden.simd.isa import decode
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Buffer, Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_harness_tester import tester_on
from cyclebound.tb.simd.accelerator_tester import phases_of


def _buffers(listed: dict[str, list[int]]) -> dict[int, Buffer]:
    return {int(number): Buffer(int(number), address, x, y)
            for number, (address, x, y) in listed.items()}


@testbench
async def kernel(bench: Bench) -> None:
    folder = Path(json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())["folder"])
    work = json.loads((folder / "kernel.json").read_text())
    program = Program(work["name"], tuple(map(decode, work["words"])),
                      buffers=_buffers(work["buffers"]),
                      scratchpad_buffers=_buffers(work["scratchpad_buffers"]))
    with np.load(folder / "memory.npz") as kept:
        memory = {int(number): kept[number].copy() for number in kept.files}
    tester = tester_on(bench)
    x, y, width = work["grid"]
    policy, grid = Policy(work["policy"]), Grid(x, y, tester.machine, width)
    progress = folder / "progress.json"

    def tell(cycle: int, launched: int) -> None:
        progress.with_suffix(".new").write_text(json.dumps([cycle, launched]))
        progress.with_suffix(".new").rename(progress)

    tell(0, 0)
    refreshes = tester.refreshes
    ran, begin = await tester.run(program, grid, memory, policy, due=work["due"], tell=tell)
    due, rest = tester.phase(begin)
    depth = tester.machine.decode_stages + tester.machine.execute_stages
    np.savez(folder / "ran.npz", **{str(number): words for number, words in memory.items()})
    (folder / "ran.json").write_text(json.dumps({
        "due": due, "refreshing": rest, "cycles": ran.cycles, "load": ran.load, "fault": ran.fault,
        "refreshes": tester.refreshes - refreshes,
        "phases": [] if ran.fault else phases_of(ran, depth=depth, policy=policy)}))
