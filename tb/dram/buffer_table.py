"""Testbench of the table of mapped buffers: every port compared in every cycle."""

import itertools
from collections.abc import Iterator

from cyclebound.golden.dram.buffer_table import (
    BufferRequest,
    BufferTableModel,
    Mapping,
    Offered,
)
from cyclebound.golden.dram.pipeline_bounds import buffer_lookup
from cyclebound.golden.dram.request import Destination, Refusal
from cyclebound.tb.bench import Bench, interrupted, testbench

_COPIED = ("words", "count", "write", "destination", "base", "transform", "indexed")


class BufferTableTester:
    """The table, its model, and queues before it; one `cycle` at a time."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.address_bits, self.count_bits = p.get("address_bits", 30), p.get("count_bits", 20)
        self.buffers = p.get("buffers", 32)
        self.capacity = p.get("capacity") or 1 << self.address_bits
        self.model = BufferTableModel(capacity=self.capacity, latency=buffer_lookup(),
                                      indexes=1 << self.count_bits)
        self.mapping: Mapping | None = None
        self.request: BufferRequest | None = None
        self.answered: dict[int, int] = {}  # by refusal, how many
        self.mapped = 0
        self._waits = False  # a request was taken, and not answered yet

    async def cycle(self, tile_ready: bool = True, refusal_ready: bool = True) -> Offered:
        """Offer, and compare every output."""
        bench = self.bench
        values: dict[str, int] = {
            "tile.ready": tile_ready, "refusal.ready": refusal_ready}
        word = bench.inputs.pack(values)
        for port, offer in (("mapping", self.mapping), ("request", self.request)):
            if offer is not None:
                word |= bench.inputs.offer(port, offer)
        seen = await bench.step(word)
        shown = self.model.step(self.mapping, self.request, tile_ready=tile_ready,
                                refusal_ready=refusal_ready)
        self._compare(seen, shown)
        self.mapped += shown.mapped is not None
        if shown.answer is not None and self._waits:
            code = int(shown.answer.refusal)
            self.answered[code] = self.answered.get(code, 0) + 1
            self._waits = False  # counted; it may stay on offer
        if self.mapping is not None and shown.takes_mapping:
            self.mapping = None
        elif self.request is not None and shown.takes_request:
            self.request, self._waits = None, True
        return shown

    def ask(self, request: BufferRequest) -> None:
        """Offer a request from the coming cycle on."""
        self.request = request

    async def declare(self, *, mappings: int, ready: bool = True) -> None:
        """Whether mappings are going to be offered while requests wait, and sinks be ready.

        Begins when all that was under way is over.
        """
        await self.settle()
        if ready:
            self.bench.declare("wait", mappings=mappings)
        else:
            self.bench.undeclare("wait")

    def _compare(self, seen: int, shown: Offered) -> None:
        answer, request = shown.answer, shown.request
        expected: dict[str, int] = {
            "mapping.ready": shown.takes_mapping, "request.ready": shown.takes_request,
            "mapped": shown.mapped is not None,
            "tile.valid": answer is not None and not answer.refusal,
            "refusal.valid": answer is not None and bool(answer.refusal)}
        if shown.mapped is not None:
            expected["mapping_refusal"] = shown.mapped.refusal
        if answer is not None and answer.refusal:
            expected["refusal.payload"] = answer.refusal
        elif answer is not None and request is not None:
            expected |= {"limit": answer.limit, "tile.payload.address": answer.address,
                         "tile.payload.period": answer.period,
                         "tile.payload.pitch": answer.pitch}
            expected |= {f"tile.payload.{name}": int(getattr(request, name)) for name in _COPIED
                         if not (request.indexed and name == "words")}
        self.bench.check_fields(seen, expected)

    async def settle(self) -> None:
        """Run cycles until nothing is on offer, and nothing under way."""
        while self.mapping is not None or self.request is not None:
            await self.cycle()
        for _ in range(buffer_lookup()):
            await self.cycle()

    async def put(self, mapping: Mapping) -> None:
        """Map a buffer."""
        self.mapping = mapping
        await self.settle()

    async def get(self, request: BufferRequest) -> None:
        """Ask for a tile."""
        self.ask(request)
        await self.settle()


class BufferTraffic:
    """Random buffers and requests that lie at the buffers' edges more often than not."""

    def __init__(self, tester: BufferTableTester) -> None:
        self.tester, self.rng = tester, tester.bench.rng
        self.most = (1 << tester.count_bits) - 1

    def number(self) -> int:
        """A count: of any size, small ones and the greatest among them."""
        rng = self.rng
        if rng.random() < 0.1:
            return rng.choice((0, 1, self.most))
        return rng.getrandbits(rng.randint(1, self.tester.count_bits))

    def mapping(self) -> Mapping:
        """Ends at the device's end, one beyond it, or anywhere; now and then it unmaps."""
        rng, capacity = self.rng, self.tester.capacity
        x, y = self.number(), self.number()
        room = capacity - x * y
        most = (1 << self.tester.address_bits) - 1
        address = rng.choice((room, room + 1, room - 1, rng.randint(0, most),
                              rng.randint(0, max(room, 0))))
        return Mapping(rng.randrange(self.tester.buffers), min(max(address, 0), most), x, y,
                       rng.random() < 0.9)

    def _side(self, size: int) -> tuple[int, int]:
        """Draw start and length of a side: up to the edge, one beyond, empty, or anything."""
        rng = self.rng
        start = rng.randint(0, size) if rng.random() < 0.8 else self.number()
        length = rng.choice((size - start, size - start + 1, rng.randint(0, max(size - start, 0)),
                             0 if rng.random() < 0.3 else 1, self.number()))
        return start, min(max(length, 0), self.most)

    def request(self) -> BufferRequest:
        """A random request, most of them in a mapped buffer."""
        rng, mapped = self.rng, list(self.tester.model.buffers.values())
        if mapped and rng.random() < 0.9:
            buffer = rng.choice(mapped)
        else:
            buffer = Mapping(rng.randrange(self.tester.buffers), 0, self.number(), self.number())
        (x, words), (y, count) = self._side(buffer.x), self._side(buffer.y)
        return BufferRequest(buffer.buffer, min(x, self.most), min(y, self.most), words, count,
                             rng.random() < 0.2, rng.random() < 0.5, rng.choice(list(Destination)),
                             rng.getrandbits(20), rng.getrandbits(20), rng.randrange(3))


def _edges(size: int, most: int) -> Iterator[tuple[int, int]]:
    """Starts and lengths at a side's limit, one before and one beyond, and the extremes."""
    for start in {0, 1, size - 1, size, most}:
        for length in {0, 1, size - start - 1, size - start, size - start + 1, size, most}:
            if 0 <= start <= most and 0 <= length <= most:
                yield start, length


@testbench
async def every_edge_of_a_buffer(bench: Bench) -> None:
    """All pairs of sides at their limits; unmapped, mapped, remapped and unmapped again."""
    tester = BufferTableTester(bench)
    await tester.declare(mappings=0)
    most = (1 << tester.count_bits) - 1
    x, y = min(5, most), min(3, most)
    await tester.get(BufferRequest(1, 0, 0, 1, 1))
    await tester.get(BufferRequest(1, indexed=True))
    await tester.put(Mapping(1, 2, x, y))
    await tester.put(Mapping(0, 0, y, x))
    for column, words in _edges(x, most):
        for line, count in _edges(y, most):
            await tester.get(BufferRequest(1, column, line, words, count, pitch=2,
                                           destination=bench.rng.choice(list(Destination))))
    await tester.get(BufferRequest(1, most, most, 0, 0, indexed=True))
    await tester.put(Mapping(1, 1, y, x))
    await tester.get(BufferRequest(1, y - 1, x - 1, 1, 1))
    await tester.get(BufferRequest(1, x - 1, y - 1, 1, 1))
    await tester.put(Mapping(1, valid=False))
    await tester.get(BufferRequest(1, 0, 0, 1, 1))
    assert set(tester.answered) >= {0, 1, 2, 4, 5}
    # as many words as there are indexes, and a line more
    x, y = 1 << tester.count_bits // 2, 1 << tester.count_bits - tester.count_bits // 2
    for lines in (y, y + 1):
        await tester.put(Mapping(1, 0, x, lines))
        before = tester.answered.get(Refusal.SNOOP, 0)
        for column, words in ((0, 1), (x - 1, 1), (x, 1), (0, 0)):
            for destination in Destination:
                await tester.get(BufferRequest(1, column, 0, words, 1, destination=destination))
        await tester.get(BufferRequest(1, indexed=True, destination=Destination.CAM))
        assert tester.answered.get(Refusal.SNOOP, 0) == before + (3 if lines > y else 0)


@testbench
async def edges_of_the_device(bench: Bench) -> None:
    """Buffers that end with the device, and one word beyond it; the whole device, and nothing."""
    tester = BufferTableTester(bench)
    most, top = (1 << tester.count_bits) - 1, (1 << tester.address_bits) - 1
    refused = 0
    for x, y in ((1, 1), (2, 3), (3, 1), (0, 0), (0, most), (most, 0), (most, most), (1, most)):
        for beyond in (-1, 0, 1):
            address = tester.capacity - x * y + beyond
            if 0 <= address <= top:
                await tester.put(Mapping(1, address, x, y))
                await tester.get(BufferRequest(1, max(x - 1, 0), max(y - 1, 0), 1, 1))
                await tester.get(BufferRequest(1, indexed=True))
                refused += beyond > 0
    assert refused
    await tester.put(Mapping(1, top, most, most))
    await tester.put(Mapping(0, top, most, most, False))
    await tester.get(BufferRequest(1, indexed=True))


@testbench
async def every_sum_and_product(bench: Bench) -> None:
    """All sizes of buffers, all lines of each, and all ends of sides; of a wide table, some.

    Now and then no sink is ready for so long that everything has passed through the table anew.
    """
    tester = BufferTableTester(bench)
    rng, most, top = bench.rng, (1 << tester.count_bits) - 1, (1 << tester.address_bits) - 1
    numbers = (list(range(most + 1)) if tester.count_bits <= 3 else
               sorted({0, 1, most, *(rng.getrandbits(rng.randint(2, tester.count_bits))
                                     for _ in range(5))}))
    await tester.declare(mappings=0, ready=False)

    async def ask(*, x: int = 0, y: int = 0, words: int = 1, count: int = 1,
                  indexed: bool = False) -> None:
        tester.ask(BufferRequest(1, x, y, words, count, indexed, destination=rng.choice(
            list(Destination)), pitch=rng.choice(numbers)))
        while tester.request is not None:
            await tester.cycle()
        for _ in range(2 * buffer_lookup() if rng.random() < 0.2 else 0):
            await tester.cycle(False, False)

    for x, y in itertools.product(numbers, numbers):
        room = tester.capacity - x * y
        if 0 <= room < top:
            await tester.put(Mapping(1, room + 1, x, y))
            await ask(indexed=True)
        await tester.put(Mapping(1, rng.randint(0, min(max(room, 0), top)), x, y))
        await ask(indexed=True)
        for line in numbers:
            if line < y:
                await ask(x=rng.randint(0, max(x - 1, 0)), y=line)
    for number in numbers:
        other = max(factor for factor in numbers if number * factor <= tester.capacity)
        for start, length in itertools.product(numbers, numbers):
            if start == length == 0:
                await tester.put(Mapping(1, 0, number, other))
            await ask(x=start, words=length, y=rng.randint(0, max(other - 1, 0)))
        for start, length in itertools.product(numbers, numbers):
            if start == length == 0:
                await tester.put(Mapping(1, tester.capacity - number * other, other, number))
            await ask(y=start, count=length, x=rng.randint(0, max(other - 1, 0)))
    await tester.settle()


@testbench
async def at_once_again_and_in_turns(bench: Bench) -> None:
    """The next request in the cycle after each is taken, with and without mappings between."""
    tester = BufferTableTester(bench)
    traffic = BufferTraffic(tester)
    for mappings in (False, True):
        await tester.declare(mappings=int(mappings))
        for _ in range(150):
            tester.ask(traffic.request())
            while tester.request is not None:
                if mappings and tester.mapping is None:
                    tester.mapping = traffic.mapping()
                await tester.cycle()
    await tester.settle()
    assert sum(tester.answered.values()) == 300


@testbench
async def random_requests_and_stalls(bench: Bench) -> None:
    """Everything at random; no sink is ready before long, and each stalls by itself."""
    tester = BufferTableTester(bench)
    traffic, rng = BufferTraffic(tester), bench.rng
    for load in (0.05, 0.5, 1.0):
        for ready in (0.1, 0.6, 1.0):
            await tester.declare(mappings=1, ready=ready == 1)
            for _ in range(600):
                if tester.mapping is None and rng.random() < load / 4:
                    tester.mapping = traffic.mapping()
                if tester.request is None and rng.random() < load:
                    tester.ask(traffic.request())
                await tester.cycle(rng.random() < ready, rng.random() < ready)
    await tester.settle()
    assert set(tester.answered) == {0, 1, 2, 3, 4, 5}
    assert tester.mapped > 50


reset_in_mid_run = interrupted(at_once_again_and_in_turns)
