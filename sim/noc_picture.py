"""Pictures of the networks on chip, from runs of their RTL.

    python -m cyclebound.sim.noc_picture composable docs/noc-composable.svg
    python -m cyclebound.sim.noc_picture curves docs/noc-curves.svg --configuration harness4

Each simulates first, so that a picture shows what was measured; ``--from`` takes what a job kept.
The curves are in the report of a run, too.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from cyclebound.sim.curves import figure
from cyclebound.sim.job import Job, run_job

__all__ = ["composable", "main"]

_SILENT, _SATURATE = "#4477aa", "#cc6677"
_SOURCES = {  # testbench, its test, what it keeps, the usual configuration
    "composable": ("interfaces", "composable", "arrivals.json", "oblong"),
    "curves": ("large", "throughput_and_latency", "observed-throughput_and_latency.json",
               "harness4")}


def composable(kept: Mapping[str, Sequence]) -> Figure:
    """When each word of a flow's requests arrives, others silent or saturating, with and without
    tables; a row for each request."""
    drawn = Figure(figsize=(10, 4), layout="constrained")
    panels = drawn.subplots(1, 2)
    for panel, tables, title in ((panels[0], "tables", "with TDMA tables"),
                                 (panels[1], "none", "without")):
        for others, colour, side in (("silent", _SILENT, 0.17), ("saturate", _SATURATE, -0.17)):
            run = kept[f"{tables} {others}"]
            panel.eventplot([[each - asked for each in arrivals] for asked, _, arrivals in run],
                            lineoffsets=[number + 1 + side for number in range(len(run))],
                            linelengths=0.3, linewidths=1.5, colors=colour,
                            label=f"others {others}")
        panel.set_title(title, fontsize=10)
        panel.set(xlabel="cycles since the request, a mark for each word", ylabel="request")
        panel.set_yticks(range(1, len(run) + 1))
        panel.set_ylim(len(run) + 0.6, 0.4)
    handles, labels = panels[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    drawn.legend(named.values(), named.keys(), fontsize=8, loc="outside lower center", ncols=2)
    return drawn


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m cyclebound.sim.noc_picture",
                                     description="Draw what the RTL of a mesh did.")
    parser.add_argument("picture", choices=_SOURCES)
    parser.add_argument("path", type=Path, help=".svg, .png or .pdf")
    parser.add_argument("--configuration", default="", help="of noc.mesh")
    parser.add_argument("--from", dest="kept", type=Path, help="what a job has kept, as JSON")
    options = parser.parse_args(arguments)
    testbench, test, file, usual = _SOURCES[options.picture]
    with tempfile.TemporaryDirectory() as folder:
        kept = options.kept or Path(folder) / file
        if options.kept is None:
            outcome = run_job(Job("noc.mesh", options.configuration or usual, testbench, 1, folder,
                                  test=test))
            if not outcome.passed:
                parser.error(outcome.reason)
        found = json.loads(kept.read_text())
    drawn = composable(found) if options.picture == "composable" else figure(found["plots"][0])
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "noc"}):
        drawn.savefig(options.path,
                       metadata={"Date": None} if options.path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
