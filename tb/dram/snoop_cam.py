"""Testbench of the CAM array: every answer compared, in every cycle."""

from cyclebound.golden.dram.request import BEAT_WORDS, WORD_BITS
from cyclebound.golden.dram.snoop_cam import Load, SnoopCamModel
from cyclebound.tb.bench import Bench, interrupted, testbench

_FULL = (1 << BEAT_WORDS) - 1


class SnoopCamTester:
    """The array and its model; each method is one cycle with one operation."""

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        self.bench = bench
        self.lanes, self.width, self.latency = p["lanes"], p["index_width"], p["latency"]
        self.model = SnoopCamModel(self.lanes, self.width, self.latency)
        self.counts = {"store": 0, "words": 0, "answer": 0, "hits": 0}
        bench.declare("store", known=0)  # what answers is counted from here on
        i, o = bench.inputs, bench.outputs
        self._load = [i[f"load.{name}"] for name in (
            "valid", "payload.lane", "payload.index", "payload.data", "payload.armed")]
        self._snoop = [i[f"snoop.{name}"] for name in (
            "valid", "payload.enable", "payload.index", "payload.words")]
        self._fetch = [i[f"fetch.{name}"] for name in (
            "valid", "payload.enable", "payload.index")]
        self._read, self._clear = [i["read.valid"], i["read.payload"]], i["clear"]
        self._enable, self._words = o["store.enable"], o["store.words"]
        self._valid, self._data, self._hit = (o[f"answer.{name}"] for name in (
            "valid", "payload.data", "payload.hit"))
        self._word = [((1 << WORD_BITS) - 1) << self._words.offset + WORD_BITS * number
                      for number in range(BEAT_WORDS)]

    async def cycle(self, *, load: Load | None = None, clear: bool = False,
                    snoop: tuple[int, int, tuple[int, ...]] | None = None,
                    fetch: tuple[int, int] | None = None, read: int | None = None) -> None:
        """One cycle, compared; idle payloads are random."""
        bench, rng = self.bench, self.bench.rng
        modulus = 1 << self.width
        word = self._clear.to(clear)
        for fields, values in (
                (self._load, load and (1, load.lane, load.index % modulus, load.data, load.armed)),
                (self._snoop, snoop and (1, snoop[0], snoop[1] % modulus, sum(
                    value << WORD_BITS * number for number, value in enumerate(snoop[2])))),
                (self._fetch, fetch and (1, fetch[0], fetch[1] % modulus)),
                (self._read, None if read is None else (1, read))):
            if values:
                for field, value in zip(fields, values, strict=True):
                    word |= field.to(value)
            else:
                for field in fields[1:]:
                    word |= field.to(rng.getrandbits(field.width))
        matched = fetch is not None and self.model.knows(fetch[1], fetch[0])
        bench.declare("store", known=int(matched))
        seen = await bench.step(word)
        store, answer = self.model.step(load=load, clear=clear, snoop=snoop, fetch=fetch, read=read)
        expected, care = 0, self._enable.mask | self._valid.mask
        if store is not None:
            expected |= self._enable.to(store.enable)
            for number, content in enumerate(store.words):
                if store.enable >> number & 1:
                    expected |= content << self._words.offset + WORD_BITS * number
                    care |= self._word[number]
                    self.counts["words"] += 1
        if answer is not None:
            expected |= self._valid.mask | self._data.to(answer[0]) | self._hit.to(answer[1])
            care |= self._data.mask | self._hit.mask
        bench.check(seen, expected, care)
        self.counts["store"] += self._enable.of(seen) != 0
        self.counts["answer"] += self._valid.of(seen)
        self.counts["hits"] += self._valid.of(seen) and self._hit.of(seen)

    def words(self) -> tuple[int, ...]:
        """Random words of a beat."""
        return tuple(self.bench.rng.getrandbits(WORD_BITS) for _ in range(BEAT_WORDS))

    async def fill(self, indexes: list[int], data: list[int] | None = None,
                   armed: list[bool] | None = None) -> None:
        """Load all lanes; with no operation in some cycles between."""
        for lane in range(self.lanes):
            while self.bench.rng.random() < 0.1:
                await self.cycle()
            await self.cycle(load=Load(lane, indexes[lane], data[lane] if data else 0,
                                       armed[lane] if armed else True))

    async def drain(self) -> None:
        for _ in range(self.latency + 1):
            await self.cycle()


def _modulo(value: int, width: int) -> int:
    return value % (1 << width)


@testbench
async def gather(bench: Bench) -> None:
    """A whole buffer passes; each lane has the element of its index then, wherever the buffer lies.

    The buffer begins at any place of a beat: the words before it are disabled, and have indexes
    before 0.
    """
    tester, rng = SnoopCamTester(bench), bench.rng
    for skew in range(BEAT_WORDS):
        size = min(3 * tester.lanes // 2, (1 << tester.width) - 8)
        indexes = [rng.randrange(size + 2) for _ in range(tester.lanes)]  # some lie beyond
        await tester.fill(indexes, [0] * tester.lanes)
        buffer = [rng.getrandbits(WORD_BITS) for _ in range(size)]
        for first in range(-skew, size, BEAT_WORDS):
            inside = [0 <= first + word < size for word in range(BEAT_WORDS)]
            words = tuple(buffer[first + word] if inside[word] else rng.getrandbits(WORD_BITS)
                          for word in range(BEAT_WORDS))
            enable = sum(1 << word for word in range(BEAT_WORDS) if inside[word])
            await tester.cycle(snoop=(enable, _modulo(first, tester.width), words))
            while rng.random() < 0.1:
                await tester.cycle()
        before = tester.counts["hits"]
        for lane in range(tester.lanes):
            await tester.cycle(read=lane)
        await tester.drain()
        assert tester.counts["hits"] - before == sum(index < size for index in indexes)


@testbench
async def scatter(bench: Bench) -> None:
    """A whole buffer is fetched; each element comes from the lowest lane with its index."""
    tester, rng = SnoopCamTester(bench), bench.rng
    for skew in range(BEAT_WORDS):
        size = min(tester.lanes, (1 << tester.width) - 8)
        indexes = [rng.randrange(size) for _ in range(tester.lanes)]  # hits many indexes twice
        data = [rng.getrandbits(WORD_BITS) for _ in range(tester.lanes)]
        armed = [rng.random() < 0.9 for _ in range(tester.lanes)]
        await tester.fill(indexes, data, armed)
        before = tester.counts["words"]
        for first in range(-skew, size, BEAT_WORDS):
            enable = sum(1 << word for word in range(BEAT_WORDS) if 0 <= first + word < size)
            await tester.cycle(fetch=(enable, _modulo(first, tester.width)))
        await tester.drain()
        given = {index for index, on in zip(indexes, armed, strict=True) if on}
        assert tester.counts["words"] - before == len(given)


@testbench
async def everything_at_random(bench: Bench) -> None:
    """All operations, back to back and with gaps, over few indexes around 0."""
    tester, rng = SnoopCamTester(bench), bench.rng
    span = min(2 * tester.lanes, (1 << tester.width) // 2)

    def index() -> int:
        return _modulo(rng.randrange(-BEAT_WORDS, span), tester.width)
    await tester.fill([index() for _ in range(tester.lanes)])
    target = 0
    for _ in range(3000):
        kind = rng.choice(("load", "load", "snoop", "snoop", "snoop", "fetch", "read", "read", ""))
        enable = rng.choice((_FULL, rng.getrandbits(BEAT_WORDS)))
        clear = rng.random() < 0.5 / tester.lanes
        if kind == "load":
            target = rng.randrange(tester.lanes)
            await tester.cycle(clear=clear, load=Load(target, index(), rng.getrandbits(WORD_BITS),
                                                      rng.random() < 0.9))
        elif kind == "snoop":
            await tester.cycle(clear=clear, snoop=(enable, index(), tester.words()))
        elif kind == "fetch":
            await tester.cycle(clear=clear, fetch=(enable, index()))
        elif kind == "read":
            lane = target if rng.random() < 0.3 else rng.randrange(tester.lanes)
            await tester.cycle(clear=clear, read=lane)
        else:
            await tester.cycle(clear=clear)
    await tester.drain()
    assert min(tester.counts.values()) > 10, tester.counts


@testbench
async def a_word_is_there_in_the_next_cycle(bench: Bench) -> None:
    """Load, snoop and question in neighbouring cycles; each word of a beat, each low index."""
    tester, rng = SnoopCamTester(bench), bench.rng
    await tester.fill([0] * tester.lanes, armed=[False] * tester.lanes)
    for low in range(BEAT_WORDS):
        for word in range(BEAT_WORDS):
            for lane in {0, tester.lanes // 2, tester.lanes - 1}:
                index = _modulo(4 * rng.randrange(1 << tester.width - 2) + low, tester.width)
                first = _modulo(index - word, tester.width)
                for question in ({"read": lane}, {"fetch": (_FULL, first)}):
                    data = rng.getrandbits(WORD_BITS)
                    await tester.cycle(clear=True, load=Load(lane, index, data))
                    await tester.cycle(**question)
                    await tester.cycle(snoop=(_FULL, first, tester.words()))
                    await tester.cycle(**question)
                    await tester.cycle(clear=True)
                    await tester.cycle(snoop=(_FULL, first, tester.words()))
                    await tester.cycle(**question)
    await tester.drain()
    assert min(tester.counts["hits"], tester.counts["words"]) > 0


@testbench
async def the_first_answer_with_a_word(bench: Bench) -> None:
    """A word passes, and its lane is asked for in the next cycle; others after that."""
    tester, rng = SnoopCamTester(bench), bench.rng
    await tester.fill([0] * tester.lanes, armed=[False] * tester.lanes)
    for lane in rng.sample(range(tester.lanes), min(tester.lanes, 32)):
        for word in range(BEAT_WORDS):
            index, words = rng.getrandbits(tester.width), tester.words()
            await tester.cycle(clear=True, load=Load(lane, index, rng.getrandbits(WORD_BITS)))
            await tester.cycle(read=lane)
            bench.declare("capture", passes=1, asked=1, word=words[word])
            await tester.cycle(snoop=(_FULL, _modulo(index - word, tester.width), words))
            bench.declare("capture", asked=1, word=words[word])
            await tester.cycle(read=lane)
            await tester.drain()
            bench.undeclare("capture")
            for other in rng.sample(range(tester.lanes), 2):
                await tester.cycle(read=other)
    await tester.drain()
    assert tester.counts["hits"] >= BEAT_WORDS * min(tester.lanes, 32)


reset_in_mid_run = interrupted(everything_at_random, last=300)
