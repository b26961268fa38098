"""A user's kernel on a fabric: its configurations, one after the other, and what becomes of memory.

The job's folder has ``kernel.json`` (`sim.families.dataflow.run` writes it): the words and the
bound's parameters of each configuration, the words of memory, and what that memory is like.
``ran.json`` is written there: cycles of each configuration, memory afterwards, and accesses outside
of arrays.
"""

import json
import os
from pathlib import Path

from cyclebound.golden.dataflow.grid import Grid, Kind
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import load, run_loaded


@testbench
async def kernel(bench: Bench) -> None:
    folder = Path(json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())["folder"])
    work = json.loads((folder / "kernel.json").read_text())
    units = len(Grid(tuple(bench.parameters["rows"])).of_kind(Kind.LOAD_STORE))
    words, cycles, faults = work["words"], [], []
    progress = folder / "progress.json"
    for number, part in enumerate(work["parts"]):
        def tell(cycle: int, number: int = number) -> None:
            progress.with_suffix(".new").write_text(json.dumps([number, cycle]))
            progress.with_suffix(".new").rename(progress)

        def fault(unit: int, thread: int, index: int, number: int = number) -> None:
            faults.append([number, unit, thread, index])

        tell(0)
        bench.declare("completion", **part["bound"])
        await load(bench, part["words"])
        took, _ = await run_loaded(bench, words, units, faults_of=fault, tell=tell,
                                   **work["memory"])
        cycles.append(took)
    (folder / "ran.json").write_text(json.dumps({"cycles": cycles, "words": [*map(int, words)],
                                                 "faults": faults}))
