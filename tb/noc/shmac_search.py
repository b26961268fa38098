"""A search on the RTL for the slowest reads and writes of one RAM that several masters use.

An adversary chooses when each core begins what. It is told nothing of the routers, and sees at
their ports how long accesses take. Each candidate's inputs are played from a table, without Python
in between, so that hundreds of candidates are tried in a minute. The grids of both kinds of routers
are searched.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.golden.noc.shmac_sharing import victims
from cyclebound.tb.bench import Bench
from cyclebound.tb.noc.handshake_mesh import GridTester
from cyclebound.tools.hill_climb import climb, climbed_in_simulation

__all__ = ["IDLE", "READ", "WRITE", "Accesses", "Plan", "ShmacGridAdversary", "doing", "lives",
           "search", "slowest"]

CYCLES = 420           # of each candidate
TRIES, PATIENCE = 150, 60
_PERIODS = 10          # in which a core does one thing
_LONGEST = 90          # cycles of such a period
IDLE, READ, WRITE = range(3)

Plan = dict[Tile, tuple[tuple[int, int], ...]]
"""By core: what it repeats, and for how many cycles."""


@dataclass(frozen=True)
class Accesses:
    """What the cores of a search do.

    Attributes
    ----------
    cores : sequence of Tile
        Those that access the RAM.
    victim : Tile
        The one of them whose accesses are measured.
    mine, others : tuple of int
        What it and the others do: idle, read, write.
    steady : bool
        Once they have begun, they go on without a pause.
    """

    cores: Sequence[Tile]
    victim: Tile
    mine: tuple[int, ...]
    others: tuple[int, ...]
    steady: bool = False


class ShmacGridAdversary:
    """Draws and changes plans."""

    def __init__(self, bench: Bench, accesses: Accesses) -> None:
        self.rng, self.accesses = bench.rng, accesses

    def _length(self) -> int:
        return self.rng.choice((1, 2, 5, self.rng.randint(1, _LONGEST), self.rng.randint(1, 20)))

    def _does(self, tile: Tile) -> tuple[int, ...]:
        return self.accesses.mine if tile == self.accesses.victim else self.accesses.others

    def fresh(self) -> Plan:
        plan: Plan = {}
        for tile in self.accesses.cores:
            does = self._does(tile)
            if self.accesses.steady:
                plan[tile] = ((IDLE, self.rng.randint(1, _LONGEST)),
                              (max(does), CYCLES))
            else:
                plan[tile] = tuple((self.rng.choice(does), self._length())
                                   for _ in range(_PERIODS))
        return plan

    def changed(self, plan: Plan) -> Plan:
        plan = dict(plan)
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            tile = self.rng.choice(self.accesses.cores)
            periods = list(plan[tile])
            place = 0 if self.accesses.steady else self.rng.randrange(_PERIODS)
            what, length = periods[place]
            if self.accesses.steady or self.rng.random() < 0.6:
                length = (self._length() if self.rng.random() < 0.4
                          else max(1, length + self.rng.choice((-5, -2, -1, 1, 2, 5))))
            else:
                what = self.rng.choice(self._does(tile))
            periods[place] = what, length
            plan[tile] = tuple(periods)
        return plan


def doing(plan: Plan) -> list[dict[Tile, Operation]]:
    """By cycle, what the cores that are not idle may begin with."""
    operations = {READ: Operation.READ, WRITE: Operation.WRITE}
    cycles: list[dict[Tile, Operation]] = [{} for _ in range(CYCLES)]
    for tile, periods in plan.items():
        first = 0
        for what, length in periods:
            for cycle in cycles[first:first + length] if what != IDLE else ():
                cycle[tile] = operations[what]
            first += length
    return cycles


def lives(words: Sequence[int], fields: dict[str, int]) -> dict[str, int]:
    """The longest read and write of a core, from the grid's outputs in each cycle.

    ``fields``: masks of the core's outputs. Neither is there without one that has ended.
    """
    longest: dict[str, int] = {}
    asks, read, written = False, None, []
    for cycle, word in enumerate(words):
        requests, writes = bool(word & fields["requests"]), bool(word & fields["writes"])
        if requests and not asks:
            if writes:
                written.append(cycle)
            else:
                read = cycle
        if word & fields["landed"] and written:
            longest["write"] = max(longest.get("write", 0), cycle - written.pop(0) + 1)
        if word & fields["operated"] and read is not None:
            longest["read"] = max(longest.get("read", 0), cycle - read + 1)
            read = None
        asks = requests
    return longest


async def slowest(bench: Bench, tester: GridTester, accesses: Accesses, target: Tile, which: str,
                  what: str, **kind: int) -> int:
    """The longest of the victim's reads or writes (``which``) that is found.

    Requests ``what`` of this ``kind`` are declared for the victim in each candidate. At last the
    one that took longest is repeated beside the grid's model.
    """
    number = tester.tiles.index(accesses.victim)
    fields = {name: bench.outputs[f"{name}.{number}"].mask
              for name in ("requests", "writes", "landed", "operated")}

    def kernels(plan: Plan) -> Iterator[dict[Tile, Kernel]]:
        return ({tile: Kernel(True, operation=operation, target=target)
                 for tile, operation in cores.items()} for cores in doing(plan))

    async def value(plan: Plan) -> int | None:
        await bench.reset()
        bench.declare(what, tester.place(accesses.victim), **kind)
        found = lives(await bench.play(list(map(tester.word, kernels(plan)))), fields)
        bench.undeclare(what)
        return found.get(which)

    adversary = ShmacGridAdversary(bench, accesses)
    found = await climbed_in_simulation(
        climb(adversary.fresh, adversary.changed, tries=TRIES, patience=PATIENCE), value)
    if found.candidate is not None:
        beside = await type(tester).fresh(bench)
        for each in kernels(found.candidate):
            await beside.cycle(each)
    await bench.reset()
    return found.value or 0


async def search(bench: Bench, tester: GridTester, target: Tile, groups: Sequence[Sequence[Tile]],
                 claims: Sequence[tuple[str, str, tuple[int, ...], tuple[int, ...], bool]]
                 ) -> None:
    """Search for each claim with each group of cores, each of a kind as the victim.

    ``claims``: read or write, what requests are called, what the victim does, what the others do,
    and whether without a pause.
    """
    for cores in groups:
        for victim, kind in victims(cores, target):
            for which, what, mine, others, steady in claims:
                took = await slowest(bench, tester, Accesses(cores, victim, mine, others, steady),
                                     target, which, what, **kind)
                bench.dut._log.info("%s, %s: %d cycles", what, kind, took)
