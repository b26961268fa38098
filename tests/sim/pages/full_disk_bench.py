"""A testbench that allows no file to grow while it observes, logs, or ends."""

import contextlib
import logging
import resource
import signal

from cyclebound.tb.bench import Bench, testbench


@contextlib.contextmanager
def nothing_is_written():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write fails then, as on a full disk
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def ask(bench, times):
    for _ in range(times):
        for cycle in range(4):
            await bench.step(bench.inputs.pack({"go": cycle == 0}))


@testbench
async def loses(bench: Bench) -> None:
    what = bench.parameters["what"]
    await ask(bench, 20)
    with nothing_is_written() if what == "observations" else contextlib.nullcontext():
        await ask(bench, 3)
    with nothing_is_written() if what == "log" else contextlib.nullcontext():
        logging.getLogger("cocotb.test").warning("a message that has to be kept")
    await ask(bench, 20)
    bench.compare(bench.cycle > 43, True, "the cycles that all this took")
    if what == "results":
        nothing_is_written().__enter__()
