"""Bounds of SHMAC's network among masters, on the RTL: saturated, and with an adversary.

Masters and slaves are hardware, so that plans are played without Python in between.
"""

from collections.abc import Iterable, Iterator, Mapping

from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.shmac.exchange import ExchangeModel, Seen, Wish
from cyclebound.golden.shmac.network_bounds import NetworkBounds
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.traffic import (
    ALONE,
    HOST,
    HOTSPOT,
    MANY,
    NEIGHBOURS,
    senders,
    services,
)
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tools.hill_climb import climb, climbed_in_simulation
from cyclebound.tools.shmac.network_search import (
    Goal,
    Longest,
    Period,
    Plan,
    ShmacNetworkAdversary,
    Together,
    wishes,
)

__all__ = ["ExchangeTester", "goals"]

_DRAWN = 13  # a traffic in which four tiles have other targets
_CLAIMS = ("read", "write", "accept")
TRIES, PATIENCE = 60, 30


class ExchangeTester:
    """The network with masters and slaves in hardware.

    ``service``, ``uneven``: of its slaves, as `services`.
    """

    def __init__(self, bench: Bench, *, service: int, uneven: int = 0) -> None:
        self.bench, self.service, self.uneven = bench, service, uneven
        self.mesh = Mesh(bench.parameters["rows"], bench.parameters["columns"])
        self.places: list[Tile] = [*self.mesh.tiles, HOST]
        self._wishes = [{part: bench.inputs[f"wishes.{number}.{part}"] for part in (
            "begins", "write", "target.row", "target.column")}
            for number in range(len(self.places))]
        self._offers = [{part: bench.outputs[f"offers.{number}.{part}"] for part in (
            "begins", "write", "target.row", "target.column")}
            for number in range(len(self.places))]
        self._from = [bench.outputs[f"landed_from.{number}"] for number in range(
            len(self.mesh.tiles))]

    def number(self, tile: Tile) -> int:
        """Of a tile, row by row."""
        return self.places.index(tile)

    @property
    def services(self) -> Mapping[Tile, int]:
        """Of each slave."""
        return services(self.mesh, self.service, self.uneven)

    def word(self, wish: Mapping[Tile, Wish], most: Mapping[Tile, int]) -> int:
        """The inputs with which masters would begin these, and keep to ``most``."""
        bits = {f"service.{self.number(tile)}": its for tile, its in self.services.items()}
        for number, tile in enumerate(self.places):
            bits[f"most.{number}"] = most.get(tile, MANY)
        word = self.bench.inputs.pack(bits)
        for tile, (target, write) in wish.items():
            fields = self._wishes[self.number(tile)]
            for part, value in zip(fields, (1, write, *target), strict=True):
                word |= fields[part].to(value)
        return word

    def seen(self, word: int, only: Tile | None = None) -> Seen:
        """What the outputs show, of all masters or of one."""
        seen, out = Seen(), self.bench.outputs
        taken, received = out["taken"].of(word), out["received"].of(word)
        landed = out["landed"].of(word)
        for number, tile in enumerate(self.places):
            if only is not None and tile != only:
                continue
            begins, write, row, column = (field.of(word) for field in
                                          self._offers[number].values())
            if begins:
                seen.offers[tile] = RequestPacket(write=bool(write), target=(row, column),
                                                  initiator=(0, 0) if tile == HOST else tile)
            if taken >> number & 1:
                seen.taken.add(tile)
            if received >> number & 1:
                seen.received.add(tile)
        for number, tile in enumerate(self.mesh.tiles):
            if landed >> number & 1:
                seen.landed.append((self.places[self._from[number].of(word)], tile))
        return seen

    def declare(self, goal: Goal, *, traffic: int, hot: Tile) -> None:
        """The requests of a goal's victim, if it is no host."""
        if goal.victim == HOST:
            return
        master = self.number(goal.victim)
        kind = {"traffic": traffic, "hot": self.number(hot), "master": master,
                "service": self.service, "uneven": self.uneven}
        ends = {"target": self.number(goal.target), "behind": goal.most}
        for what in _CLAIMS:
            self.bench.declare(what, {"n": master}, **kind,
                               **(ends if what != "accept" else {}))

    async def begin(self) -> None:
        """Reset; nothing is declared."""
        for what in _CLAIMS:
            self.bench.undeclare(what)
        await self.bench.reset()

    async def play(self, goal: Goal, plan: Plan, *, traffic: int, hot: Tile) -> list[int]:
        """Run a plan; returns the outputs of each cycle."""
        await self.begin()
        self.declare(goal, traffic=traffic, hot=hot)
        return await self.bench.play([self.word(wish, goal.kept)
                                      for wish in wishes(plan, goal.cycles)])

    async def beside(self, goal: Goal, plan: Plan) -> None:
        """Run a plan beside the model."""
        await self.begin()
        model = ExchangeModel(self.mesh, service=self.services, most=goal.kept)
        for wish in wishes(plan, goal.cycles):
            expected = model.step(wish)
            shown = self.seen(await self.bench.step(self.word(wish, goal.kept)))
            self.bench.compare([shown.taken, shown.received, sorted(shown.landed)],
                               [expected.taken, expected.received, sorted(expected.landed)],
                               "who is served")

    async def slowest(self, goal: Goal, *, traffic: int, hot: Tile) -> None:
        """Search for the longest of the victim's requests; the slowest plan is repeated beside the
        model."""
        bounds = NetworkBounds(self.mesh, goal.masters, service=self.services)

        async def value(plan: Plan) -> int | None:
            longest, together = Longest(goal), Together(goal.masters, goal.victim, bounds)
            for word in await self.play(goal, plan, traffic=traffic, hot=hot):
                shown = self.seen(word, goal.victim)
                longest.see(shown)
                together.see(shown)
            assert (together.over or 0) <= 0, f"writes hold up others for {together.over} too many"
            return longest.cycles or None

        adversary = ShmacNetworkAdversary(self.bench.rng, goal)
        found = await climbed_in_simulation(
            climb(adversary.fresh, adversary.changed, tries=TRIES, patience=PATIENCE), value)
        if found.candidate is not None:
            await self.beside(goal, found.candidate)


def goals(mesh: Mesh, traffic: int, hot: Tile, master: Tile, cycles: int, *,
          behind: Iterable[int] = (MANY, 0)) -> Iterator[Goal]:
    """Each kind of request from one master to one of its slaves, behind so many of its own."""
    masters = senders(mesh, traffic, hot=hot, master=master)
    for target in sorted(masters.get(master, ())):
        for write in (False, True):
            for most in behind:
                yield Goal(masters, master, target, write, most, cycles)


@testbench
async def one_slave(bench: Bench) -> None:
    """One master, and all; those that are not measured write without a pause."""
    rng = bench.rng
    tester = ExchangeTester(bench, service=1)
    tiles = tester.mesh.tiles
    for tester.service in (1, 4) if len(tiles) > 2 else (1,):  # on two, what explorations visit
        for hot in {tiles[-1], tiles[len(tiles) // 2]}:
            for traffic in (ALONE, HOTSPOT):
                for victim in tiles:
                    for goal in goals(tester.mesh, traffic, hot, victim, 2500):
                        plan: dict[Tile, tuple[Period, ...]] = dict.fromkeys(
                            goal.masters, (((hot, True), goal.cycles),))
                        plan[victim] = tuple(
                            period for number in range(100) for period in (
                                ((hot, goal.write), rng.randint(1, 40)),
                                ((hot, True) if goal.most or number % 2 else None,
                                 rng.randint(1, 90))))
                        await tester.play(goal, plan, traffic=traffic, hot=hot)
    goal = Goal(senders(tester.mesh, HOTSPOT), tiles[-1], tiles[0], write=False, most=0,
                cycles=200)
    await tester.beside(goal, ShmacNetworkAdversary(rng, goal).fresh())


@testbench
async def readers_in_a_row(bench: Bench) -> None:
    """0 and 1 read from 2, 2 and 3 read from 1, whenever they can: with one channel for requests
    and responses they stop for ever."""
    tester = ExchangeTester(bench, service=3)
    tiles = tester.mesh.tiles
    targets = {tiles[0]: tiles[2], tiles[1]: tiles[2], tiles[2]: tiles[1], tiles[3]: tiles[1]}
    bounds = NetworkBounds(tester.mesh, {tile: frozenset([target]) for tile, target in
                                         targets.items()}, service=tester.service)
    model = ExchangeModel(tester.mesh, service=tester.service)
    wish = {tile: (target, False) for tile, target in targets.items()}
    last, reads = dict.fromkeys(targets, 0), dict.fromkeys(targets, 0)
    for cycle in range(2000):
        shown = tester.seen(await bench.step(tester.word(wish, {})))
        bench.compare(shown.received, model.step(wish).received, "who has a response")
        for tile, target in targets.items():
            if tile in shown.received:
                last[tile] = cycle
                reads[tile] += 1
            waited = cycle - last[tile]
            assert waited <= bounds.read(tile, target, behind=0), f"{tile} waits for ever"
    assert min(reads.values()) > 2000 // 40, reads


@testbench
async def adversary(bench: Bench) -> None:
    """Each kind of request, with all other masters against it. Takes minutes."""
    await _against(bench, (MANY, 0))


@testbench
async def adversary_behind(bench: Bench) -> None:
    """The same, behind some of its own, at slaves that take different times."""
    await _against(bench, (1, 3), uneven=2)


async def _against(bench: Bench, behind: Iterable[int], *, uneven: int = 0) -> None:
    behind = tuple(behind)
    tester = ExchangeTester(bench, service=1, uneven=uneven)
    hot = tester.mesh.tiles[-1]
    for traffic in (HOTSPOT,) if len(tester.mesh.tiles) == 2 else (NEIGHBOURS, _DRAWN):
        for victim in tester.mesh.tiles:
            for goal in goals(tester.mesh, traffic, hot, victim, 400, behind=behind):
                await tester.slowest(goal, traffic=traffic, hot=hot)
