"""Testbench of the index iterator: every port compared in every cycle."""

import itertools
from collections.abc import Iterator, Sequence

from cyclebound.golden.dram.index_iterator import (
    Element,
    IndexedTile,
    IndexIteratorModel,
    IteratorOutputs,
    bursts_of,
)
from cyclebound.golden.dram.request import ADDRESS_BITS, COUNT_BITS, TARGET_BITS, Destination
from cyclebound.tb.bench import Bench, interrupted, testbench

_ALWAYS = itertools.repeat(True)


class IndexIteratorTester:
    """The iterator and its model, one `cycle` at a time; one request after the other.

    Attributes
    ----------
    bursts, refused, empty : int
        Bursts taken, requests with a refused index, requests without a burst.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench, self.model = bench, IndexIteratorModel()
        self.bursts = self.refused = self.empty = 0
        self._begun = False  # the next request's tile was taken
        for what in ("request", "burst"):
            bench.follow(what)
        rng = bench.rng
        self._junk = {"tile.payload.words": rng.getrandbits(COUNT_BITS),  # not read here
                      "tile.payload.period": rng.getrandbits(COUNT_BITS),
                      "tile.payload.count": rng.getrandbits(COUNT_BITS),
                      "tile.payload.base": rng.getrandbits(TARGET_BITS),
                      "tile.payload.pitch": rng.getrandbits(TARGET_BITS)}

    async def cycle(self, tile: IndexedTile | None, element: Element | None,
                    ready: bool) -> IteratorOutputs:
        """Offer, and compare every output."""
        values = {"bursts.ready": ready, "tile.valid": tile is not None,
                  "indexes.valid": element is not None, **self._junk}
        if tile is not None:
            values |= {"tile.payload.address": tile.address, "limit": tile.limit,
                       "tile.payload.write": tile.write, "tile.payload.indexed": 1,
                       "tile.payload.destination": tile.destination,
                       "tile.payload.transform": tile.transform}
        if element is not None:
            values |= {"indexes.payload.index": element.index, "indexes.payload.end": element.end,
                       "indexes.payload.target": element.target}
        bench = self.bench
        seen = await bench.step(bench.inputs.pack(values))
        shown = self.model.step(tile, element, ready=ready)
        expected: dict[str, int] = {
            "tile.ready": shown.takes_tile, "indexes.ready": shown.takes_index,
            "bursts.valid": shown.burst is not None, "done": shown.done}
        if shown.done:
            expected |= {"empty": shown.empty, "refused": shown.refused}
            self.refused += shown.refused
            self.empty += shown.empty
        if shown.burst is not None:
            burst = shown.burst
            expected |= {f"bursts.payload.{name}": int(getattr(burst, name)) for name in
                         ("address", "mask", "write", "destination", "transform", "indexed",
                          "last")}
            expected |= {f"bursts.payload.targets.{lane}": target
                         for lane, target in enumerate(burst.targets)}
            self.bursts += ready
        bench.check_fields(seen, expected)
        return shown

    async def carry_out(self, tile: IndexedTile, elements: Sequence[Element],
                        sources: Iterator[bool] = _ALWAYS, sinks: Iterator[bool] = _ALWAYS, *,
                        idle: int = 0, following: IndexedTile | None = None) -> None:
        """A request from its tile to its ``done``.

        The tile is offered after ``idle`` cycles, in which elements may wait already; then
        ``following`` is, which has to be the next request's tile.
        """
        bench, offered, over = self.bench, False, False
        begun, self._begun = self._begun, False
        measured, refused = sources is _ALWAYS and sinks is _ALWAYS, []
        if measured:
            refused = self._declare(tile, elements)
        else:
            bench.undeclare("request")
            bench.undeclare("burst")
        taken, before = 0, self.bursts
        while not over:
            offered = offered or next(sources)
            element = elements[taken] if offered and taken < len(elements) else None
            if measured and element is not None and not element.end and (
                    element.index < tile.limit):  # the others begin no burst
                bench.declare("burst", refused=refused[taken])
            ready = next(sinks)
            waiting = following if begun else tile if idle == 0 else None
            idle = max(0, idle - 1)
            shown = await self.cycle(waiting, element, ready)
            over = begun and shown.done
            if waiting is not None and shown.takes_tile:
                begun, self._begun = True, begun
            if element is not None and shown.takes_index:
                taken += 1
                offered = False
        assert taken == len(elements)
        assert self.bursts - before == len(bursts_of(tile, elements))

    def _declare(self, tile: IndexedTile, elements: Sequence[Element]) -> list[int]:
        """Declare the request to come; returns, by element, how many refused ones follow before a
        legal one or the end.
        """
        self.bench.declare("request", indexes=len(elements) - 1)
        legal = [number for number, element in enumerate(elements)
                 if element.end or element.index < tile.limit]
        return [next(after for after in legal if after > number) - number - 1
                for number in range(len(elements) - 1)]


class IndexTraffic:
    """Random requests; indexes at the buffer's ends, and one beyond, more often than not."""

    def __init__(self, bench: Bench) -> None:
        self.rng = bench.rng

    def tile(self, limit: int | None = None) -> IndexedTile:
        """A random tile, whose buffer sometimes ends with the device."""
        rng = self.rng
        if limit is None:
            limit = rng.choice((0, 1, 2, 16, rng.getrandbits(rng.randint(1, ADDRESS_BITS)),
                                1 << ADDRESS_BITS))
        room = (1 << ADDRESS_BITS) - limit
        address = min(rng.choice((0, room, rng.randint(0, room))), (1 << ADDRESS_BITS) - 1)
        return IndexedTile(address, limit, rng.random() < 0.5, rng.choice(list(Destination)),
                           rng.randrange(3))

    def element(self, tile: IndexedTile, legal: bool | None = None) -> Element:
        """A legal index, one that is not, or any."""
        rng, most = self.rng, (1 << COUNT_BITS) - 1
        inside = (0, tile.limit - 1, rng.randint(0, max(0, tile.limit - 1)))
        beyond = (tile.limit, tile.limit + 1, most)
        choice = {True: inside, False: beyond, None: (*inside, *inside, *beyond)}[legal]
        return Element(min(max(0, rng.choice(choice)), most), rng.getrandbits(TARGET_BITS))

    def end(self) -> Element:
        """The end marker, whose other fields do not count."""
        return Element(self.rng.getrandbits(COUNT_BITS), self.rng.getrandbits(TARGET_BITS), True)

    def elements(self, tile: IndexedTile, count: int) -> list[Element]:
        """``count`` indexes and the end."""
        return [*(self.element(tile) for _ in range(count)), self.end()]

    def stalls(self, chance: float) -> Iterator[bool]:
        """True with this probability, over and over."""
        while True:
            yield self.rng.random() < chance


@testbench
async def every_pattern_of_refused_indexes(bench: Bench) -> None:
    """All numbers of indexes in the domain; of the short requests, all patterns of refusals, of
    the others also one index with all the refused ones after it."""
    tester, traffic = IndexIteratorTester(bench), IndexTraffic(bench)
    low, high = bench.domain.get("indexes", (0, 40))
    for count in range(low, high + 1):
        patterns = (itertools.product((True, False), repeat=count) if count <= 6 else
                    [(True,) * count, (False,) * count, (True,) + (False,) * (count - 1),
                     [bench.rng.random() < 0.5 for _ in range(count)]])
        for pattern in patterns:
            this = traffic.tile(bench.rng.choice((1, 16, 17, 1000)))
            await tester.carry_out(this, [*(traffic.element(this, legal) for legal in pattern),
                                          traffic.end()])
    assert tester.empty
    assert tester.refused > tester.empty > 5


@testbench
async def every_lane_and_both_ends_of_the_device(bench: Bench) -> None:
    tester, traffic = IndexIteratorTester(bench), IndexTraffic(bench)
    top = 1 << ADDRESS_BITS
    for address in (0, 5, top - 40, top - 1):
        tile = IndexedTile(address, min(40, top - address), True, Destination.REGISTERS, 2)
        await tester.carry_out(tile, [*(Element(index, 7 * index) for index in range(42)),
                                      traffic.end()])
    whole = IndexedTile(0, top)
    await tester.carry_out(whole, [Element((1 << COUNT_BITS) - 1, 3), traffic.end()])
    assert tester.bursts == 40 + 40 + 40 + 1 + 1
    assert tester.refused == 4


@testbench
async def random_requests_and_stalls(bench: Bench) -> None:
    """The source and the sink stall at random, each by itself; idle times between requests."""
    tester, traffic, rng = IndexIteratorTester(bench), IndexTraffic(bench), bench.rng
    for source in (0.15, 0.7, 1.0):
        for sink in (0.15, 0.7, 1.0):
            tile: IndexedTile | None = None
            for _ in range(25):
                this = tile or traffic.tile()
                tile = traffic.tile() if rng.random() < 0.5 else None
                await tester.carry_out(this, traffic.elements(this, rng.randrange(12)),
                                       traffic.stalls(source), traffic.stalls(sink),
                                       idle=rng.choice((0, 0, 1, 4)), following=tile)
            if tile is not None:
                await tester.carry_out(tile, traffic.elements(tile, 3))
    assert tester.bursts > 300
    assert tester.refused > 30
    assert tester.empty > 10


@testbench
async def a_work_group_of_indexes(bench: Bench) -> None:
    """1024 indexes, one a work-item, to the registers of a work-group."""
    tester, traffic = IndexIteratorTester(bench), IndexTraffic(bench)
    tile = IndexedTile(12345, 4096)
    elements = [Element(bench.rng.randrange(4096), item) for item in range(1024)]
    await tester.carry_out(tile, [*elements, traffic.end()])
    assert tester.bursts == 1024


reset_in_mid_run = interrupted(random_requests_and_stalls, last=300,
                               then=every_pattern_of_refused_indexes)
