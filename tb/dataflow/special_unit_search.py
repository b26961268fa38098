"""A search on the RTL for the epoch that stays longest in a special unit. Takes minutes.

Orders, pauses and operations of an epoch and of younger ones are an adversary's; a stream of
operands may bring younger threads while the other one still brings the epoch's.
"""

from cyclebound.golden.dataflow.graph import Special
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.special_unit import SpecialUnitTester
from cyclebound.tools.dataflow.token_plan import TokenPlan, TokenStreams, search
from cyclebound.tools.hill_climb import climbed_in_simulation

TRIES = 150  # of each kind of epoch
_LONG = {Special.IDIV: 0x80000000, Special.FDIV: 0x3F800000, Special.FSQRT: 0x40490FDB}


def operations(bench: Bench) -> tuple[int, ...]:
    """First operands with which an operation takes no time, the longest, and, if there are such,
    times in between."""
    function = Special(bench.parameters["function"])
    between = (1, 0x1234, 0x1234567) if function == Special.IDIV else ()
    return 0, 0, _LONG[function], _LONG[function], _LONG[function], *between


async def residence(bench: Bench, plan: TokenPlan, *, together: bool) -> int:
    """Cycles from taking the last operand of the first epoch to offering its last result."""
    await bench.reset()
    tester, tokens = SpecialUnitTester(bench), TokenStreams(plan)
    depth = tester.depth
    tester.declare_epoch(operands=1 if together else len(tester.queues),
                         younger=len(plan.times) - depth)
    while len(tester.results) < depth:
        offered = tokens.offers()
        for queue, tid in zip(tester.queues.values(), offered, strict=True):
            queue.clear()
            queue.extend([] if tid is None else [(tid, plan.times[tid])])
        now = bench.cycle
        await tester.cycle()
        for number, queue in enumerate(tester.queues.values()):
            if offered[number] is not None and not queue:
                tokens.take(number, now)
    assert sorted(tid for tid, _ in tester.results) == list(range(depth))
    return now - max(tokens.taken[tid] for tid in range(depth)) + 1


async def longest(bench: Bench, *, epochs: int, together: bool) -> None:
    streams = len(SpecialUnitTester(bench).queues)
    together = together or streams == 1
    found = await climbed_in_simulation(
        search(bench.rng, tries=TRIES, streams=streams, depth=bench.parameters["depth"],
               epochs=epochs, together=together, longest_pause=45,
               time=lambda: bench.rng.choice(operations(bench))),
        lambda plan: residence(bench, plan, together=together))
    bench.dut._log.info("%d epochs, together %s: %d cycles", epochs, together, found.value)


@testbench
async def an_epoch_alone(bench: Bench) -> None:
    await longest(bench, epochs=1, together=False)


@testbench
async def both_operands_at_once(bench: Bench) -> None:
    await longest(bench, epochs=3, together=True)


@testbench
async def each_operand_in_its_own_order(bench: Bench) -> None:
    await longest(bench, epochs=3, together=False)
