"""Testbench of the post-processing unit: every row against numpy, in its cycle."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from cyclebound.golden.systolic.post_processing import PostProcessingModel, Scale, requantise
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.stream_scoreboard import StreamScoreboard, sometimes
from cyclebound.tb.systolic.two_streams import packed

Row = tuple[Sequence[int], Sequence[int]]  # values and bias of each column; shortcuts are random


class PostProcessingScoreboard(StreamScoreboard):
    """The unit, and its model."""

    withdraws = True

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench, "sums", "results", PostProcessingModel())
        p = bench.parameters
        self.columns = p["columns"]
        self.widths = (p.get("accumulator_width", 32), p.get("multiplier_width", 16),
                       p.get("result_width", 8))

    def payload(self, shown: list[int]) -> int:
        return packed(shown, self.widths[2])

    def rows(self, count: int) -> list[Row]:
        """Random rows; one in four has only extreme elements."""
        half, rng = 1 << self.widths[0] - 1, self.bench.rng

        def some() -> list[int]:
            ends = rng.random() < 0.25
            return rng.choices([-half, -1, 0, half - 1] if ends else range(-half, half),
                               k=self.columns)
        return [(some(), some()) for _ in range(count)]

    def scale(self) -> Scale:
        """Random settings of the unit, within its widths."""
        rng, result = self.bench.rng, self.widths[2]
        half = 1 << result - 1
        low, high = sorted(rng.choices(range(-half, half), k=2))
        low, high = rng.choice([(-half, half - 1), (0, half - 1), (low, high)])
        return Scale(rng.getrandbits(self.widths[1]), rng.randrange(64), low, high)

    async def rescale(self, rows: Sequence[Row], scale: Scale, *, offers: Iterable[bool] = (),
                      sinks: Iterable[bool] = (), observe: bool = False) -> None:
        """Rows one after the other, until the last has left."""
        bench, (accumulator, _, result) = self.bench, self.widths
        values, bias = (np.array(side) for side in zip(*rows, strict=True))
        half = 1 << result - 1
        shortcuts = [bench.rng.choices(range(-half, half), k=self.columns) for _ in rows]
        expected = requantise(values, bias, scale, np.array(shortcuts)).tolist()
        if observe:
            bench.declare("rows", rows=len(rows), multiplier=scale.multiplier, shift=scale.shift)
        await self.play([(row, {
            "values": packed(value, accumulator), "bias": packed(extra, accumulator),
            "shortcut": packed(shortcut, result)}) for row, (value, extra), shortcut
            in zip(expected, rows, shortcuts, strict=True)],
            offers=offers, sinks=sinks, settings=vars(scale))
        if observe:
            bench.undeclare("rows")


@testbench
async def every_sum(bench: Bench) -> None:
    """Every sum with every bias under every scale of the domain; without one, random rows.

    Shortcuts are random.
    """
    scoreboard = PostProcessingScoreboard(bench)
    if not bench.domain:
        for count in range(1, 40):
            await scoreboard.rescale(scoreboard.rows(count), scoreboard.scale(), observe=True)
        return
    half, n = 1 << scoreboard.widths[0] - 1, scoreboard.columns
    pairs = list(itertools.product(range(-half, half), repeat=2))
    pairs += pairs[:-len(pairs) % n]  # a whole row at the end, too
    rows: list[Row] = []
    for at in range(0, len(pairs), n):
        values, bias = zip(*pairs[at:at + n], strict=True)
        rows.append((values, bias))
    (low, high), (least, most) = (bench.domain[name] for name in ("multiplier", "shift"))
    for multiplier, shift in itertools.product(range(low, high + 1), range(least, most + 1)):
        limits = scoreboard.scale()
        await scoreboard.rescale(rows, Scale(multiplier, shift, limits.low, limits.high),
                                 observe=True)


@testbench
async def rows_that_wait(bench: Bench) -> None:
    """Rows that come late, and a sink that is not always ready: the same results, later."""
    scoreboard = PostProcessingScoreboard(bench)
    for offers, sinks in itertools.product((0.3, 0.8), repeat=2):
        for _ in range(4):
            await scoreboard.rescale(scoreboard.rows(60), scoreboard.scale(),
                                     offers=sometimes(bench, offers), sinks=sometimes(bench, sinks))


reset_in_mid_run = interrupted(rows_that_wait, last=300, brief=True, then=every_sum)
