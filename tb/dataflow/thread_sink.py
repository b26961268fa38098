"""Testbench of the thread sink: ``done`` compared in every cycle."""

from cyclebound.golden.dataflow.thread_sink import ThreadSinkModel
from cyclebound.tb.bench import Bench, interrupted, testbench


async def run(bench: Bench, needed: list[int], threads: int, load: float) -> None:
    """All threads, in an order of its own at each operand."""
    await bench.reset()
    operands, rng = bench.parameters["operands"], bench.rng
    model = ThreadSinkModel(needed=needed, threads=threads)
    fixed = {"configuration.needed": sum(1 << k for k in needed),
             "configuration.threads": threads}
    queues = {k: rng.sample(range(threads), threads) for k in range(operands)}
    done = False
    while not done:
        left = sum(len(queues[k]) for k in needed)
        offers: list[tuple[int, int] | None] = [None] * operands
        values = dict(fixed)
        for k, queue in queues.items():
            if queue and rng.random() < load:
                tid, data = offers[k] = queue.pop(), rng.getrandbits(bench.parameters["width"])
                values |= {f"operands.{k}.valid": 1, f"operands.{k}.payload.tid": tid,
                           f"operands.{k}.payload.data": data}
        if left and not any(queues[k] for k in needed):
            bench.declare("done", threads=threads, last=1)
        seen = await bench.step(bench.inputs.pack(values))
        done = model.step(offers)
        expected = {"done": done} | {f"operands.{k}.ready": 1 for k in range(operands)}
        bench.check(seen, bench.outputs.pack(expected))
    bench.undeclare("done")


@testbench
async def all_threads_in_any_order(bench: Bench) -> None:
    most = 2 ** bench.parameters["tid_width"]
    operands = bench.parameters["operands"]
    for threads in (1, 2, most // 2 + 1, most):
        for needed in ([0], list(range(operands)), list(range(1, operands, 2))):
            for load in (1, 0.5):
                await run(bench, needed, threads, load)


reset_in_mid_run = interrupted(all_threads_in_any_order, last=300)
