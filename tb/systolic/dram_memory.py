"""Testbench of the accelerator's memory in a DRAM: what is read, and when.

What is read must be what was written. Of each transfer, each beat moves when the `Memory` that the
bounds promise says, or before; and the last one by the transfer's own bound, which probes count.
"""

import functools

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.request import BURST_BYTES, BURST_WORDS, WORD_BYTES, Refusal
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.dram.worst_case import worst_issue_delay
from cyclebound.golden.systolic.dram_memory import (
    behind_dram,
    dram_transfer,
    dram_transfer_refreshed,
)
from cyclebound.tb.bench import Bench, testbench

_WORDS = 1 << 15  # of the buffer
_OTHERS = ((0, 0), (1, 0), (4, 1), (16, 1))  # bursts and direction of the other client's tiles


@functools.cache
def _promise(part: str, size: int, bursts: int, slots: int, other_bursts: int, other_write: int):
    others = [tile_issue_delay(part=part, bursts=other_bursts, write=other_write)
              ] if other_bursts else []
    return behind_dram(part, beat_bytes=size, clocks=1, bursts=bursts, slots=slots, others=others)


class DramMemoryTester:
    """The memory, its content as written so far, and the other client."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.shape = {name: bench.parameters[name] for name in ("part", "size", "bursts", "slots")}
        self.part = part_named(self.shape["part"])
        self.size: int = self.shape["size"]
        self.tile = self.shape["bursts"] * BURST_BYTES // self.size
        self.beats = _WORDS * WORD_BYTES // self.size
        self.content: dict[int, int] = {}
        self.base = 0
        i, o = bench.inputs, bench.outputs
        self._take, self._offer = i["read.ready"].mask, i["write.valid"].mask
        self._data, self._shown = i["write.payload"], o["read.payload"]
        self._comes, self._goes = o["read.valid"].mask, o["write.ready"].mask
        self._ready, self._mapped = o["requests.ready"].mask, o["mapped"].mask
        self._late, self._idle = o["late"].mask, o["idle"].mask

    async def begin(self, *, other_bursts: int = 0, other_write: int = 0, burst: int = 0,
                    word: int = 0, words: int = _WORDS) -> None:
        """Reset, and map the buffer from a word of ``burst`` on; the other client begins to ask."""
        bench, self.base, self.content = self.bench, 0, {}
        await bench.reset()
        mapping = {"mapping.valid": 1, "mapping.payload.valid": 1, "mapping.payload.x": words,
                   "mapping.payload.address": burst * BURST_WORDS + word, "mapping.payload.y": 1}
        maps, ready = bench.inputs.pack(mapping), bench.outputs["mapping.ready"].mask
        while not await bench.step(maps) & ready:
            pass
        while not await bench.step() & self._mapped:
            pass
        await bench.wait(20)  # the other client's mapping
        self.other = {"other_bursts": other_bursts, "other_write": other_write}
        if other_bursts:
            first = worst_issue_delay(part=self.part, bursts=other_bursts, write=other_write)[1]
            self.base = bench.inputs.pack({
                "asks": 1, "other_words": BURST_WORDS * other_bursts, "other_write": other_write,
                "other_first": BURST_WORDS * first})
        self.begun = bench.cycle

    def declare(self, count: int, beat: int, write: int, *, refreshed: bool) -> int:
        """Of the next transfer; its bound. ``refreshed``: refreshes may fall due."""
        parameters = {"count": count, "first": beat % self.tile, "write": write, **self.other}
        what, other = ("refreshed", "transfer") if refreshed else ("transfer", "refreshed")
        self.bench.undeclare(other)
        self.bench.declare(what, **parameters)
        bound = dram_transfer_refreshed if refreshed else dram_transfer
        return bound(**parameters, **self.shape)

    async def transfer(self, count: int, beat: int, write: int, *, chance: float = 1.0) -> int:
        """A load or a store of random beats; the cycles that it took, from its request on.

        ``chance`` is that of a cycle in which the accelerator takes or offers a beat; below 1, no
        promise is checked. A beat that was never written is not compared.
        """
        bench, rng = self.bench, self.bench.rng
        word = self.base | bench.inputs.pack({
            "requests.valid": 1, "requests.payload.write": write, "requests.payload.count": count,
            "requests.payload.address": beat})
        while not await bench.step(word) & self._ready:
            pass
        began = bench.cycle - 1
        values = [rng.getrandbits(8 * self.size) for _ in range(count)] if write else []
        promise = _promise(**self.shape, **self.other)
        moved, offered, most = 0, False, began + 200_000
        while moved < count:
            assert bench.cycle < most, f"beat {moved} of {count} has not come"
            goes = chance == 1 or offered or rng.random() < chance
            word = self.base | ((self._offer | self._data.to(values[moved]) if write
                                 else self._take) if goes else 0)
            seen = await bench.step(word)
            offered = bool(write and goes and not seen & self._goes)
            if not goes or not seen & (self._goes if write else self._comes):
                continue
            at, now = beat + moved, bench.cycle - 1
            if chance == 1:
                last = began + promise.delay + moved * promise.interval
                assert now <= last, f"beat {moved} of {count} moves {now - last} cycles too late"
            if write:
                self.content[at] = values[moved]
            elif at in self.content:
                bench.compare(self._shown.of(seen), self.content[at], f"beat {at}")
            moved += 1
        assert not seen & self._late, "a refresh was late"
        return bench.cycle - began

    async def pause(self, cycles: int) -> None:
        """Cycles without a transfer."""
        self.bench.drive(self.base)
        if cycles:
            await self.bench.wait(cycles)


def _random(tester: DramMemoryTester, most: int) -> tuple[int, int, int]:
    """A transfer: its beats, the first of them, its direction; near ends of tiles often."""
    rng, tile = tester.bench.rng, tester.tile
    count = rng.choice([rng.randint(1, 4), rng.randint(1, most),
                        rng.randint(0, 2) * tile + rng.randint(1, 3)])
    beat = rng.choice([0, tile - 1, rng.randrange(tester.beats)])
    return count, min(beat, tester.beats - count), rng.getrandbits(1)


@testbench
async def one_tile(bench: Bench) -> None:
    """Tiles that begin where they take longest, with no other client: to the cycle."""
    tester = DramMemoryTester(bench)
    bursts = bench.parameters["bursts"]
    per_burst = tester.tile // bursts
    for write in (1, 0):
        for touched in sorted({1, 2, bursts // 2, bursts}):
            burst = worst_issue_delay(part=tester.part, bursts=touched, write=write)[1]
            await tester.begin(burst=burst)
            for count in sorted({(touched - 1) * per_burst + 1, touched * per_burst}):
                bound = tester.declare(count, 0, write, refreshed=False)
                took = await tester.transfer(count, 0, write)
                bench.compare(took, bound, f"cycles of {count} beats, write {write}")


@testbench
async def beside_another(bench: Bench) -> None:
    """Transfers of all sizes at every phase of the other client, before a refresh falls due."""
    tester = DramMemoryTester(bench)
    for other_bursts, other_write in _OTHERS:
        for _ in range(6):
            await tester.begin(other_bursts=other_bursts, other_write=other_write,
                               burst=bench.rng.randrange(1024))
            while True:
                count, beat, write = _random(tester, 2 * tester.tile)
                bound = tester.declare(count, beat, write, refreshed=False)
                pause = bench.rng.randint(0, 200)
                if bench.cycle - tester.begun + pause + bound > tester.part.nREFI - 400:
                    break
                await tester.pause(pause)
                await tester.transfer(count, beat, write)


@testbench
async def refreshes(bench: Bench) -> None:
    """Long transfers, without a pause and with pauses, over many refreshes."""
    tester = DramMemoryTester(bench)
    for other_bursts, other_write in _OTHERS:
        await tester.begin(other_bursts=other_bursts, other_write=other_write,
                           burst=bench.rng.randrange(1024))
        for number in range(30):
            count, beat, write = _random(tester, 3 * tester.tile if number % 10 else 6000)
            await tester.pause(bench.rng.choice([0, 0, bench.rng.randint(1, 300)]))
            tester.declare(count, beat, write, refreshed=True)
            await tester.transfer(count, beat, write)


@testbench
async def a_slow_accelerator(bench: Bench) -> None:
    """It takes and offers beats when it likes: the same words."""
    tester = DramMemoryTester(bench)
    await tester.begin(other_bursts=4, other_write=1)
    for chance in (0.5, 0.1):
        for _ in range(12):
            count, beat, write = _random(tester, 2 * tester.tile)
            await tester.transfer(count, beat, 1, chance=chance)
            await tester.transfer(count, beat, write, chance=chance)


@testbench
async def beyond_the_buffer(bench: Bench) -> None:
    """A transfer that ends beyond it stops with a fault, and so does all that follows; a tile
    before its end has moved. The other client goes on."""
    tester = DramMemoryTester(bench)
    fault, served = bench.outputs["fault"], bench.outputs["served"]
    for write in (0, 1):
        await tester.begin(other_bursts=4, other_write=1, words=2 * tester.tile * tester.size // 4)
        await tester.transfer(2 * tester.tile, 0, 1)
        word = tester.base | bench.inputs.pack({
            "requests.valid": 1, "requests.payload.write": write,
            "requests.payload.address": tester.tile, "requests.payload.count": tester.tile + 1,
            "read.ready": 1, "write.valid": 1})
        bench.drive(word)
        before = await bench.wait(3_000)
        bench.compare(fault.of(before), Refusal.WIDTH, "the fault")
        seen = await bench.wait(3_000)
        bench.compare(fault.of(seen), Refusal.WIDTH, "the fault later")
        bench.compare(bool(seen & (tester._idle | tester._ready)), False, "it goes on")
        assert served.of(seen) > served.of(before) + 10, "the other client stopped"


@testbench
async def a_buffer_that_begins_within_a_burst(bench: Bench) -> None:
    """It is not mapped: what lies beside its words would be written."""
    tester = DramMemoryTester(bench)
    for word in (1, 4, 15):
        await tester.begin(word=word)
        bench.drive(bench.inputs.pack({
            "requests.valid": 1, "requests.payload.count": 1, "read.ready": 1}))
        seen = await bench.wait(100)
        bench.compare(bench.outputs["fault"].of(seen), Refusal.UNMAPPED, "the fault")
