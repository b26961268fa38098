"""Testbench of the stride sequencer: every output compared in every cycle."""

from collections.abc import Iterable

from cyclebound.golden.dram.pipeline_bounds import tile_bursts
from cyclebound.golden.dram.request import (
    BURST_WORDS,
    COUNT_BITS,
    TARGET_BITS,
    Burst,
    Destination,
    TileRequest,
)
from cyclebound.golden.dram.stride_sequencer import StrideSequencerModel
from cyclebound.tb.bench import Bench, interrupted, testbench


class StrideSequencerTester:
    """The sequencer and its model; `play` takes tiles through both."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.model = bench, StrideSequencerModel()
        o = bench.outputs
        self._control = o.pack({"tile.ready": 1, "busy": 1, "bursts.valid": 1})
        self._ready, self._busy = o["tile.ready"].mask, o["busy"].mask
        self._valid = o["bursts.valid"].mask
        self._targets = [o[f"bursts.payload.targets.{lane}"] for lane in range(BURST_WORDS)]
        self._targets_mask = sum(field.mask for field in self._targets)
        self._payload = o["bursts.payload"].mask
        self._kept: tuple[Burst | None, int, int] = (None, 0, 0)

    def _shown(self, burst: Burst) -> tuple[int, int]:
        """A burst on the bus of outputs, and the bits that matter."""
        if self._kept[0] is not burst:  # a burst that waits is looked at many times
            word = self.bench.outputs.pack({
                "bursts.valid": 1, "bursts.payload.address": burst.address,
                "bursts.payload.mask": burst.mask, "bursts.payload.write": burst.write,
                "bursts.payload.destination": burst.destination,
                "bursts.payload.transform": burst.transform,
                "bursts.payload.indexed": burst.indexed, "bursts.payload.last": burst.last})
            care = self._payload & ~self._targets_mask
            for lane, field in enumerate(self._targets):
                if burst.mask >> lane & 1 or burst.destination is Destination.CAM:
                    word |= field.to(burst.targets[lane])
                    care |= field.mask
            self._kept = burst, word, care
        return self._kept[1:]

    def _offer(self, tile: TileRequest) -> int:
        names = ("address", "words", "period", "count", "write", "destination", "base", "pitch",
                 "transform")
        return self.bench.inputs.pack({"tile.valid": 1, **{
            f"tile.payload.{name}": getattr(tile, name) for name in names}})

    async def play(self, tiles: Iterable[TileRequest], *, idle: float = 0.0,
                   stall: float = 0.0) -> int:
        """All ``tiles`` to their last burst; returns how many bursts there were.

        With probability ``idle``, no tile is on offer in a cycle (one that is, stays), and with
        ``stall``, no burst is taken.
        """
        bench, rng, total = self.bench, self.bench.rng, 0
        ready_mask = bench.inputs["bursts.ready"].mask
        for tile in tiles:
            word, ended, offered, taken = self._offer(tile), False, False, False
            while not ended:
                offered = not taken and (offered or rng.random() >= idle)
                ready = rng.random() >= stall
                seen = await bench.step((word if offered else 0) | (ready_mask if ready else 0))
                out = self.model.step(tile if offered else None, ready)
                expected, care = 0, self._control
                if out.burst is not None:
                    expected, more = self._shown(out.burst)
                    care |= more
                    total += ready
                    ended = ready and out.burst.last
                expected |= (self._ready if out.ready else 0) | (self._busy if out.busy else 0)
                bench.check(seen, expected, care)
                taken |= offered and out.ready
        return total

    def tile(self, start: int, words: int, period: int, count: int) -> TileRequest:
        """A tile of this shape: address, destination and targets at random."""
        rng = self.bench.rng
        span = start + (count - 1) * period + words
        burst = rng.choice((0, rng.randrange(64), (1 << 26) - -(-span // BURST_WORDS)))
        destination = Destination(rng.randrange(3))
        pitches = (period, words, rng.getrandbits(TARGET_BITS))
        return TileRequest(
            address=burst * BURST_WORDS + start, words=words, period=period, count=count,
            write=rng.random() < 0.5, destination=destination, base=rng.getrandbits(TARGET_BITS),
            pitch=period if destination is Destination.CAM else rng.choice(pitches),
            transform=rng.randrange(3))

    def any_tile(self) -> TileRequest:
        """A tile of any shape with no more than some hundred bursts, gaps of any width."""
        rng = self.bench.rng
        words = min(1 << rng.randrange(10), rng.randrange(1, 700))
        words += rng.randrange(-min(words - 1, 3), 4)
        gap = rng.choice((0, rng.randrange(16), rng.randrange(15, 34), rng.randrange(300),
                          rng.getrandbits(rng.randrange(1, 20))))
        most = 1 + 3000 // (words + min(gap, 16))
        return self.tile(rng.randrange(BURST_WORDS), words, words + gap,
                         min(most, 1 << rng.randrange(8)) + rng.randrange(2))

    def longest(self, tile: TileRequest) -> TileRequest:
        """A tile of the same shape that begins where it touches most bursts."""
        shape = {"words": tile.words, "gap": tile.period - tile.words, "count": tile.count}
        start = max(range(BURST_WORDS), key=lambda start: tile_bursts(start=start, **shape))
        return self.tile(start, tile.words, tile.period, tile.count)


@testbench
async def every_small_tile(bench: Bench) -> None:
    """Every start, width, gap and count of the domain, with a consumer that never waits."""
    tester = StrideSequencerTester(bench)
    ranges = [range(low, high + 1) for low, high in
              (bench.domain[name] for name in ("start", "words", "gap", "count"))]
    starts, widths, gaps, counts = ranges
    tiles = (tester.tile(start, words, words + gap, count)
             for words in widths for gap in gaps for count in counts for start in starts)
    assert await tester.play(tiles) > 3 * len(widths) * len(gaps)


@testbench
async def every_narrow_pattern(bench: Bench) -> None:
    """Periods below 16: every start, width and period, through all phases of the pattern."""
    tester = StrideSequencerTester(bench)
    tiles = (tester.tile(start, words, period, 17 * BURST_WORDS // period + 1)
             for period in range(1, 16) for words in range(1, period + 1) for start in range(16))
    assert await tester.play(tiles) >= 1920 * 17


@testbench
async def tiles_of_all_sizes(bench: Bench) -> None:
    """At random, from any word and from where most bursts are touched; the widest lines and gaps,
    the most lines.
    """
    tester = StrideSequencerTester(bench)
    tiles = [tester.any_tile() for _ in range(200)]
    await tester.play(tiles)
    await tester.play(map(tester.longest, tiles))
    most = (1 << COUNT_BITS) - 1
    extremes = [(15, 1, most, 40), (3, 17, most, 40), (8, 16, most, 40), (15, most, most, 1),
                (9, 1, 1, most), (15, 15, 15, 4000), (15, 1, 15, 9000)]
    await tester.play(tester.tile(*shape) for shape in extremes)


@testbench
async def stalls_of_both_streams(bench: Bench) -> None:
    """Tiles that come late, and bursts that are taken late."""
    tester, total = StrideSequencerTester(bench), 0
    for what in ("tile", "tile_anywhere"):
        bench.undeclare(what)
    for idle in (0.0, 0.5, 0.95):
        for stall in (0.1, 0.5, 0.9):
            total += await tester.play((tester.any_tile() for _ in range(8)), idle=idle,
                                       stall=stall)
    assert total > 1000


reset_in_mid_run = interrupted(stalls_of_both_streams, last=300, brief=True,
                               then=every_narrow_pattern)
