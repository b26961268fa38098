"""A search on the RTL for the hit that waits longest behind the misses of its port.

A miss takes as long as the bound says by itself; what could exceed it is a hit that others keep
waiting. So an adversary chooses when each port asks for which bank, and what misses.
"""

from dataclasses import dataclass

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.cache_banks import CacheBanksTester
from cyclebound.tools.hill_climb import climb, climbed_in_simulation

TRIES, PATIENCE = 150, 50
_ACCESSES = 3  # of each port, for each of its tags


@dataclass(frozen=True)
class CacheBanksTraffic:
    """What an adversary does.

    Attributes
    ----------
    accesses : tuple of tuple of (int, int, bool)
        By port: cycles without an offer before an access, its address, whether it writes.
    misses : tuple of int
        By cycle, over and over: the banks in which what is taken misses.
    """

    accesses: tuple[tuple[tuple[int, int, bool], ...], ...]
    misses: tuple[int, ...]


class CacheBanksAdversary:
    """Draws and changes `CacheBanksTraffic` for a bench's banks."""

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        self.rng, self.ports, self.banks, self.words = bench.rng, p["ports"], p["banks"], p["words"]
        self.count = _ACCESSES * 2 ** p["tag_width"]
        self.cycles = 2 * (p["miss"] + p["ports"])

    def access(self) -> tuple[int, int, bool]:
        rng = self.rng
        bank = rng.choice((0, 0, rng.randrange(self.banks)))
        return (rng.choice((0, 0, 0, 1, rng.randrange(self.cycles // 2))),
                bank + self.banks * rng.randrange(self.words // self.banks), rng.random() < 0.2)

    def banks_that_miss(self) -> int:
        return self.rng.choice((0, (1 << self.banks) - 1, self.rng.getrandbits(self.banks)))

    def fresh(self) -> CacheBanksTraffic:
        busy = self.rng.choice((self.ports, self.ports, self.rng.randint(1, self.ports)))
        return CacheBanksTraffic(
            tuple(tuple(self.access() for _ in range(self.count if p < busy else 0))
                  for p in self.rng.sample(range(self.ports), self.ports)),
            tuple(self.banks_that_miss() for _ in range(self.cycles)))

    def changed(self, traffic: CacheBanksTraffic) -> CacheBanksTraffic:
        accesses, misses = [list(some) for some in traffic.accesses], list(traffic.misses)
        for _ in range(self.rng.choice((1, 1, 2, 4))):
            some = self.rng.choice(accesses)
            if some and self.rng.random() < 0.5:
                some[self.rng.randrange(len(some))] = self.access()
            else:
                misses[self.rng.randrange(self.cycles)] = self.banks_that_miss()
        return CacheBanksTraffic(tuple(map(tuple, accesses)), tuple(misses))


async def longest_hit(bench: Bench, traffic: CacheBanksTraffic, words: list[int]) -> int:
    """The most cycles of a hit, from its offer to its answer; 0 without any."""
    await bench.reset()
    tester = CacheBanksTester(bench, words)
    left = [list(some) for some in traffic.accesses]
    pauses = [some[0][0] if some else 0 for some in left]
    cycle = 0
    while any(left) or tester.under_way:
        for port, some in enumerate(left):
            if some and tester.held[port] is None and not tester.queues[port]:
                if pauses[port] == 0 and tester.tags[port]:
                    tester.queues[port].append(some.pop(0)[1:])
                    pauses[port] = some[0][0] if some else 0
                pauses[port] = max(0, pauses[port] - 1)
        await tester.cycle(misses=traffic.misses[cycle % len(traffic.misses)])
        cycle += 1
    return max(tester.hits, default=0)


@testbench
async def hits_behind_misses(bench: Bench) -> None:
    adversary, filled = CacheBanksAdversary(bench), CacheBanksTester(bench)
    await filled.fill()
    found = await climbed_in_simulation(
        climb(adversary.fresh, adversary.changed, tries=TRIES, patience=PATIENCE),
        lambda traffic: longest_hit(bench, traffic, filled.words))
    bench.dut._log.info("a hit took %d cycles", found.value)
