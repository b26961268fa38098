"""An adversary against the cache's bounds: accesses, pauses, and the memory's times.

It looks for the access that takes longest, on the RTL with its model beside it.
"""

from dataclasses import dataclass

from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.cache import CacheTester, shape_of
from cyclebound.tools.hill_climb import climb, climbed_in_simulation

TRIES, PATIENCE = 300, 100
MEMORIES = ((1, 1), (1, 6), (3, 9))
_ACCESSES = 4  # of each port, for each of its tags


@dataclass(frozen=True)
class CacheTraffic:
    """What an adversary does.

    Attributes
    ----------
    accesses : tuple of tuple of (int, int, bool)
        By port: cycles without an offer before an access, its address, whether it writes.
    times : tuple of (int, int)
        By request of lines, over and over: when memory takes it, and when its line may come.
    """

    accesses: tuple[tuple[tuple[int, int, bool], ...], ...]
    times: tuple[tuple[int, int], ...]


class CacheAdversary:
    """Draws and changes `CacheTraffic` for a bench's cache above a memory of ``turn``, ``latency``.

    Most accesses are of a few more lines of one set than it has ways.
    """

    writes = 0.6  # of accesses

    def __init__(self, bench: Bench, turn: int, latency: int) -> None:
        p = bench.parameters
        self.rng, self.ports, self.turn, self.latency = bench.rng, p["ports"], turn, latency
        self.shape = shape_of(p)
        self.words = 1 << p["address_width"]
        self.count = min(_ACCESSES * 2 ** p["tag_width"], 24)
        self.step = self.shape.line * self.shape.banks * self.shape.sets

    def address(self) -> int:
        rng = self.rng
        line = rng.randrange(self.shape.ways + 2) * self.step
        bank = rng.choice((0, 0, 0, rng.randrange(self.shape.banks))) * self.shape.line
        return rng.choice((line + bank, line + bank, rng.randrange(self.words))) % self.words

    def access(self) -> tuple[int, int, bool]:
        rng = self.rng
        return rng.choice((0, 0, 0, 1, rng.randrange(12))), self.address(), (
            rng.random() < self.writes)

    def time(self) -> tuple[int, int]:
        turn, latency = ((most, most, 1, self.rng.randint(1, most))
                         for most in (self.turn, self.latency))
        return self.rng.choice(turn), self.rng.choice(latency)

    def fresh(self) -> CacheTraffic:
        busy = self.rng.choice((self.ports, self.ports, self.rng.randint(1, self.ports)))
        return CacheTraffic(tuple(tuple(self.access() for _ in range(self.count if p < busy else 0))
                                  for p in range(self.ports)),
                            tuple(self.time() for _ in range(24)))

    def changed(self, traffic: CacheTraffic) -> CacheTraffic:
        accesses, times = [list(some) for some in traffic.accesses], list(traffic.times)
        for _ in range(self.rng.choice((1, 1, 2, 4))):
            some = self.rng.choice(accesses)
            if some and self.rng.random() < 0.8:
                some[self.rng.randrange(len(some))] = self.access()
            else:
                times[self.rng.randrange(len(times))] = self.time()
        return CacheTraffic(tuple(map(tuple, accesses)), tuple(times))


class Times:
    """`CacheTraffic.times`, for a `LineMemoryModel`."""

    def __init__(self, traffic: CacheTraffic) -> None:
        self._times, self._next = traffic.times, 0

    def __call__(self, turn: int, latency: int) -> tuple[int, int]:
        self._next += 1
        return self._times[(self._next - 1) % len(self._times)]


async def longest_access(bench: Bench, traffic: CacheTraffic, turn: int, latency: int) -> int:
    """The most cycles of an access, from its offer to its answer."""
    await bench.reset()
    tester = CacheTester(bench, turn=turn, latency=latency, choose=Times(traffic))
    tester.declare()
    left = [list(some) for some in traffic.accesses]
    pauses = [some[0][0] if some else 0 for some in left]
    while any(left) or not tester.idle:
        for port, some in enumerate(left):
            if some and tester.held[port] is None and not tester.queues[port]:
                if pauses[port] == 0 and tester.tags[port]:
                    tester.queues[port].append(some.pop(0)[1:])
                    pauses[port] = some[0][0] if some else 0
                pauses[port] = max(0, pauses[port] - 1)
        await tester.cycle()
    return tester.longest


@testbench
async def accesses_among_others(bench: Bench) -> None:
    for turn, latency in MEMORIES:
        adversary = CacheAdversary(bench, turn, latency)
        found = await climbed_in_simulation(
            climb(adversary.fresh, adversary.changed, tries=TRIES, patience=PATIENCE),
            lambda traffic, memory=(turn, latency): longest_access(  # type: ignore[misc]
                bench, traffic, *memory))
        bench.dut._log.info("turn %d, latency %d: an access took %d cycles", turn, latency,
                            found.value)
