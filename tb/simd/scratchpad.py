"""Testbench of a scratchpad: tiles of every shape, and beats of DRAM."""

import itertools
from collections.abc import Iterable, Iterator

from cyclebound.golden.dram.request import BEAT_WORDS
from cyclebound.golden.simd.machine import SCRATCHPAD_WORDS
from cyclebound.golden.simd.scratchpad import ScratchpadTile, bus_lines
from cyclebound.tb.bench import Bench, interrupted, testbench

_WORD = (1 << 32) - 1
_TARGETS = 1 << 20


class ScratchpadTester:
    """The scratchpad beside its words.

    Attributes
    ----------
    words : dict of int to int
        Content by address, of words that were written.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench, self.bus = bench, bench.parameters["bus"]
        self.words: dict[int, int] = {}
        self._idle = {"deliver.valid": 0, "ask.valid": 0, "done": 0}

    async def _cycle(self, given: dict[str, int], expected: dict[str, int]) -> None:
        o = self.bench.outputs
        expected = {**self._idle, **expected}
        seen = await self.bench.step(self.bench.inputs.pack(given))
        self.bench.check(seen, o.pack(expected), sum(o[name].mask for name in expected))

    async def fill(self, address: int, count: int) -> None:
        """Random words from DRAM, four in a cycle."""
        rng = self.bench.rng
        for first in range(address, min(address + count, SCRATCHPAD_WORDS), BEAT_WORDS):
            enable = rng.getrandbits(BEAT_WORDS) if rng.random() < 0.2 else (1 << BEAT_WORDS) - 1
            given = {"store.valid": 1, "store.payload.enable": enable}
            for word in range(BEAT_WORDS):
                value, place = rng.getrandbits(32), (first + word) % SCRATCHPAD_WORDS
                given |= {f"store.payload.targets.{word}": place,
                          f"store.payload.words.{word}": value}
                if enable >> word & 1:
                    self.words[place] = value
            await self._cycle(given, {})
        await self._cycle({}, {})

    async def drain(self, address: int, count: int) -> None:
        """Words to DRAM: beats in a row, each answered two cycles later."""
        wanted: list[list[int]] = []
        for first in range(address, address + count, BEAT_WORDS):
            places = [place % SCRATCHPAD_WORDS for place in range(first, first + BEAT_WORDS)]
            given = {"fetch.valid": 1, "fetch.payload.enable": (1 << BEAT_WORDS) - 1,
                     **{f"fetch.payload.targets.{word}": place
                        for word, place in enumerate(places)}}
            await self._cycle(given, self._fetched(wanted))
            wanted.append(places)
        for _ in range(2):
            await self._cycle({}, self._fetched(wanted))
            wanted.append([])

    def _fetched(self, wanted: list[list[int]]) -> dict[str, int]:
        if len(wanted) < 2:
            return {}
        return {f"fetched.{word}": self.words[place]
                for word, place in enumerate(wanted[-2]) if place in self.words}

    async def transfer(self, tile: ScratchpadTile, *, wait: int = 0) -> None:
        """One tile, word by word; it begins ``wait`` cycles after it could."""
        rng, bus = self.bench.rng, self.bus
        given = {f"tile.{name}": int(value) for name, value in vars(tile).items()}
        await self._cycle({**given, "prepare": 1}, {})
        for _ in range(wait):
            await self._cycle(given, {})
        steps = bus_lines(tile, bus)
        answer: dict[str, int] = {}
        deliver: dict[str, int] = {}
        for number in range(len(steps) + 1):
            more = {"go": number == 0, **answer}
            expected = {**deliver, "done": number == len(steps)}
            answer, deliver = {}, {}
            if number < len(steps):
                step = steps[number]
                enable = sum(1 << lane for lane, _, _ in step)
                targets = {f"payload.targets.{lane}": target % _TARGETS
                           for lane, _, target in step}
                if tile.write:
                    allowed = rng.getrandbits(bus)
                    answer["answer.enable"] = allowed
                    for lane, address, _ in step:
                        value = rng.getrandbits(32)
                        answer[f"answer.words.{lane}"] = value
                        if allowed >> lane & 1:
                            self.words[address] = value
                    expected |= {"ask.valid": 1, "ask.payload.enable": enable,
                                 **{f"ask.{name}": value for name, value in targets.items()}}
                else:
                    deliver = {"deliver.valid": 1, "deliver.payload.enable": enable,
                               **{f"deliver.{name}": value for name, value in targets.items()},
                               **{f"deliver.payload.words.{lane}": self.words[address]
                                  for lane, address, _ in step if address in self.words}}
            await self._cycle({**given, **more}, expected)
        await self._cycle({}, {})


def shapes(bench: Bench) -> Iterator[tuple[int, ...]]:
    """Words, gap and lines of every tile of the domain, and whether they restart."""
    yield from itertools.product(*(range(low, high + 1) for low, high in (
        bench.domain[name] for name in ("words", "gap", "count", "restart"))))


async def tiles(bench: Bench, shapes: Iterable[tuple[int, ...]], most: int) -> None:
    """Tiles of these shapes, in random directions, somewhere in the first ``most`` words."""
    tester, rng = ScratchpadTester(bench), bench.rng
    await tester.fill(0, most)
    bench.declare("transfer")
    bench.declare("tile")
    for shape in shapes:
        words, gap, count, restart = shape
        size = size_of(shape)
        tile = ScratchpadTile(rng.randrange(most - size) if size < most else 0, words, words + gap,
                              count, rng.randrange(_TARGETS), rng.randrange(_TARGETS),
                              rng.random() < 0.5, bool(restart))
        await tester.transfer(tile, wait=rng.choice((0, 0, 3)))
    await tester.drain(0, most)


def size_of(shape: tuple[int, ...]) -> int:
    """Words from a tile's first to its last."""
    words, gap, count, _ = shape
    return (count - 1) * (words + gap) + words


@testbench
async def every_shape(bench: Bench) -> None:
    """Each once, in a random direction from a random word."""
    await tiles(bench, shapes(bench), 4096)


@testbench
async def small_tiles(bench: Bench) -> None:
    """Tiles of any shape that the first 64 words hold, as soon as these are written."""
    small = [shape for shape in shapes(bench) if size_of(shape) <= 64]
    await tiles(bench, bench.rng.choices(small, k=40), 64)


@testbench
async def the_ends_of_the_memory(bench: Bench) -> None:
    """One word, all words, the last line; lines as far apart as they can be; a tile of nothing."""
    tester, most = ScratchpadTester(bench), SCRATCHPAD_WORDS
    await tester.fill(0, most)
    bench.declare("transfer")
    bench.declare("tile")
    for tile in (ScratchpadTile(0, most, most, 1), ScratchpadTile(most - 1, 1, 1, 1),
                 ScratchpadTile(0, 1, most - 1, 2), ScratchpadTile(3, 1, 1, most - 3, write=True),
                 ScratchpadTile(0, 1, 2, most // 2, 5, 1), ScratchpadTile(0, most, most, 1),
                 ScratchpadTile(1, 33, 34, 400, 0, 64), ScratchpadTile(1, 3, 3, 1, write=True),
                 ScratchpadTile(2, 31, 32, 400, restart=True)):
        await tester.transfer(tile)
    for name, empty in (("no words", {"tile.count": 4}), ("no lines", {"tile.words": 4})):
        bench.dut._log.info("a tile of %s", name)
        given = {"tile.period": 7, "tile.write": bench.rng.getrandbits(1), **empty}
        await tester._cycle({**given, "prepare": 1}, {})
        await tester._cycle({**given, "go": 1}, {"done": 1})
        await tester._cycle({}, {})
    await tester.transfer(ScratchpadTile(0, most, most, 1))


reset_in_mid_run = interrupted(small_tiles, last=300)
