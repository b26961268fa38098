"""Testbench of the row-stationary array: every output compared in every cycle."""

import itertools
from collections.abc import Iterable

from cyclebound.golden.systolic.output_stationary import wrap
from cyclebound.golden.systolic.row_stationary import RowStationaryModel, convolve
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.stream_scoreboard import sometimes
from cyclebound.tb.systolic.two_streams import TwoStreams, random_matrix


class RowStationaryTester:
    """The array and its model."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.rows, self.columns, self.taps = p["rows"], p["columns"], p["taps"]
        self.widths = p.get("operand_width", 8), p.get("accumulator_width", 32)
        model = RowStationaryModel(self.rows, self.columns, self.taps, self.widths[1])
        self._streams = TwoStreams(bench, model, ("weights", "left"), *self.widths)

    async def passes(self, width: int, count: int = 1, **chances: Iterable[bool]) -> None:
        """Some passes with random operands, one after the other."""
        operand, accumulator = self.widths
        height = self.rows + self.columns - 1
        filters = [random_matrix(self.bench, operand, self.rows, self.taps) for _ in range(count)]
        images = [random_matrix(self.bench, operand, height, width) for _ in range(count)]
        expected = [row for pair in zip(images, filters, strict=True) for row in
                    wrap(convolve(*pair), accumulator).T.tolist()]
        weights = [column for one_filter in filters for column in one_filter.T.tolist()]
        columns = [(column, number == width - 1) for image in images
                   for number, column in enumerate(image.T.tolist())]
        played = await self._streams.play([weights, columns], len(expected), **chances)
        assert played.results == expected, "the convolution is not numpy's"

    async def measured(self, width: int, passes: int) -> None:
        """A product without stalls, by its probes: it begins and ends with an idle array."""
        windows = passes * (width - self.taps + 1)
        for what in ("pass", "macs"):
            self.bench.declare(what, width=width, passes=passes, weights=passes * self.taps,
                               windows=windows, steps=windows * self.taps)
        await self.passes(width, passes)
        for what in ("pass", "macs"):
            self.bench.undeclare(what)


@testbench
async def every_width(bench: Bench) -> None:
    """Every width and number of passes of the domain, or some."""
    tester = RowStationaryTester(bench)
    ranges = [range(low, high + 1) for low, high in
              (bench.domain.get(name, (1, most)) for name, most in (("width", 20), ("passes", 2)))]
    for width, passes in itertools.product(*ranges):
        if width >= tester.taps:
            await tester.measured(width, passes)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same convolutions, later."""
    tester, rng = RowStationaryTester(bench), bench.rng
    for offer, sink in itertools.product((0.3, 0.8, 1.0), (0.1, 0.5, 1.0)):
        await tester.passes(tester.taps + rng.randint(0, 6), 3, offers=sometimes(bench, offer),
                            sinks=sometimes(bench, sink))


reset_in_mid_run = interrupted(stalls_and_backpressure, last=300, then=every_width)
