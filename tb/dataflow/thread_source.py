"""Testbench of the thread source."""

from cyclebound.golden.dataflow.thread_source import ThreadSourceModel
from cyclebound.tb.bench import Bench, interrupted, testbench


async def run(bench: Bench, *, threads: int, value: int | None, sink: float, first: int = 0) -> int:
    """Start that many threads; returns the cycles from the start to the last token."""
    model = ThreadSourceModel(threads=threads, value=value, first=first,
                              width=bench.parameters["width"])
    fixed = {"configuration.threads": threads, "configuration.number": value is None,
             "configuration.value": first if value is None else value}
    cycle = 0
    await bench.reset()
    if sink == 1:
        bench.declare("threads", threads=threads)
    else:
        bench.undeclare("threads")
    while cycle == 0 or model.waiting:
        ready, start = bench.rng.random() < sink, cycle == 0 or bench.rng.random() < 0.1
        if cycle and len(model.waiting) <= 1:
            start = False
        busy = bool(model.waiting)
        seen = await bench.step(bench.inputs.pack(fixed | {"start": start, "tokens.ready": ready}))
        token = model.step(start, ready)
        expected: dict[str, int] = {"busy": busy, "tokens.valid": token is not None}
        if token is not None:
            expected |= {"tokens.payload.tid": token[0], "tokens.payload.data": token[1]}
        bench.check_fields(seen, expected)
        cycle += 1
    return cycle


@testbench
async def as_many_threads_as_asked_for(bench: Bench) -> None:
    most = 2 ** bench.parameters["tid_width"]
    for threads in sorted({1, 2, min(3, most), most // 2, most}):
        for value in (None, 0, bench.rng.getrandbits(bench.parameters["width"])):
            for sink in (1.0, 0.5):
                await run(bench, threads=threads, value=value, sink=sink)


@testbench
async def ranges_of_threads(bench: Bench) -> None:
    """Numbers begin with that of a core's first thread, and wrap as integers do."""
    width = bench.parameters["width"]
    for first in (1, bench.rng.getrandbits(width), 2**width - 2):
        await run(bench, threads=5, value=None, sink=0.7, first=first)


reset_in_mid_run = interrupted(as_many_threads_as_asked_for, last=300)
