"""A user's kernel on a fabric: its configurations, one after the other, and what becomes of memory.

The job's folder has ``kernel.json`` (`sim.families.dataflow.run` writes it): the words and the
bound's parameters of each configuration, the words of memory, and what that memory is like.
``ran.json`` is written there: cycles of each configuration, memory afterwards, accesses outside
of arrays, the memory's events, and, of a fabric that counts them, the tokens of each link.
"""

import json
import os
from collections import Counter
from pathlib import Path

from cyclebound.golden.dataflow.grid import Grid, Kind
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import load, run_loaded


@testbench
async def kernel(bench: Bench) -> None:
    folder = Path(json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())["folder"])
    work = json.loads((folder / "kernel.json").read_text())
    grid = Grid(tuple(bench.parameters["rows"]))
    units = len(grid.of_kind(Kind.LOAD_STORE))
    links = sum(1 for _ in grid.links()) if work["counted"] else 0
    words, cycles, faults = work["words"], [], []
    events: list[Counter[str]] = []
    taken: list[list[int]] = []
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
        events.append(Counter())
        took, _ = await run_loaded(bench, words, units, faults_of=fault, tell=tell,
                                   events=events[-1], **work["memory"])
        cycles.append(took)
        taken.append([bench.outputs["count"].of(await bench.step(bench.inputs.pack({"select": k})))
                      for k in range(links)])
    (folder / "ran.json").write_text(json.dumps({"cycles": cycles, "words": [*map(int, words)],
                                                 "faults": faults, "events": events,
                                                 "taken": taken}))
