"""A user's applications and table on the many-core's memory path.

The job's folder has ``work.json`` (`sim.families.noc.run` writes it): both as text, and for how
many cycles of the network they run. ``ran.json`` is written there: how often each transaction was
seen, and the longest.
"""

import json
import os
from pathlib import Path

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.many_core import allocated
from cyclebound.tools.noc.system_file import parse_allocation, parse_system


@testbench
async def user(bench: Bench) -> None:
    folder = Path(os.environ["CYCLEBOUND_JOB"]).parent
    work = json.loads((folder / "work.json").read_text())
    system = parse_system(work["system"])
    allocation = parse_allocation(work["table"], system)
    progress = folder / "progress.json"

    def tell(cycle: int) -> None:
        progress.with_suffix(".new").write_text(json.dumps([cycle, work["cycles"]]))
        progress.with_suffix(".new").rename(progress)

    took = await allocated(bench, system, allocation, work["cycles"], tell)
    (folder / "ran.json").write_text(json.dumps({"longest": took.longest, "times": took.times}))
