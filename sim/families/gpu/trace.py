"""A run of streams as a trace that Perfetto and Chrome open (trace event format, JSON)."""

from cyclebound.golden.gpu.streams import StreamsRun

__all__ = ["trace_of"]


def trace_of(run: StreamsRun) -> dict[str, object]:
    """Blocks by SM, operations by stream; one unit of time is shown as a microsecond."""
    events: list[dict[str, object]] = []
    streams = list(dict.fromkeys(ran.stream.name for ran in run.operations))
    sms = sorted({block.sm for block in run.blocks})
    for process, name in [(1, "streams"), (2, "copy engine"),
                          *((10 + sm, f"SM {sm}") for sm in sms)]:
        events.append({"ph": "M", "name": "process_name", "pid": process, "tid": 0,
                       "args": {"name": name}})
    for number, name in enumerate(streams):
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": number,
                       "args": {"name": name}})
    for ran in run.operations:
        thread = streams.index(ran.stream.name)
        events.append({"ph": "i", "s": "t", "name": f"launch {ran.operation.name}", "pid": 1,
                       "tid": thread, "ts": ran.launched})
        events.append({"ph": "X", "name": ran.operation.name, "cat": "operation", "pid": 1,
                       "tid": thread, "ts": ran.start, "dur": ran.end - ran.start,
                       "args": {"launched": ran.launched, "queued": ran.queued}})
        if not ran.operation.blocks:
            events.append({"ph": "X", "name": ran.operation.name, "cat": "copy", "pid": 2,
                           "tid": 0, "ts": ran.start, "dur": ran.end - ran.start})
    free: dict[int, list[int]] = {sm: [] for sm in sms}  # by lane: until when it is taken
    for block in sorted(run.blocks, key=lambda block: block.start):
        lanes = free[block.sm]
        lane = next((number for number, until in enumerate(lanes) if until <= block.start),
                    len(lanes))
        lanes[lane:lane + 1] = [block.end]
        events.append({"ph": "X", "name": f"{block.operation}:{block.number}", "cat": "block",
                       "pid": 10 + block.sm, "tid": lane, "ts": block.start,
                       "dur": block.end - block.start, "args": {"stream": block.stream}})
    return {"traceEvents": events, "displayTimeUnit": "ms"}
