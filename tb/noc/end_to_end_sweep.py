"""The end-to-end write for every N_req, and for every N_trans. Takes minutes."""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.end_to_end import PERIOD, keep, measure, worst_places


@testbench
async def every_number_of_requesters(bench: Bench) -> None:
    for requesters in range(1, bench.parameters["requesters"] + 1):
        for competitors in sorted({1, 1 + bench.parameters["rivals"]}):
            keep(await measure(bench, requesters, competitors,
                               worst_places(requesters, competitors, bench)))


@testbench
async def every_number_of_rivals(bench: Bench) -> None:
    for competitors in range(1, 2 + bench.parameters["rivals"]):
        keep(await measure(bench, 1, competitors, worst_places(1, competitors, bench)))


@testbench
async def anywhere_in_the_period(bench: Bench) -> None:
    """Any number of either, the first packet ready in any place."""
    for _ in range(8):
        await measure(bench, bench.rng.randint(1, bench.parameters["requesters"]),
                      bench.rng.randint(1, 1 + bench.parameters["rivals"]),
                      (bench.rng.randrange(PERIOD), bench.rng.randrange(PERIOD)))
