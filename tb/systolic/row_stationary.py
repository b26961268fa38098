"""Testbench of the row-stationary array: every output compared in every cycle."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.output_stationary import wrap
from cyclebound.golden.systolic.row_stationary import RowStationaryModel, convolve
from cyclebound.tb.bench import Bench, testbench


class Scene:
    """The array and its model."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.rows, self.columns, self.taps = p["rows"], p["columns"], p["taps"]
        self.widths = p.get("operand_width", 8), p.get("accumulator_width", 32)
        self.model = RowStationaryModel(self.rows, self.columns, self.taps, self.widths[1])

    def operands(self, rows: int, columns: int) -> NDArray[np.int64]:
        """A random matrix; one in four has only extreme elements, whose sums are greatest."""
        half, rng = 1 << self.widths[0] - 1, self.bench.rng
        values = [-half, half - 1] if rng.random() < 0.25 else range(-half, half)
        return np.array(rng.choices(values, k=rows * columns)).reshape(rows, columns)

    def _packed(self, values: Sequence[int], width: int) -> int:
        mask = (1 << width) - 1
        return sum((int(value) & mask) << width * n for n, value in enumerate(values))

    async def passes(self, width: int, count: int = 1, *, offers: Iterator[bool],
                     sinks: Iterator[bool], observe: bool = False) -> None:
        """Some passes with random operands, one behind the other."""
        bench, (operand, accumulator) = self.bench, self.widths
        height = self.rows + self.columns - 1
        filters = [self.operands(self.rows, self.taps) for _ in range(count)]
        images = [self.operands(height, width) for _ in range(count)]
        expected = [row for pair in zip(images, filters, strict=True) for row in
                    wrap(convolve(*pair), accumulator).T.tolist()]
        weights = [column for each in filters for column in each.T.tolist()]
        columns = [(column, number == width - 1) for image in images
                   for number, column in enumerate(image.T.tolist())]
        offered: list = [None, None]
        streams, first, now = (iter(weights), iter(columns)), None, 0
        results: list[list[int]] = []
        active: list[int] = []
        o = bench.outputs
        while len(results) < len(expected):
            now, sink = bench.cycle, next(sinks)
            for side in range(2):
                if offered[side] is None and next(offers):
                    offered[side] = next(streams[side], None)
            values = {"results.ready": sink}
            if offered[0] is not None:
                values |= {"weights.valid": 1,
                           "weights.payload": self._packed(offered[0], operand)}
            if offered[1] is not None:
                values |= {"left.valid": 1, "left.payload.last": offered[1][1],
                           "left.payload.values": self._packed(offered[1][0], operand)}
            seen = await bench.step(bench.inputs.pack(values))
            takes, accepts, result, rows = self.model.step(*offered, sink)
            want = {"weights.ready": takes, "left.ready": accepts,
                    "results.valid": result is not None,
                    "active": sum((1 << self.columns) - 1 << i * self.columns
                                  for i in range(self.rows) if rows >> i & 1)}
            if result is not None:
                want["results.payload"] = self._packed(result, accumulator)
                results += [result] if sink else []
            bench.check(seen, bench.outputs.pack(want), sum(o[name].mask for name in want))
            active += [now] if rows else []
            if takes and offered[0] is not None:
                first, offered[0] = now if first is None else first, None
            if accepts and offered[1] is not None:
                offered[1] = None
        assert results == expected, "the convolution is not numpy's"
        if observe:
            bench.observe("pass", first, now, width=width, passes=count)
            bench.observe("macs", active[0], active[-1], width=width, passes=count)


@testbench
async def every_width(bench: Bench) -> None:
    """Every width and number of passes of the domain, or some."""
    scene, always = Scene(bench), itertools.repeat(True)
    ranges = [range(low, high + 1) for low, high in
              (bench.domain.get(name, (1, most)) for name, most in (("width", 20), ("passes", 2)))]
    for width, passes in itertools.product(*ranges):
        if width >= scene.taps:
            await scene.passes(width, passes, offers=always, sinks=always, observe=True)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that come late, results that wait: the same convolutions, later."""
    scene, rng = Scene(bench), bench.rng
    for offer, sink in itertools.product((0.3, 0.8, 1.0), (0.1, 0.5, 1.0)):
        await scene.passes(scene.taps + rng.randint(0, 6), 3,
                           offers=(rng.random() < offer for _ in itertools.count()),
                           sinks=(rng.random() < sink for _ in itertools.count()))
