"""Testbench of the output-stationary array in floating point: every output, in every cycle."""

import itertools
from collections.abc import Iterator

from cyclebound.golden.systolic.float_layout import STAGES
from cyclebound.golden.systolic.float_output_stationary import FloatOutputStationaryModel
from cyclebound.golden.systolic.output_stationary import folds
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.float_weight_stationary import operands, packed


class Scene:
    """The array and its model."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.rows, self.columns = p["rows"], p["columns"]
        self.model = FloatOutputStationaryModel(self.rows, self.columns)

    async def product(self, m: int, k: int, n: int, *, offers: Iterator[bool],
                      sinks: Iterator[bool], observe: bool = False) -> None:
        """All folds of a product, some at a time; the last ones with folds of zeros."""
        bench = self.bench
        cut = folds(operands(bench, m, k), operands(bench, k, n), self.rows, self.columns)
        steps = [list(fold.steps()) for fold in cut]
        zeros = [([0] * self.rows, number == k - 1, [0] * self.columns) for number in range(k)]
        steps += [zeros] * (-len(steps) % STAGES)
        ordered = [each[number] for start in range(0, len(steps), STAGES) for number in range(k)
                   for each in steps[start:start + STAGES]]
        lefts = iter([(column, last) for column, last, _ in ordered])
        tops = iter([row for _, _, row in ordered])
        offered: list = [None, None]
        o, first, now, macs, taken = bench.outputs, None, 0, [], 0
        while taken < self.rows * len(steps):
            now, sink = bench.cycle, next(sinks)
            for side, stream in enumerate((lefts, tops)):
                if offered[side] is None and next(offers):
                    offered[side] = next(stream, None)
            values = {"results.ready": sink}
            if offered[0] is not None:
                values |= {"left.valid": 1, "left.payload.last": offered[0][1],
                           "left.payload.values": packed(offered[0][0], 16)}
            if offered[1] is not None:
                values |= {"top.valid": 1, "top.payload": packed(offered[1], 16)}
            seen = await bench.step(bench.inputs.pack(values))
            lefts_ready, tops_ready, result, active = self.model.step(*offered, sink)
            want = {"left.ready": lefts_ready, "top.ready": tops_ready, "active": active,
                    "results.valid": result is not None}
            if result is not None:
                want["results.payload"] = packed(result, 32)
                taken += sink
            bench.check(seen, bench.outputs.pack(want), sum(o[name].mask for name in want))
            macs += [now] if active else []
            if lefts_ready and tops_ready and None not in offered:
                first, offered = now if first is None else first, [None, None]
        if observe:
            bench.observe("macs", macs[0], macs[-1], m=m, k=k, n=n)
            bench.observe("product", first, now, m=m, k=k, n=n)


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; where there is none, random ones."""
    scene, always = Scene(bench), itertools.repeat(True)
    if bench.domain:
        shapes = list(itertools.product(*(range(low, high + 1) for low, high in
                                          (bench.domain[d] for d in "mkn"))))
    else:
        shapes = [tuple(bench.rng.randint(1, most) for most in (16, 9, 16)) for _ in range(5)]
    for m, k, n in shapes:
        await scene.product(m, k, n, offers=always, sinks=always, observe=True)


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that miss their turns, sums that wait."""
    scene, rng = Scene(bench), bench.rng
    for offer, sink in itertools.product((0.5, 1.0), (0.2, 1.0)):
        await scene.product(rng.randint(5, 9), rng.randint(2, 5), rng.randint(5, 9),
                            offers=(rng.random() < offer for _ in itertools.count()),
                            sinks=(rng.random() < sink for _ in itertools.count()))
