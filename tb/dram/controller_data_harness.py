"""Testbench of data through the DRAM controller: what one client writes any other reads.

Tiles, indexed and snoopy requests, in batches that hardware carries out without a pause. For each
request, its refusal, the words delivered and their sum are compared; for each batch the CAM, lane
by lane; at the end, all of memory.
"""

import functools
from collections import Counter
from dataclasses import asdict

from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.controller_data import DataRequest, DramDataModel, Result
from cyclebound.golden.dram.data_harness import BATCH, DATA_FAULTS, LANES, WINDOW_BITS
from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BURST_WORDS,
    TARGET_BITS,
    WORD_BITS,
    Destination,
    Refusal,
)
from cyclebound.golden.dram.snoop_cam import Load
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, testbench

__all__ = ["Data", "mixed_traffic"]

_REQUESTS, _MANY_REQUESTS = 3_000, 100_000
_BUFFERS = 12      # that random tests map
_WINDOW = 1 << WINDOW_BITS
_WHOLE = 31        # the buffer that covers all of the window
_TARGETS = (1 << TARGET_BITS) - 1
_CAM_READ = 2      # cycles to the answer


class Data:
    """The harness and its model.

    Attributes
    ----------
    counts : Counter
        Requests by kind and refusal, words delivered, lanes that captured one, ...
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        part = part_named(bench.parameters["part"])
        self.capacity = min(part.bursts * BURST_WORDS, 1 << ADDRESS_BITS)
        self.model = DramDataModel(window_bits=WINDOW_BITS, lanes=LANES)
        self.counts: Counter[str] = Counter()
        self._mapped = 0

    async def map(self, mapping: Mapping) -> None:
        """Map a buffer while nothing is under way."""
        bench, field = self.bench, self.bench.outputs["mapped"]
        fits = mapping.words.stop <= self.capacity
        refusal = Refusal.NONE if fits or not mapping.valid else Refusal.DEVICE
        self._mapped += 1
        first = bench.cycle
        seen = await bench.step(bench.inputs.offer("mapping", mapping))
        while field.of(seen) != self._mapped:
            assert bench.cycle < first + 20, "a mapping was not reported"
            seen = await bench.step(0)
        bench.compare(bench.outputs["mapping_refusal"].of(seen), refusal, "a mapping's refusal")
        self.model.buffers.pop(mapping.buffer, None)
        if fits and mapping.valid:
            self.model.buffers[mapping.buffer] = mapping

    async def load(self, loads: list[Load]) -> None:
        """Load lanes, all others are disarmed."""
        inputs = self.bench.inputs
        await self.bench.step(inputs["clear"].mask)
        for lane in self.model.lanes:
            lane.armed = False
        for load in loads:
            await self.bench.step(inputs.offer("load", load))
            self.model.load(load)
        await self.bench.step(0)

    async def run(self, batch: list[DataRequest]) -> None:
        """Carry out a batch, and compare what became of it."""
        bench, inputs = self.bench, self.bench.inputs
        for slot, data_request in enumerate(batch):
            values = {"put": 1, "slot": slot}
            values |= {f"data_request.{name}": int(getattr(data_request, name))
                       for name in ("seed", "holes", "span", "length")}
            values |= {f"data_request.request.{name}": int(value)
                       for name, value in asdict(data_request.request).items()}
            await bench.step(inputs.pack(values))
        await bench.step(inputs.pack({"start": 1, "requests": len(batch)}))
        bench.drive(0)
        expected = [self.model.carry_out(data_request) for data_request in batch]
        await bench.wait(2)
        failed = bench.outputs["failed"].of(await bench.run_until("done", poll=1_000))
        faults = [name for bit, name in enumerate(DATA_FAULTS) if failed >> bit & 1]
        assert not faults, f"the harness found: {', '.join(faults)}"
        fields = [bench.outputs[f"result.{name}"] for name in ("refusal", "words", "sum")]
        await bench.step(inputs["slot"].to(0))
        for slot, (data_request, wanted) in enumerate(zip(batch, expected, strict=True)):
            seen = await bench.step(inputs["slot"].to(slot + 1))
            refusal, words, total = (field.of(seen) for field in fields)
            got = Result(Refusal(refusal), words, total)
            bench.compare(got, wanted, f"the result of {data_request}")
            self._count(data_request, wanted)

    async def lanes(self) -> None:
        """Compare what all lanes hold."""
        bench, inputs, outputs = self.bench, self.bench.inputs, self.bench.outputs
        for number in range(LANES + _CAM_READ):
            seen = await bench.step(inputs.pack({"read.valid": 1, "read.payload": number})
                                    if number < LANES else 0)
            if number >= _CAM_READ:
                lane = self.model.lanes[number - _CAM_READ]
                assert outputs["answer.valid"].of(seen)
                got = tuple(outputs[f"answer.payload.{name}"].of(seen) for name in ("data", "hit"))
                bench.compare(got, (lane.data, lane.hit), f"lane {number - _CAM_READ}")
                self.counts["hits"] += lane.hit

    def _count(self, data_request: DataRequest, result: Result) -> None:
        request, counts = data_request.request, self.counts
        counts[f"refused {int(result.refusal)}"] += 1
        if result.refusal in (Refusal.NONE, Refusal.INDEX):
            kind = "indexed" if request.indexed else (
                "snoopy" if request.destination == Destination.CAM else "tile")
            counts[f"{'write' if request.write else 'read'} {kind}"] += 1
            counts["delivered"] += result.words

    async def whole(self, *, write: bool) -> None:
        """All of memory, line by line."""
        rng = self.bench.rng
        await self.map(Mapping(_WHOLE, 0, 4096, _WINDOW // 4096))
        for first in range(0, _WINDOW // 4096, 8):
            await self.run([DataRequest(BufferRequest(
                _WHOLE, 0, first + line, 4096, 1, write=write, base=rng.randrange(1 << 19),
                pitch=0), rng.getrandbits(WORD_BITS)) for line in range(8)])


class ControllerDataTraffic:
    """Random buffers and requests. Two words of a buffer are never one in the window."""

    def __init__(self, data: Data) -> None:
        self.data, self.rng = data, data.bench.rng

    def mapping(self) -> Mapping:
        """A buffer with short lines or long ones, at any word; now and then none."""
        rng, capacity = self.rng, self.data.capacity
        x = rng.choice((rng.randint(1, 15), rng.randint(16, 80), rng.randint(100, 5000),
                        16 * rng.randint(64, 640)))
        y = rng.randint(1, min(400, _WINDOW // x))
        room = capacity - x * y
        address = rng.choice((0, room, rng.randint(0, room), rng.randint(0, room), room + 1))
        return Mapping(rng.randrange(_BUFFERS), address, x, y, rng.random() > 0.05)

    def data_request(self) -> DataRequest:
        """A request: a few words more often than thousands, mostly inside its buffer."""
        rng, buffers = self.rng, self.data.model.buffers
        buffer = rng.choice([number for number in buffers if number != _WHOLE] or [0])
        if rng.random() < 0.03:
            buffer = _BUFFERS  # never mapped
        mapping = buffers.get(buffer, Mapping(buffer, 0, 100, 10))
        seed, write = rng.getrandbits(WORD_BITS), rng.random() < 0.5
        destination = rng.choice((Destination.SCRATCHPAD, Destination.REGISTERS, Destination.CAM))
        request_of = functools.partial(BufferRequest, buffer, write=write,
                                       transform=rng.randrange(3))
        size = mapping.x * mapping.y
        if rng.random() < 0.3:
            length = rng.choice((0, 1, 2, rng.randrange(40), rng.randrange(300)))
            span = rng.choice((size, size, min(size, 50), size + 1, 2 * size))
            request = request_of(indexed=True, base=rng.randint(0, _TARGETS),
                                 destination=rng.choice((Destination.SCRATCHPAD,
                                                         Destination.REGISTERS)))
            return DataRequest(request, seed, rng.random() < 0.3, span, length)
        most = rng.choice((1, 20, 100, 100, 600, 600, 4000))
        x = rng.choice((0, rng.randrange(mapping.x)))
        words = min(mapping.x - x, rng.randint(1, most))
        y = rng.randrange(mapping.y)
        count = min(mapping.y - y, rng.randint(1, max(1, most // words)))
        if rng.random() < 0.05:  # no words, no lines, or one too many
            words, count = rng.choice(((0, count), (words, 0), (mapping.x - x + 1, count),
                                       (words, mapping.y - y + 1)))
        pitch = words if rng.random() < 0.5 else words + rng.randrange(50)
        base = y * mapping.x + x if destination == Destination.CAM else rng.randint(0, _TARGETS)
        return DataRequest(request_of(x, y, words, count, False, destination=destination,
                                      base=base, pitch=pitch), seed, rng.random() < 0.3)

    def loads(self, batch: list[DataRequest]) -> list[Load]:
        """Lanes that wait for words of the batch's snoopy requests, and some that wait in vain."""
        rng = self.rng
        requests = [data_request.request for data_request in batch]
        snoopy = [request for request in requests if not request.indexed
                  and request.destination == Destination.CAM and request.words]
        loads: list[Load] = []
        for lane in rng.sample(range(LANES), rng.randint(LANES // 2, LANES)):
            index = rng.randint(0, _TARGETS)
            if snoopy and rng.random() < 0.9:
                request = rng.choice(snoopy)
                index = request.base + rng.randrange(min(request.words, 300))
            if loads and rng.random() < 0.1:
                index = loads[-1].index
            loads.append(Load(lane, index & _TARGETS, rng.getrandbits(WORD_BITS),
                              rng.random() < 0.9))
        return loads


async def mixed_traffic(bench: Bench, requests: int) -> Data:
    """Random requests of all kinds in batches, buffers and lanes that change between them."""
    data = Data(bench)
    traffic = ControllerDataTraffic(data)
    await data.whole(write=True)
    for _ in range(2 * _BUFFERS):
        await data.map(traffic.mapping())
    left = requests
    while left:
        batch = [traffic.data_request() for _ in range(min(left, BATCH))]
        left -= len(batch)
        await data.load(traffic.loads(batch))
        await data.run(batch)
        await data.lanes()
        await data.map(traffic.mapping())
    await data.whole(write=False)
    kinds = [f"{way} {kind}" for way in ("read", "write") for kind in ("tile", "indexed", "snoopy")]
    for what in (*kinds, "hits", *(f"refused {number}" for number in (0, 1, 2, 4, 5, 6))):
        assert data.counts[what] > requests // 1000, (what, data.counts)
    assert data.counts["delivered"] > _WINDOW
    return data


@testbench
async def random_requests(bench: Bench) -> None:
    """Thousands of requests of every kind."""
    await mixed_traffic(bench, _REQUESTS)


@testbench
async def a_hundred_thousand_requests(bench: Bench) -> None:
    """Tiles, indexed and snoopy requests: every word is where it belongs."""
    await mixed_traffic(bench, _MANY_REQUESTS)
