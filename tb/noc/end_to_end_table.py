"""The end-to-end write while a table holds: other masters of DDR3 have banks of their own.

What `scheduled_write` allows, against starts that are searched on the RTL: places in the period,
and, from the longest, starts in an interval between two refreshes; others of one direction or of
both, that go on all the time or begin meanwhile. And what the same masters cost in one bank.
"""

import json
import os
from pathlib import Path

from cyclebound.golden.noc.execution_model_bounds import scheduled_write
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end import (
    PERIOD,
    ROUTERS,
    SETTLED,
    WINDOW,
    Others,
    ends,
    measure,
    network_cycle,
    network_start,
    place_first_packet,
    starts_in_interval,
    worst_place,
    write,
)
from cyclebound.tb.noc.start_search import APART, OTHERS, followed

GAIN = "gain.json"     # beside the job: longest writes and bounds, by masters and how they behave
BEFORE = 1000, 925, 850  # the bound, cycles in which the others begin
STEP, SAMPLE = 128, 4   # places from one to the next in the grid, and places at random


# by K and how many read: the place and the network's cycle of the core's beginning from which
# `search` found the write longest
SEARCHED = {(2, 0): (424, 19_966), (2, 1): (358, 19_965), (8, 4): (450, 19_969)}


def allowed(bench: Bench, requesters: int, masters: int, others: Others) -> int:
    """The bound, for the system that is simulated."""
    p = bench.parameters
    return scheduled_write(
        requesters=requesters, masters=masters, met=others.late, mixed=int(others.read > 0),
        window=WINDOW, period=PERIOD, routers=ROUTERS, crossing=ROUTERS * (p["delta"] + 1),
        **{name: p[name] for name in ("nbytes", "delta", "quarters", "cap", "part")})


async def took(bench: Bench, requesters: int, masters: int, others: Others, place: int,
               settled: int = SETTLED, after: int | None = None) -> int:
    """DDR cycles of the write with its first packet ready in this place of the period."""
    events = await place_first_packet(bench, requesters, masters, place, settled, 0, others, after)
    return events.written[-1] - events.begun + 1


async def to_first_packet(bench: Bench, requesters: int) -> int | None:
    """Cycles of the network from the core's start until its first packet can begin; None where
    that depends on the start."""
    if requesters > 1:
        return None
    early = await write(bench, 1, 1, 0, until_ready=True, others=Others())
    return early.ready - network_cycle(SETTLED, bench.parameters["quarters"])


async def search(bench: Bench, requesters: int, masters: int, others: Others) -> dict:
    """The longest write that is found, beside its bound."""
    interval, after = starts_in_interval(bench), await to_first_packet(bench, requesters)

    async def from_place(place: int) -> int:
        return await took(bench, requesters, masters, others, place, after=after)

    async def from_start(number: int) -> int:
        return await took(bench, requesters, masters, others, place,
                          network_start(interval[number], bench), after)

    place, seen = await followed(from_place, PERIOD, STEP, SAMPLE, bench.rng)
    start, later = await followed(from_start, len(interval), APART, OTHERS, bench.rng)
    found, bound = max(seen[place], later[start]), allowed(bench, requesters, masters, others)
    bench.dut._log.info(
        "N_req %d, K %d, %s: %d places, the longest is %d with %d DDR cycles; %d starts, the "
        "longest is %d with %d; bound %d, %.3f", requesters, masters, others, len(seen), place,
        seen[place], len(later), interval[start], later[start], bound, found / bound)
    return {"requesters": requesters, "masters": masters, "read": others.read,
            "late": others.late, "took": found, "bound": bound}


def keep(rows: list[dict]) -> None:
    """Put what was found beside the job, for the page."""
    file = Path(os.environ["CYCLEBOUND_JOB"]).with_name(GAIN)
    before = json.loads(file.read_text()) if file.exists() else []
    file.write_text(json.dumps([*before, *rows]))


@testbench
async def from_searched_starts(bench: Bench) -> None:
    for (masters, read), (place, start) in SEARCHED.items():
        if masters <= 1 + bench.parameters["rivals"]:
            found = await took(bench, 1, masters, Others(read=read), place,
                               network_start(start, bench))
            bench.dut._log.info("K %d, %d read: %d DDR cycles", masters, read, found)


@testbench
async def one_direction(bench: Bench) -> None:
    for masters in (2, 4, 1 + bench.parameters["rivals"]):
        keep([await search(bench, 1, masters, Others())])


@testbench
async def both_directions(bench: Bench) -> None:
    for masters in (2, 4, 1 + bench.parameters["rivals"]):
        keep([await search(bench, 1, masters, Others(read=masters - 1))])
    most = 1 + bench.parameters["rivals"]
    keep([await search(bench, 1, most, Others(read=most // 2))])


@testbench
async def others_begin_meanwhile(bench: Bench) -> None:
    """Each opens a row: at times from the last request backwards, starts searched for each."""
    masters = 1 + bench.parameters["rivals"]
    place = worst_place(1, 1, bench)
    bound, found = allowed(bench, 1, masters, Others(late=masters - 1)), []
    interval, after = starts_in_interval(bench), await to_first_packet(bench, 1)
    for before in BEFORE:
        others = Others(late=masters - 1, begin=bound - before)

        async def from_start(number: int, others: Others = others) -> int:
            return await took(bench, 1, masters, others, place,
                              network_start(interval[number], bench), after)

        start, later = await followed(from_start, len(interval), APART, OTHERS, bench.rng)
        found.append(later[start])
    keep([{"requesters": 1, "masters": masters, "read": 0, "late": masters - 1,
           "took": max(found), "bound": bound}])
    bench.dut._log.info("K %d, %d begin so many cycles before %d, the bound: %s; at most %s",
                        masters, masters - 1, bound, BEFORE, found)


@testbench
async def few_at_local_memory(bench: Bench) -> None:
    """N_req of 2, which a bank for one application leaves at most (VI.A); all masters of DDR3."""
    masters = 1 + bench.parameters["rivals"]
    keep([await search(bench, 2, masters, Others())])


@testbench
async def random_banks(bench: Bench) -> None:
    """The same masters without a table, from where the bound is greatest."""
    for masters in (2, 4, 1 + bench.parameters["rivals"]):
        bounds = ends(1, masters, bench)
        row = await measure(bench, 1, masters, bounds.index(max(bounds)),
                            network_start(starts_in_interval(bench)[0], bench))
        keep([{"requesters": 1, "masters": masters, "read": None, "late": None,
               "took": row["took"], "bound": max(bounds)}])
