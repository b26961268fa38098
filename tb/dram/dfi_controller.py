"""Testbench of the DFI controller: power-up, then requests of every kind, against a device.

On DFI there is a PHY with a DDR3 device, which object to whatever DFI, the power-up sequence or the
data sheet forbid. Words are compared, not cycles: what a read delivers before its completion, and
what the device holds at the end.
"""

import functools
from collections import Counter, deque
from dataclasses import dataclass, field

from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.dfi import DfiPhy, dfi_part
from cyclebound.golden.dram.dfi_adapter import DfiDevice
from cyclebound.golden.dram.dfi_controller import DfiControllerModel
from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BURST_WORDS,
    COUNT_BITS,
    TARGET_BITS,
    WORD_BITS,
    WORD_BYTES,
    Refusal,
)
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dram.dfi_adapter import Phases

_FETCH = 2         # cycles in which the chip answers a fetch
_SETTLED = 60      # cycles without a request after which nothing is under way
_MOST = (1 << COUNT_BITS) - 1
_INIT = 7          # cycles that the PHY takes for itself


def _content(address: int) -> int:
    return (address * 0x9E37_79B1 ^ address >> 7) & (1 << WORD_BITS) - 1


@dataclass
class Wanted:
    """A request, with its indexes, and what it delivers; ``kind`` says what it is to bounds."""

    request: BufferRequest
    indexes: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    seed: int = 0
    kind: dict[str, int] | None = None
    delivered: dict[int, int] = field(default_factory=dict)


class DfiControllerTester:
    """The controller between random requests and its PHY."""

    def __init__(self, bench: Bench) -> None:
        values, rng = bench.parameters, bench.rng
        self.bench, self.ratio = bench, values["ratio"]
        part = part_named(values["part"])
        phy = DfiPhy(*(values[name] for name in ("wrlat", "wrdata", "rddata_en", "rdlat")))
        self.seen = dfi_part(part, phy, ratio=self.ratio)
        self.device = DfiDevice(part, phy, ratio=self.ratio, rng=rng, hurry=values.get("hurry", 1))
        self.phases = Phases(bench.inputs, bench.outputs, self.ratio)
        self.model = DfiControllerModel(_content)
        self.mappings: deque[Mapping] = deque()
        self.requests: deque[Wanted] = deque()
        self.counts: Counter[str] = Counter()
        self.ready_for = 0    # cycles since power-up
        self.quiet = 0        # cycles since anything was under way
        self.saturated = False
        self._cycle = 0
        self._accepted: deque[Wanted] = deque()  # and not completed
        self._running: deque[Wanted] = deque()   # and not closed: completions are held back
        self._opened: Wanted | None = None
        self._elements: deque[tuple[int, int, int]] = deque()
        self._answers: deque[tuple[list[int], Wanted] | None] = deque([None] * _FETCH)
        self._filled: set[int] = set()

    # -- one cycle -----------------------------------------------------------------------------

    async def cycle(self) -> None:
        """Offer, let PHY and chip answer, and look at what comes."""
        bench, outputs, rng = self.bench, self.bench.outputs, self.bench.rng
        values = {"dfi_init_complete": int(self._cycle >= _INIT)}
        offered = 0
        if self.mappings:
            offered |= bench.inputs.offer("mapping", self.mappings[0])
        if self.requests:
            offered |= bench.inputs.offer("request", self.requests[0].request)
        if self._elements:
            index, target, end = self._elements[0]
            values |= {"indexes.valid": 1, "indexes.payload.index": index,
                       "indexes.payload.target": target, "indexes.payload.end": end}
        answer = self._answers.popleft()
        words = [rng.getrandbits(WORD_BITS) for _ in range(BEAT_WORDS)]
        if answer is not None:
            targets, wanted = answer
            words = [_stored(wanted.seed, target) for target in targets]
        values["store.words"] = sum(word << WORD_BITS * number
                                    for number, word in enumerate(words))
        values["store.enable"] = (1 << BEAT_WORDS) - 1
        returned = self.device.words()
        seen = await bench.step(bench.inputs.pack(values) | offered
                                | self.phases.drive(returned))
        self.device.step(self.phases.seen(seen), returned,
                         init_complete=bool(values["dfi_init_complete"]))
        assert not outputs["starved"].of(seen)
        assert not outputs["late"].of(seen)
        self._look(seen, values)
        self._cycle += 1
        self.ready_for += outputs["ready"].of(seen)

    def _look(self, seen: int, values: dict[str, int]) -> None:
        outputs = self.bench.outputs
        if outputs["deliver.valid"].of(seen):
            self._deliver(seen)
        fetched = None
        if outputs["fetch.valid"].of(seen):
            targets = outputs["fetch.payload.targets"].of(seen)
            writing = next(tile for tile in self._running if tile.request.write)
            fetched = [targets >> TARGET_BITS * word & (1 << TARGET_BITS) - 1
                       for word in range(BEAT_WORDS)], writing
        self._answers.append(fetched)
        op = outputs["command.op"].of(seen)
        if op == Command.REF:
            self.counts["refreshes"] += 1
        if op == Command.ACT and self._opened is None:
            self._open(self._running[0])
        if outputs["closed"].of(seen):
            self._opened = None
            self._running.popleft()
        if outputs["completion.valid"].of(seen):
            self._complete(outputs["completion.payload"].of(seen))
        if values.get("mapping.valid") and outputs["mapping.ready"].of(seen):
            mapping = self.mappings.popleft()
            self.model.buffers[mapping.buffer] = mapping
        if values.get("indexes.valid") and outputs["indexes.ready"].of(seen):
            self._elements.popleft()
        if values.get("request.valid") and outputs["request.ready"].of(seen):
            self._take(self.requests.popleft())
        busy = self._accepted or self.requests or self.mappings
        self.quiet = 0 if busy else self.quiet + 1

    def _take(self, wanted: Wanted) -> None:
        self._accepted.append(wanted)
        self._running.append(wanted)
        if wanted.request.indexed:
            self._elements.extend((index, target, 0) for index, target in
                                  zip(wanted.indexes, wanted.targets, strict=True))
            self._elements.append((0, 0, 1))

    def _open(self, wanted: Wanted) -> None:
        """A request's first command: what it is, to the bound on issue delays."""
        self._opened = wanted
        if self.saturated and wanted.kind is not None and (self.requests
                                                           or len(self._running) > 1):
            self.bench.declare("tile", **wanted.kind)
        else:
            self.bench.undeclare("tile")

    def _deliver(self, seen: int) -> None:
        outputs = self.bench.outputs
        wanted = next(tile for tile in self._accepted if not tile.request.write)
        enable = outputs["deliver.payload.enable"].of(seen)
        targets = outputs["deliver.payload.targets"].of(seen)
        words = outputs["deliver.payload.words"].of(seen)
        for number in range(BEAT_WORDS):
            if enable >> number & 1:
                target = targets >> TARGET_BITS * number & (1 << TARGET_BITS) - 1
                word = words >> WORD_BITS * number & (1 << WORD_BITS) - 1
                wanted.delivered[target] = word
                self.counts["delivered"] += 1

    def _complete(self, verdict: int) -> None:
        wanted = self._accepted.popleft()
        refusal, expected = self.model.carry_out(
            wanted.request, wanted.indexes, wanted.targets,
            store=lambda target: _stored(wanted.seed, target))
        self.bench.compare(verdict, refusal, f"the verdict of {wanted.request}")
        self.bench.compare(wanted.delivered, expected, f"what {wanted.request} delivered")
        self.counts[f"{'write' if wanted.request.write else 'read'} {refusal.name}"] += 1

    # -- requests ------------------------------------------------------------------------------

    def fill(self, first: int, last: int) -> None:
        """Give the device what the model has at first, in these words."""
        for number in range(first // BURST_WORDS, last // BURST_WORDS + 1):
            if number not in self._filled:
                self._filled.add(number)
                place = place_of(self.seen, number)
                words = range(BURST_WORDS * number, BURST_WORDS * (number + 1))
                self.device.set_burst(place.bank, place.row, place.column // 8, b"".join(
                    _content(address).to_bytes(WORD_BYTES, "little") for address in words))

    async def drain(self) -> None:
        """Run cycles until all requests are completed."""
        self.quiet = 0
        while self.quiet < _SETTLED:
            await self.cycle()
        assert not self._elements

    async def undisturbed(self) -> None:
        """Run cycles until no refresh is owed, nor falls due soon."""
        interval, self.quiet = self.seen.nREFI, 0
        while (self.quiet < self.seen.nRFC + _SETTLED
               or self.ready_for % interval > interval - _SETTLED
               or self.ready_for % interval < self.seen.nRFC + _SETTLED):
            await self.cycle()

    def finish(self) -> None:
        """All that the device holds is what the model says."""
        self.device.finish()
        for number in sorted({address // BURST_WORDS for address in self.model.memory}):
            place = place_of(self.seen, number)
            held = self.device.burst(place.bank, place.row, place.column // 8)
            words = range(BURST_WORDS * number, BURST_WORDS * (number + 1))
            self.bench.compare(held, b"".join(
                self.model.word(address).to_bytes(WORD_BYTES, "little") for address in words),
                f"burst {number}")


def _stored(seed: int, target: int) -> int:
    return (target * 0x85EB_CA6B + seed * 0x1234_5677) & (1 << WORD_BITS) - 1


def _tile(bench: Bench, address: int, words: int, write: bool) -> Wanted:
    """A 1D tile of buffer 0, which begins with the device."""
    bursts = (address + words - 1) // BURST_WORDS - address // BURST_WORDS + 1
    return Wanted(BufferRequest(0, address, 0, words, 1, False, write),
                  seed=bench.rng.getrandbits(20),
                  kind={"bursts": bursts, "write": int(write)})


async def _powered(bench: Bench) -> DfiControllerTester:
    """After power-up, and a request that waited for it: its commands come as soon as they may."""
    tester = DfiControllerTester(bench)
    tester.mappings.append(Mapping(0, 0, _MOST, 1))
    tester.fill(0, BURST_WORDS)
    tester.requests.append(_tile(bench, 0, BURST_WORDS, False))
    while not tester.ready_for:
        assert tester.mappings  # nothing is taken before
        await tester.cycle()
    await tester.drain()
    return tester


@testbench
async def tiles(bench: Bench) -> None:
    """1D tiles around the ends of banks: one by one, then each waiting for the one before."""
    for what in ("tile", "completion"):
        bench.undeclare(what)
    tester = await _powered(bench)
    part, rng = tester.seen, bench.rng
    ends = [BURST_WORDS * 2 * part.bursts_per_row, BURST_WORDS * part.bursts_per_sweep]
    chosen = [(end - BURST_WORDS * before + offset, BURST_WORDS * bursts - offset, write)
              for write in (False, True) for end in ends for bursts in (1, 2, 3, 5, 8, 16)
              for before in (0, 1, 2, 4) if before <= bursts for offset in (0, 15)]
    for end in ends:
        tester.fill(end - 8 * BURST_WORDS, end + 20 * BURST_WORDS)
    for address, words, write in chosen[::3]:
        wanted = _tile(bench, address, words, write)
        await tester.undisturbed()
        assert wanted.kind is not None  # the buffer is mapped, and large enough
        bench.declare("completion", **wanted.kind)
        tester.requests.append(wanted)
        await tester.drain()
    bench.undeclare("completion")
    tester.saturated = True
    rng.shuffle(chosen)
    tester.requests.extend(_tile(bench, *tile) for tile in chosen)
    await tester.drain()
    tester.finish()
    assert tester.counts["read NONE"] > 20
    assert tester.counts["write NONE"] > 20
    assert tester.counts["refreshes"] > 0


@testbench
async def requests(bench: Bench) -> None:
    """Tiles of lines, indexes, and requests that are refused, in any order."""
    for what in ("tile", "completion"):
        bench.undeclare(what)
    tester = await _powered(bench)
    rng = bench.rng
    tester.mappings.extend((Mapping(1, 12_345, 300, 20), Mapping(2, 1 << 20, 4096, 8)))
    await tester.drain()
    tester.fill(12_345, 12_345 + 300 * 20)
    tester.fill(1 << 20, (1 << 20) + 4096 * 8)
    for number in range(120):
        buffer, x_most, y_most = rng.choice(((1, 300, 20), (2, 4096, 8)))
        write = rng.random() < 0.5
        request = functools.partial(BufferRequest, buffer, write=write, base=0, pitch=512)
        if rng.random() < 0.3:
            count = rng.randint(0, 20)
            indexes = tuple(rng.sample(range(x_most * y_most + x_most * y_most // 20), count))
            wanted = Wanted(request(indexed=True), indexes,
                            tuple(range(count)), seed=number)
        else:
            x, y = rng.randrange(x_most), rng.randrange(y_most)
            words = rng.randint(1, min(200, x_most - x + 1))
            wanted = Wanted(request(x, y, words, rng.randint(1, 4), False), seed=number)
        tester.requests.append(wanted)
        if rng.random() < 0.4:
            await tester.drain()
    await tester.drain()
    tester.finish()
    for what in ("read NONE", "write NONE"):
        assert tester.counts[what] > 20, tester.counts
    assert sum(tester.counts[f"{way} {refusal.name}"] for way in ("read", "write")
               for refusal in (Refusal.WIDTH, Refusal.HEIGHT, Refusal.INDEX)) > 5, tester.counts
