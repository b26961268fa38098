"""Phases as pictures and as traces for Perfetto."""

import pytest

from cyclebound.sim.pictures.simd_occupation import policies_trace, worst, worst_trace

pytestmark = pytest.mark.unit

STENCIL = {"kernel": "stencil", "policy": "access", "part": "ddr4-3200aa-x16"}


def test_policies_are_below_each_other():
    kept = {"kernel": "k", "compute_ps": 2000, "phases": {
        "access": [("compute", 0, 0, 0, 5)], "compute": [("dram", 1, 1, 3, 9)]}}
    found = policies_trace(kept)["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in found
             if event["name"] == "process_name"}
    assert names == {1: "access: compute", 2: "access: dram", 3: "access: scratchpad",
                     4: "compute: compute", 5: "compute: dram", 6: "compute: scratchpad"}
    first, second = (event for event in found if event["ph"] == "X")
    assert (first["pid"], first["ts"], first["dur"]) == (1, 0, 0.01)
    assert (second["pid"], second["tid"], second["args"]) == (5, 1, {"cycle": 3, "cycles": 6})


def test_the_worst_schedule():
    assert "stencil" in worst(**STENCIL).axes[0].get_title()
    phases = [event for event in worst_trace(**STENCIL)["traceEvents"] if event["ph"] == "X"]
    assert len(phases) == 1024
    assert {event["cat"] for event in phases} == {"compute", "dram", "scratchpad"}
