"""A search on the RTL for the start at which the end-to-end write takes longest. Takes minutes.

No formula chooses where in the period of the TDMA window the first packet is ready, nor when the
core begins: `starts` tries a grid of places and some at random, and follows the longest; then, at
the longest place, starts in an interval between two refreshes in the same way. These are all
alignments to refreshes, and other turns of all round robins and of DDR3.
"""

from collections.abc import Iterable

from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end import (
    PERIOD,
    ends,
    measure,
    network_cycle,
    network_start,
    starts_in_interval,
)
from cyclebound.tb.noc.start_search import APART, OTHERS, followed

STEP, SAMPLE = 32, 8  # places from one to the next in the grid, and places at random


async def search(bench: Bench, requesters: int, competitors: int, turns: Iterable[int]) -> None:
    """Search with so many at local memory and at DDR3, in these turns of the others; log what was
    found."""
    interval = starts_in_interval(bench)

    async def from_place(place: int) -> int:
        return (await measure(bench, requesters, competitors, place))["took"]

    async def from_start(number: int) -> int:
        settled = network_start(interval[number], bench)
        return (await measure(bench, requesters, competitors, place, settled, turn))["took"]

    place, seen = await followed(from_place, PERIOD, STEP, SAMPLE, bench.rng)
    found = []
    for turn in turns:
        number, later = await followed(from_start, len(interval), APART, OTHERS, bench.rng)
        found.append((later[number], network_start(interval[number], bench), turn, len(later)))
    took, settled, turn, _ = max(found)
    bench.dut._log.info(
        "N_req %d, N_trans %d: %d places searched, the longest is %d with %d DDR cycles; from "
        "there %d starts, the longest is %d, turn %d, with %d DDR cycles; bound %d", requesters,
        competitors, len(seen), place, seen[place], sum(tries for *_, tries in found), settled,
        turn, took, max(ends(requesters, competitors, bench)))


@testbench
async def one_requester_alone(bench: Bench) -> None:
    await search(bench, 1, 1, (0,))


@testbench
async def three_requesters_alone(bench: Bench) -> None:
    await search(bench, 3, 1, range(3))


@testbench
async def all_at_once(bench: Bench) -> None:
    requesters = bench.parameters["requesters"]
    await search(bench, requesters, 1 + bench.parameters["rivals"],
                 (0, bench.rng.randrange(requesters)))


@testbench
async def every_refresh_that_matters(bench: Bench) -> None:
    """With DDR3 for itself, from the longest place: each cycle of the network to begin in so that a
    refresh falls due at any time from when it could last hold up the last request, to the end."""
    part, interval = part_named(bench.parameters["part"]), starts_in_interval(bench)
    found = ends(1, 1, bench)
    place, longest = found.index(max(found)), max(found)
    holds = 2 * (part.nWR + part.nRP + part.nRFC + part.nRCD + part.nBURST)
    took = []
    for before_end in range(network_cycle(holds, bench.parameters["quarters"])):
        start = interval[0] + len(interval) - network_cycle(
            longest, bench.parameters["quarters"]) % len(interval) + before_end
        took.append((await measure(bench, 1, 1, place, network_start(start, bench)))["took"])
    assert min(took) < max(took)
    bench.dut._log.info("%d alignments to a refresh: %d to %d DDR cycles; bound %d", len(took),
                        min(took), max(took), longest)
