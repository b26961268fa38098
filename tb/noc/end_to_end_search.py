"""A search on the RTL for the start at which the end-to-end write takes longest. Takes minutes.

No formula chooses where in the period of the TDMA window the first packet is ready: `starts` tries
a grid and some at random, and follows the longest. Of the longest one, the transaction then begins
after other numbers of cycles from reset, which are other turns of all round robins and of DDR3.
"""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end import PERIOD, measure_one, total_of, write
from cyclebound.tb.noc.start_search import starts

STEP, SAMPLE = 32, 8  # cycles from start to start in the grid, and starts at random
TURNS = 8             # other cycles from reset
_LONGEST = 104        # their greatest number over four: all masters' turns of DDR3's conflicts


async def search(bench: Bench, requesters: int, competitors: int) -> None:
    """Search with so many at local memory and at DDR3; log what was found."""
    early = await write(bench, requesters, competitors, 0, until_ready=True)
    tries = starts(PERIOD, step=STEP, sample=SAMPLE, rng=bench.rng)
    place = next(tries)
    while True:
        row = await measure_one(bench, requesters, competitors, place, early.ready)
        try:
            place = tries.send(row["took"])
        except StopIteration as ended:
            seen = ended.value
            break
    place = max(seen, key=seen.get)
    turned = []
    for turn in bench.rng.sample(range(11, _LONGEST), TURNS):
        early = await write(bench, requesters, competitors, 0, until_ready=True, settled=4 * turn)
        row = await measure_one(bench, requesters, competitors, place, early.ready,
                                settled=4 * turn)
        turned.append(row["took"])
    bench.dut._log.info(
        "N_req %d, N_trans %d: %d starts searched, the longest at place %d takes %d DDR cycles, "
        "after other times from reset %d to %d; bound %d", requesters, competitors, len(seen),
        place, seen[place], min(turned), max(turned), total_of(bench, requesters, competitors))


@testbench
async def one_requester_alone(bench: Bench) -> None:
    await search(bench, 1, 1)


@testbench
async def three_requesters_alone(bench: Bench) -> None:
    await search(bench, 3, 1)


@testbench
async def all_at_once(bench: Bench) -> None:
    await search(bench, bench.parameters["requesters"], 1 + bench.parameters["rivals"])
