"""A search on the RTL for the start at which the end-to-end read takes longest. Takes minutes.

No formula chooses a start or a place of the window. Starts in two intervals between refreshes are
tried on a grid and at random, and the longest until the last beat on DDR3's bus are followed: these
are alignments to departures, to the others' turns, and to refreshes. Then, from the longest, places
of the window all over the period, for the longest whole read.
"""

from cyclebound.golden.dram.page_bounds import row_change
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc import end_to_end_read as bounds
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end_read import (
    PERIOD,
    WINDOW,
    ReadEvents,
    first_refresh,
    measure,
    took,
)
from cyclebound.tb.noc.start_search import followed

INTERVALS = 2  # between refreshes, in which a read begins
SAMPLE = 8     # starts at random
STEP = 32      # places of the window from one to the next


def until_data(events: ReadEvents) -> int:
    """DDR cycles of the last read until its last beat on the bus."""
    return events.whole[-1] - events.taken[-1] + 1


async def search(bench: Bench, competitors: int) -> None:
    """Search with so many masters of DDR3; log what was found."""
    p, part = bench.parameters, part_named(bench.parameters["part"])
    base = first_refresh(bench) - row_change(part)

    async def from_start(start: int) -> int:
        return until_data(await measure(bench, 1, competitors, 0, base + start, reads=(0,)))

    # a read that just misses its turn waits for all others' once more
    turns = row_change(part) * (competitors - 1)
    start, seen = await followed(from_start, INTERVALS * part.nREFI, turns, SAMPLE, bench.rng)
    placed = {place: took(await measure(bench, 1, competitors, place, base + start, reads=(0,)))
              for place in range(bench.rng.randrange(STEP), PERIOD, STEP)}
    place = max(placed, key=placed.__getitem__)
    of = {name: p[name] for name in ("nbytes", "cap", "part")}
    whole = bounds.read_total(
        requesters=1, competitors=competitors, window=WINDOW, period=PERIOD, opened=1, **of,
        **{name: p[name] for name in ("delta", "quarters", "packets")})
    bench.dut._log.info(
        "N_trans %d: %d starts, the longest is %d with %d DDR cycles of %d until the data; from "
        "there %d places, the longest is %d with %d of %d", competitors, len(seen), base + start,
        seen[start], bounds.read_data(competitors=competitors, **of), len(placed), place,
        placed[place], whole)


async def search_each(bench: Bench, first: int, last: int) -> None:
    for competitors in range(first, min(last, 1 + bench.parameters["rivals"]) + 1):
        await search(bench, competitors)


@testbench
async def two_masters(bench: Bench) -> None:
    await search_each(bench, 2, 2)


@testbench
async def three_to_five_masters(bench: Bench) -> None:
    await search_each(bench, 3, 5)


@testbench
async def six_to_eight_masters(bench: Bench) -> None:
    await search_each(bench, 6, 8)
