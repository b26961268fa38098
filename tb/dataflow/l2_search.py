"""An adversary against the second-level cache's bounds: other cores' requests, pauses, and the
times of the memories below.

It looks for the read that takes longest, on the RTL with its model beside it.
"""

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow import cache_search
from cyclebound.tb.dataflow.cache_search import MEMORIES, CacheTraffic, Times
from cyclebound.tb.dataflow.l2 import L2Tester, shape_of
from cyclebound.tools.hill_climb import climb, climbed_in_simulation

TRIES, PATIENCE = 100, 40
_REQUESTS = 12  # of each port


class L2Adversary(cache_search.CacheAdversary):
    """Draws and changes `CacheTraffic` for a bench's cache above memories of ``turn``, ``latency``.

    Addresses are numbers of lines; most are of a few more lines of one set than it has ways.
    """

    writes = 0.4

    def __init__(self, bench: Bench, turn: int, latency: int) -> None:
        p = bench.parameters
        self.rng, self.ports, self.turn, self.latency = bench.rng, p["ports"], turn, latency
        self.shape, self.count = shape_of(p), _REQUESTS
        self.lines = (1 << p["address_width"]) // self.shape.line

    def address(self) -> int:
        rng, shape = self.rng, self.shape
        of_one_set = rng.randrange(shape.ways + 2) * shape.banks * shape.sets
        bank = rng.choice((0, 0, 0, rng.randrange(shape.banks)))
        return rng.choice((of_one_set + bank, of_one_set + bank, rng.randrange(self.lines))
                          ) % self.lines


async def longest_read(bench: Bench, traffic: CacheTraffic, turn: int, latency: int) -> int:
    """The most cycles of a read, from its offer to its line."""
    await bench.reset()
    tester = L2Tester(bench, turn=turn, latency=latency, choose=Times(traffic))
    tester.declare()
    left = [list(some) for some in traffic.accesses]
    pauses = [some[0][0] if some else 0 for some in left]
    while any(left) or not tester.idle:
        for port, some in enumerate(left):
            if some and tester.held[port] is None and not tester.queues[port]:
                if pauses[port] == 0:
                    tester.queues[port].append(some.pop(0)[1:])
                    pauses[port] = some[0][0] if some else 0
                else:
                    pauses[port] -= 1
        await tester.cycle()
    return tester.longest


@testbench
async def reads_among_other_cores(bench: Bench) -> None:
    for turn, latency in MEMORIES:
        adversary = L2Adversary(bench, turn, latency)
        found = await climbed_in_simulation(
            climb(adversary.fresh, adversary.changed, tries=TRIES, patience=PATIENCE),
            lambda traffic, memory=(turn, latency): longest_read(  # type: ignore[misc]
                bench, traffic, *memory))
        bench.dut._log.info("turn %d, latency %d: a read took %d cycles", turn, latency,
                            found.value)
