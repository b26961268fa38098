"""A search on the RTL for the epoch that stays longest in a load/store unit. Takes minutes.

Orders and pauses of tokens, and the time of each access, are an adversary's; a stream of operands
may be epochs ahead of another one.
"""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.load_store_unit import BASE, SIZE, LoadStoreUnitTester
from cyclebound.tools.dataflow.token_plan import TokenPlan, TokenStreams, search
from cyclebound.tools.hill_climb import climbed_in_simulation

TRIES = 80  # of each kind of epoch
QUICK, OUTSIDE = 2, 0  # cycles of the quickest access; none is made outside of the buffer


async def residences(bench: Bench, plan: TokenPlan, *, store: bool, gated: bool) -> list[int]:
    """By epoch, the cycles from taking its last token to offering its last result."""
    tester = LoadStoreUnitTester(bench, store=store, gated=gated, latency=lambda: QUICK)
    tokens = TokenStreams(plan)
    tester.times = {BASE + tid: cycles for tid, cycles in enumerate(plan.times) if cycles}
    operands = [0] + [1] * store + [2] * gated
    offered: dict[int, int] = {}  # by thread: the cycle of its result
    while len(offered) < len(plan.times):
        before, now, wanted = len(tester.results), bench.cycle, tokens.offers()
        for k, tid in zip(operands, wanted, strict=True):
            if tid is not None and tester.held[k] is None:
                outside = k == 0 and plan.times[tid] == OUTSIDE
                tester.queues[k].append((tid, SIZE if outside else tid if k == 0 else 1))
        await tester.cycle()
        for number, k in enumerate(operands):
            if wanted[number] is not None and tester.held[k] is None:
                tokens.take(number, now)
        offered |= {tid: now for tid, _ in tester.results[before:]}
    epochs = [range(first, first + tester.depth)
              for first in range(0, len(plan.times), tester.depth)]
    return [max(offered[tid] for tid in epoch) - max(tokens.taken[tid] for tid in epoch) + 1
            for epoch in epochs]


def time(bench: Bench, what: str, memory: int) -> int:
    """The cycles of an access: most often the least or the most; of an epoch, some are none."""
    if what == "epoch" and bench.rng.random() < 0.1:
        return OUTSIDE
    return bench.rng.choice((QUICK, memory, memory, bench.rng.randint(QUICK, memory)))


async def longest(bench: Bench, what: str, *, memory: int, epochs: int, streams: int,
                  together: bool, **more: int) -> None:
    """The longest epoch that is found; ``more``: what else is declared of it."""
    async def value(plan: TokenPlan) -> int:
        await bench.reset()
        bench.declare(what, memory=memory, **more)
        took = await residences(bench, plan, store=streams > 1, gated=streams > 2)
        return took[0] if what == "epoch" else max(took)

    found = await climbed_in_simulation(
        search(bench.rng, tries=TRIES, streams=streams, depth=bench.parameters["depth"],
               epochs=epochs, together=together, longest_pause=2 * memory + 1,
               time=lambda: time(bench, what, memory)), value)
    bench.undeclare(what)
    bench.dut._log.info("%s, memory %d, %d epochs, %d streams, together %s: %d cycles", what,
                        memory, epochs, streams, together, found.value)


@testbench
async def an_epoch_before_younger_ones(bench: Bench) -> None:
    """With older ones gone. Without epochs, younger threads may leave first, so there are none."""
    depth = bench.parameters["depth"]
    epochs = (1, 3) if bench.parameters.get("epochs", True) else (1,)
    for memory in (QUICK, depth + 1, 20):
        for streams in (1, 2, 3):
            for together in (True, False)[:1 + (streams > 1)]:
                for number in epochs:
                    await longest(bench, "epoch", memory=memory, epochs=number, streams=streams,
                                  together=together, tokens=streams * depth,
                                  operands=1 if together else streams)


@testbench
async def epochs_behind_older_ones(bench: Bench) -> None:
    if not bench.parameters.get("epochs", True):
        return
    for memory in (QUICK, bench.parameters["depth"] + 1, 20):
        for epochs in (3, 4):
            await longest(bench, "residence", memory=memory, epochs=epochs, streams=1,
                          together=True)
