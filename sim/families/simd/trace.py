"""Phases of work-groups as a trace that Perfetto and Chrome open (trace event format, JSON)."""

from collections.abc import Sequence
from typing import TypedDict

from cyclebound.golden.simd.accelerator import Phase

__all__ = ["Trace", "phase_trace"]

_RESOURCES = ("compute", "dram", "scratchpad")


class Trace(TypedDict):
    """A file in the trace event format."""

    traceEvents: list[dict]
    displayTimeUnit: str


def phase_trace(phases: Sequence[Phase], compute_ps: int) -> Trace:
    """A process for each resource, a thread for each slot; times in microseconds."""
    events: list[dict] = []
    for process, name in enumerate(_RESOURCES, 1):
        events.append({"ph": "M", "name": "process_name", "pid": process, "tid": 0,
                       "args": {"name": name}})
        events += [{"ph": "M", "name": "thread_name", "pid": process, "tid": slot,
                    "args": {"name": f"slot {slot}"}} for slot in (0, 1)]
    for phase in phases:
        events.append({"ph": "X", "name": f"work-group {phase.work_group}", "cat": phase.resource,
                       "pid": 1 + _RESOURCES.index(phase.resource), "tid": phase.slot,
                       "ts": phase.start * compute_ps / 1e6,
                       "dur": (phase.end - phase.start) * compute_ps / 1e6,
                       "args": {"cycle": phase.start, "cycles": phase.end - phase.start}})
    return {"traceEvents": events, "displayTimeUnit": "ns"}
